"""Host facts behind the root's children: cards that make mediated devices, and a platform that encrypts memory."""

from __future__ import annotations

import dataclasses
from typing import Any

from agent.model.books import DesiredProvider, DesiredTree
from agent.model.host.capabilities import Capabilities, DomainCapabilities, HostCpu, SevLimits
from agent.model.host.devices import Devices, Mdev, MdevParent, MdevType
from agent.model.host.facts import HostFacts
from agent.model.placement import Allocation, PlacementView, Provider
from agent.model.settings import GuestCpu, MdevTypeChoice, Settings
from agent.model.snapshot import Snapshot
from tests.rigs.facts import NODE, ROOT_UUID, decided, host, root, settings, uuid, view

GPU_06, GPU_07 = "pci_0000_06_00_0", "pci_0000_07_00_0"
AT_06, AT_07 = "0000:06:00.0", "0000:07:00.0"


def card(name: str, **available: int) -> MdevParent:
    """Return a card with that many available instances of each type; ``nvidia_11`` is type nvidia-11."""
    types = tuple(MdevType(type_id=key.replace("_", "-"), available_instances=n) for key, n in available.items())
    return MdevParent(name=name, address=None, types=types)


def mdevs(parent: str, type_id: str, count: int = 1) -> tuple[Mdev, ...]:
    """Return ``count`` mediated devices on that parent."""
    return tuple(Mdev(name=f"mdev_{n}_{parent}_{type_id}", type_id=type_id, parent=parent) for n in range(count))


def with_devices(*cards: MdevParent, made: tuple[Mdev, ...] = (), **changes: Any) -> HostFacts:
    """Return a host with these cards and mediated devices."""
    return host(devices=Devices(mdev_parents=cards, mdevs=made, **changes))


def mdev_type(type_id: str, *addresses: str, **changes: Any) -> MdevTypeChoice:
    """Return an enabled type, bound to these addresses."""
    return MdevTypeChoice(type_id=type_id, addresses=addresses, **changes)


# The host of scenarios 100 to 102: nvidia-11 on one card; another count of nvidia-11, or another type, on the other.
CARDS = with_devices(
    card(GPU_06, nvidia_11=15, nvidia_12=9),
    card(GPU_07, nvidia_11=7, nvidia_12=10),
    made=(*mdevs(GPU_06, "nvidia-11"), *mdevs(GPU_07, "nvidia-11")),
)

SEV = SevLimits(max_guests=16, max_es_guests=17)
QEMU_8 = 8_000_000


def machine(name: str = "q35", **changes: Any) -> DomainCapabilities:
    """Return the domain capabilities of x86_64 guests of that machine type."""
    plain = DomainCapabilities(arch="x86_64", domain_type="kvm", machines=(name,))
    return dataclasses.replace(plain, **changes)


def x86(*machines: DomainCapabilities, **changes: Any) -> Capabilities:
    """Return capabilities of an x86_64 host."""
    return dataclasses.replace(Capabilities(host_cpu=HostCpu(arch="x86_64"), domain=machines), **changes)


def kernel(**parameters: str | None) -> tuple[tuple[str, str | None], ...]:
    """Return parameters of kvm_amd as the kernel prints them."""
    return tuple((f"kvm_amd/{name}", text) for name, text in sorted(parameters.items()))


def encrypting(capabilities: Capabilities | None = None, qemu: int = QEMU_8, **parameters: str | None) -> HostFacts:
    """Return a host whose kernel has these parameters; by default with SEV for 16 guests (17 with ES)."""
    return host(
        capabilities=capabilities or x86(machine(sev=SEV)),
        hypervisor_version=qemu,
        kernel_parameters=kernel(**parameters),
    )


def with_tdx(capacity: int | None = 31, capabilities: Capabilities | None = None, **changes: Any) -> HostFacts:
    """Return a host whose kernel has keys for ``capacity`` guests with TDX; by default libvirt offers TDX."""
    return host(capabilities=capabilities or x86(machine(tdx=True)), tdx_capacity=capacity, **changes)


def passing_through(guests: int | None = None, mode: str | None = "host-passthrough") -> Settings:
    """Return settings where guests get the host's own CPU, as TDX requires; ``guests`` None: the kernel's limit."""
    return settings(guest_cpu=GuestCpu(mode=mode), intel_tdx_guests=guests)


def child(key: str, *inventories: Any, traits: frozenset[str] = frozenset({"CUSTOM_OWNER_STOCKTAKE"})) -> Provider:
    """Return a child of the root as Placement records it, with a uuid that Stocktake did not choose."""
    return Provider(
        uuid=uuid(key),
        name=f"{NODE}_{key}",
        parent_uuid=ROOT_UUID,
        generation=3,
        inventories=inventories,
        traits=traits,
    )


def on(provider_uuid: str, consumer: str, resource_class: str, amount: int) -> Allocation:
    """Return an allocation on that provider."""
    return Allocation(
        consumer_uuid=uuid(consumer),
        consumer_generation=1,
        provider_uuid=provider_uuid,
        resource_class=resource_class,
        amount=amount,
    )


def tree_of(world: Snapshot, chosen: Settings | None = None) -> DesiredTree:
    """Return the desired tree of that world."""
    tree = decided(world, chosen).tree
    if tree is None:
        raise AssertionError("there is no tree")
    return tree


def below(tree: DesiredTree) -> dict[str, DesiredProvider]:
    """Return the tree's children by name, without the node's name as prefix."""
    return {provider.name.removeprefix(f"{NODE}_"): provider for provider in tree.providers[1:]}


def totals(tree: DesiredTree) -> dict[str, dict[str, int]]:
    """Return the totals by child and class."""
    return {name: {i.resource_class: i.total for i in found.inventories} for name, found in below(tree).items()}


def standing(*children: Provider, held: tuple[Allocation, ...] = (), **of_root: Any) -> PlacementView:
    """Return a view of the root with these children and allocations."""
    return view(held, providers=(root(**of_root), *children))
