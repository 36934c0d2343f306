"""What a resource module offers, and the rules that all of them share: ratios, promised and held amounts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.host.facts import Domain
from agent.model.occupancy import Occupancy
from agent.model.placement import ROOT, Inventory, ProviderKey
from agent.model.settings import RatioPolicy, Settings
from agent.model.snapshot import Snapshot
from agent.resources.demand import demand


class Resource(Protocol):
    """One resource class of the root (or a family of them), completely.

    ``classes`` are those that it always decides; ``owns`` says it of any class, for
    families whose classes the operator names.
    """

    name: str
    classes: frozenset[str]

    def owns(self, resource_class: str) -> bool:
        """Whether this resource, and no other, decides that class on the root."""
        ...

    def needs(self, settings: Settings) -> frozenset[str]:
        """Sources that the total rests on: one that is not fresh freezes the classes."""
        ...

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Why the total cannot be told although every source answered, or None."""
        ...

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:
        """What the host offers, the operator's own reserve included, unmanaged use not. Nothing to offer: left out."""
        ...

    def own_reserve(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[str, int], ...]:
        """What the operator keeps for the host: (option, amount) of each term, as configured, above the total too."""
        ...

    def reserve_needs(self, settings: Settings) -> frozenset[str]:
        """Sources that ``reserved`` rests on beside the cloud's state and libvirt: unread, it is not lowered."""
        ...

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:
        """What the host's guests hold."""
        ...

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:
        """What the cloud promised."""
        ...


def ratio(policy: RatioPolicy, snapshot: Snapshot, resource_class: str) -> float:
    """Configured wins; else what Placement's root holds; else the initial one (hypervisor-audit 4.2)."""
    if policy.configured:
        return storable(policy.configured)
    observed = snapshot.recorded_inventory(resource_class)
    return observed.allocation_ratio if observed else storable(policy.initial)


def storable(allocation_ratio: float) -> float:
    """The ratio as a Placement on MariaDB gives it back: six significant digits (a FLOAT column, measured).

    Unrounded, 1.3333333333 would differ from what is there in every audit, and be written each time.
    """
    return float(f"{allocation_ratio:.6g}")


def whole(
    resource_class: str, total: int, own_reserve: Iterable[tuple[str, int]], allocation_ratio: float
) -> tuple[Inventory, ...]:
    """The inventory whose largest unit is all of it. Placement refuses total 0 (400), so that is left out."""
    if total <= 0:
        return ()
    return (
        Inventory(
            resource_class=resource_class,
            total=total,
            reserved=min(sum(amount for _, amount in own_reserve), total),
            min_unit=1,
            max_unit=total,
            step_size=1,
            allocation_ratio=allocation_ratio,
        ),
    )


def on_root(inventories: tuple[Inventory, ...]) -> tuple[tuple[ProviderKey, Inventory], ...]:
    """Those inventories, on the root provider."""
    return tuple((ROOT, inventory) for inventory in inventories)


def promised_of(
    resource_class: str, occupancies: Iterable[Occupancy], also: frozenset[str] = frozenset()
) -> tuple[Claim, ...]:
    """One claim per occupancy that asks for the class, or for one of ``also`` that this host serves as the class."""
    claims = []
    for taken in occupancies:
        asked = demand(taken.flavor, boots_from_volume=taken.instance.boots_from_volume)
        amount = sum(asked.get(name, 0) for name in (resource_class, *also))
        if amount:
            claims.append(_promise(taken, resource_class, amount))
    return tuple(claims)


def _promise(taken: Occupancy, resource_class: str, amount: int) -> Claim:
    return Claim(
        consumer=Consumer(
            key=taken.consumer_uuid, kind=taken.consumer_kind, name=taken.instance.name, uuid=taken.consumer_uuid
        ),
        cause=taken.cause,
        resource_class=resource_class,
        amount=amount,
        provider_key=ROOT,
        source=Origin("nova", "instances", taken.instance.uuid),
        instance_uuid=taken.instance.uuid,
    )


def held_of_guests(resource_class: str, amounts: Iterable[tuple[Domain, int]]) -> tuple[Claim, ...]:
    """One claim per guest with an amount; whether the guest is a foreign one is decided in books/ledger.py."""
    return tuple(
        Claim(
            consumer=Consumer(key=domain.uuid, kind="domain", name=domain.name, uuid=domain.uuid),
            cause=Cause.INSTANCE,
            resource_class=resource_class,
            amount=amount,
            provider_key=ROOT,
            source=Origin("libvirt", "domain", domain.uuid),
        )
        for domain, amount in amounts
        if amount
    )
