"""Define the interface of the modules in agent/resources, and functions that these modules share."""

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
    """One resource class of the root provider, or a family of classes. Each resource inherits from this protocol.

    ``classes`` are the classes whose inventory this resource always computes. In some families the operator chooses
    further class names: ``owns`` also returns True for these.
    """

    name: str
    classes: frozenset[str]

    def owns(self, resource_class: str) -> bool:
        """Return whether this resource, and no other, computes the class's inventory on the root provider."""
        return resource_class in self.classes

    def needs(self, settings: Settings) -> frozenset[str]:
        """Return the sources of the total.

        If a source was not read, the agent does not change Placement's inventory.
        """
        ...

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return why the total is unknown although every source answered; None if the total is known."""
        ...

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:
        """Return the inventories that the host offers; empty if the host offers nothing of the class.

        ``reserved`` includes what the operator reserves, but not yet what guests unknown to the cloud use.
        """
        ...

    def own_reserve(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[str, int], ...]:  # noqa: ARG002
        """Return (name, amount) for each amount that the operator reserves for the host.

        The name is an option's name or ``image-cache``. The default is (). The sum of the amounts may exceed
        the inventory's total.
        """
        return ()

    def reserve_needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the sources that ``reserved`` depends on, besides the cloud's state and libvirt; none by default.

        While one of these sources cannot be read, the agent does not lower ``reserved``.
        """
        return frozenset()

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:
        """Return how much the guests use on this host, with one Claim for each consumer and class."""
        ...

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:
        """Return a Claim for each instance or migration that takes resources of the class according to nova."""
        ...


def ratio(policy: RatioPolicy, snapshot: Snapshot, resource_class: str) -> float:
    """Return the configured ratio, else the ratio that Placement records for the root, else the initial ratio."""
    if policy.configured:
        return storable(policy.configured)
    observed = snapshot.recorded_inventory(resource_class)
    return observed.allocation_ratio if observed else storable(policy.initial)


def storable(allocation_ratio: float) -> float:
    """Return the ratio as a Placement on MariaDB returns it: six significant digits (a FLOAT column, measured).

    Without this rounding, 1.3333333333 would differ from Placement's ratio in every audit, so every audit would write.
    """
    return float(f"{allocation_ratio:.6g}")


def whole(
    resource_class: str, total: int, own_reserve: Iterable[tuple[str, int]], allocation_ratio: float
) -> tuple[Inventory, ...]:
    """Return the class's inventory, with ``max_unit`` = total; () for total 0, which Placement rejects (400)."""
    if total <= 0:
        return ()
    return (
        Inventory(
            resource_class=resource_class,
            total=total,
            reserved=min(sum(amount for _, amount in own_reserve), total),
            max_unit=total,
            allocation_ratio=allocation_ratio,
        ),
    )


def on_root(inventories: tuple[Inventory, ...]) -> tuple[tuple[ProviderKey, Inventory], ...]:
    """Return each inventory with the key of the root provider."""
    return tuple((ROOT, inventory) for inventory in inventories)


def promised_of(
    resource_class: str, occupancies: Iterable[Occupancy], also: frozenset[str] = frozenset()
) -> tuple[Claim, ...]:
    """Return the amount of ``resource_class`` that each instance or migration in ``occupancies`` requests.

    Instances and migrations that do not request the class are left out. A request for a class in ``also`` counts as a
    request for ``resource_class``.
    """
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
    """Return one claim per guest with an amount above 0, including guests that the cloud does not know."""
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
