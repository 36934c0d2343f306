"""What PCI devices offer in Placement, provider by provider, and which entries of device_spec contradict each other.

A provider stands for a whole device or for one physical function. A virtual function has no provider: it is counted
on the provider of its physical function. A device with a ``physical_network`` tag is not in Placement at all. A check
of the configuration alone cannot find contradictions, because they depend on the host's devices. So a contradiction
does not fail the audit: the agent only leaves the provider of these devices unchanged (frozen).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent.model.host.device_match import ANY, Match, matched
from agent.model.host.device_spec import DeviceSpec
from agent.model.host.devices import PciDevice, PciKind
from agent.model.host.facts import HostFacts
from agent.model.memo import for_equal_arguments
from agent.nested.pci_names import class_of, traits_of

PARENTS = frozenset({PciKind.PCI, PciKind.PF})
# The lowest versions of libvirt and QEMU with which nova-compute accepts the tag live_migratable.
_LIBVIRT_FOR_MIGRATION = 10_000_000
_QEMU_FOR_MIGRATION = 8_002_002


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The devices that one provider counts; ``address`` is the provider's PCI address.

    ``classes``: the resource classes of these devices, sorted. ``trait_sets``: the trait sets of these devices. More
    than one class, or more than one trait set, is a contradiction.
    """

    address: str
    matches: tuple[Match, ...]
    classes: tuple[str, ...]
    trait_sets: frozenset[frozenset[str]]

    @property
    def traits(self) -> frozenset[str]:
        """The provider's traits: each trait that at least one of its devices has."""
        return frozenset().union(*self.trait_sets)

    @property
    def specs(self) -> tuple[str, ...]:
        """The texts of the specs that match the provider's devices, in the order of the configuration."""
        return texts(self.matches)

    @property
    def devices(self) -> tuple[str, ...]:
        """The PCI addresses of the provider's devices."""
        return tuple(match.device.address for match in self.matches)

    @property
    def is_of_virtual_functions(self) -> bool:
        """Whether the provider counts virtual functions."""
        return any(m.device.kind not in PARENTS for m in self.matches)

    @property
    def movable(self) -> tuple[Match, ...]:
        """The devices that a spec marks as live_migratable."""
        return tuple(match for match in self.matches if match.spec.tag("live_migratable") == "true")

    @property
    def is_one_time_use(self) -> bool:
        """Whether a device that a guest has used stays unavailable until the operator makes it available again."""
        return any(m.spec.tag("one_time_use") == "true" for m in self.matches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Why the agent cannot publish ``devices`` as [pci] device_spec says. ``specs`` are the entries for these devices.

    ``address``: the PCI address of the devices' provider, None if unknown.
    """

    address: str | None
    reason: str
    specs: tuple[str, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """``offers``: what the PCI devices offer, sorted by address. ``lonely``: VFs whose physical function is unknown."""

    offers: tuple[Offer, ...]
    lonely: tuple[Match, ...]


def offers(devices: Iterable[PciDevice], specs: Sequence[DeviceSpec]) -> Mapping[str, Offer]:
    """Return {PCI address of a provider: the devices in the provider's inventory (an Offer)}.

    Virtual functions without a known physical function are left out.
    """
    return {offer.address: offer for offer in _survey(tuple(devices), tuple(specs)).offers}


# Cached, because several callers in each audit pass the same devices and specs.
@for_equal_arguments
def _survey(devices: tuple[PciDevice, ...], specs: tuple[DeviceSpec, ...]) -> Survey:
    grouped: dict[str, list[Match]] = defaultdict(list)
    lonely: list[Match] = []
    for match in matched(devices, specs):
        if match.spec.tag("physical_network"):
            continue
        place = match.device.address if match.device.kind in PARENTS else match.device.parent_address
        (lonely if place is None else grouped[place]).append(match)
    return Survey(offers=tuple(_offer(address, grouped[address]) for address in sorted(grouped)), lonely=tuple(lonely))


def _offer(address: str, matches: Sequence[Match]) -> Offer:
    # A device may have hundreds of equal virtual functions, so class and traits are computed once for each kind.
    kinds = dict.fromkeys((m.spec, m.device.vendor_id, m.device.product_id) for m in matches)
    return Offer(
        address=address,
        matches=tuple(matches),
        classes=tuple(sorted({class_of(*kind) for kind in kinds})),
        trait_sets=frozenset(traits_of(spec) for spec, _, _ in kinds),
    )


def conflicts(host: HostFacts, specs: Sequence[DeviceSpec]) -> tuple[Conflict, ...]:
    """Return the contradictions between specs and devices, sorted by address."""
    # ``hypervisor_version`` is 0 until libvirt has probed QEMU. ``undecided`` finds the devices that must wait until
    # then.
    qemu_is_old = 0 < host.hypervisor_version < _QEMU_FOR_MIGRATION
    is_too_old_to_move = qemu_is_old or host.libvirt_version < _LIBVIRT_FOR_MIGRATION
    return _conflicts(host.devices.pci if host.devices else (), tuple(specs), is_too_old_to_move)


@for_equal_arguments
def _conflicts(
    devices: tuple[PciDevice, ...],
    specs: tuple[DeviceSpec, ...],
    is_too_old_to_move: bool,  # noqa: FBT001 - a fact, no choice
) -> tuple[Conflict, ...]:
    survey = _survey(devices, specs)
    found = [
        _conflict(offer.address, reason, matches)
        for offer in survey.offers
        for reason, matches in _contradictions(offer, is_too_old_to_move=is_too_old_to_move)
    ]
    if survey.lonely:
        found.append(_conflict(None, "libvirt reports no physical function for a virtual function", survey.lonely))
    found.extend(_remote_parents(devices, specs))
    return tuple(sorted(found, key=lambda conflict: (conflict.address or "", conflict.reason)))


def _contradictions(offer: Offer, *, is_too_old_to_move: bool) -> Iterable[tuple[str, Sequence[Match]]]:
    children = [match for match in offer.matches if match.device.kind not in PARENTS]
    if children and len(children) < len(offer.matches):
        yield "device_spec offers both a physical function and its virtual functions", offer.matches
    elif len(offer.classes) > 1:
        yield f"virtual functions of one device differ in resource class: {', '.join(offer.classes)}", offer.matches
    elif len(offer.trait_sets) > 1:
        yield "virtual functions of one device differ in traits", offer.matches
    if once := [match for match in children if "one_time_use" in dict(match.spec.tags)]:
        yield "one_time_use must not be set on a virtual function, not even to false", once
    if offer.movable and is_too_old_to_move:
        yield "live_migratable needs libvirt 10.0.0 and QEMU 8.2.2 at least", offer.movable


def undecided(host: HostFacts, offered: Mapping[str, Offer]) -> frozenset[str]:
    """Return the addresses of providers with live_migratable devices if QEMU's version is unknown, else nothing.

    The version decides whether QEMU can migrate these devices.
    """
    return frozenset(address for address, offer in offered.items() if offer.movable and not host.hypervisor_version)


def _remote_parents(devices: Iterable[PciDevice], specs: Sequence[DeviceSpec]) -> Iterable[Conflict]:
    """Yield a conflict for each spec that sets remote_managed although it names a physical function."""
    functions = {device.address: device for device in devices if device.kind is PciKind.PF}
    for spec in specs:
        named = functions.get(spec.single_address or "")
        if named is None or spec.tag("remote_managed") != "true":
            continue
        if spec.vendor_id in (ANY, named.vendor_id) and spec.product_id in (ANY, named.product_id):
            reason = "remote_managed is only for virtual functions: give the product_id of virtual functions"
            yield Conflict(address=named.address, reason=reason, specs=(spec.text,), devices=(named.address,))


def _conflict(address: str | None, reason: str, matches: Sequence[Match]) -> Conflict:
    devices = tuple(match.device.address for match in matches)
    return Conflict(address=address, reason=reason, specs=texts(matches), devices=devices)


def texts(matches: Iterable[Match]) -> tuple[str, ...]:
    """Return the texts of the specs, each once, in the order of the configuration."""
    return tuple(dict.fromkeys(m.spec.text for m in sorted(matches, key=lambda match: match.position)))
