"""Decide the allocations by which an agent in role companion tells the scheduler about use that nova does not know.

In role companion, nova-compute runs on the same host and replaces the root's whole inventory. So the agent cannot set
``reserved``. It allocates the use to its own consumers instead, one for each cause of such use (for example
foreign-guest).

Free capacity is (total − reserved) × ratio − allocations. Up to rounding, both roles leave the same free capacity:

- Used VCPU or memory takes its own amount of free capacity. Role companion allocates this amount. Role owner
  (``reserve.py``) reserves amount / ratio.
- Used bytes of storage are real space, and take bytes × ratio of free capacity. Role companion allocates bytes × ratio.
  Role owner reserves the bytes.

Placement rejects (409) an allocation that is not a multiple of step_size, is below min_unit or above max_unit, or
exceeds the free capacity. The agent sends only amounts that Placement accepts, and reports the rest (``Unplaced``).
Pure: no I/O.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from agent.model.books import Books, DesiredTree
from agent.model.claim import Cause, Claim
from agent.model.own_consumers import OWN_CAUSES, OWN_PROJECT_ID, OWN_TYPE, OWN_USER_ID, own_consumer_uuid
from agent.model.placement import Allocation, Inventory, PlacementView
from agent.model.plan import EVERYTHING, HeldBack, PutAllocations
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.model.units import GIB
from agent.provider_tree.desired import is_reserve_known
from agent.provider_tree.reserve import is_reserved
from agent.resources import BUILTIN as RESOURCES

NO_ROOT = "nova-compute has not created this host's provider"
NO_TYPES = "this Placement has no consumer types: upgrade Placement first (microversion 1.38)"

_Held = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """Guests and volumes unknown to nova use more of one resource class than the agent can allocate.

    The agent should allocate ``wanted`` units, but can allocate only ``placed`` units. The scheduler counts the rest as
    free. ``why``: the reason.
    """

    resource_class: str
    wanted: int
    placed: int
    why: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """The decision about the agent's own consumers, which hold allocations for use that nova does not know.

    ``writes``: in the order of execution. ``held_back``: the classes whose allocations must not change now.
    ``unplaced``: the amounts that cannot be allocated.
    """

    writes: tuple[PutAllocations, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """The decision for one resource class. ``amounts``: the units to allocate by cause (such as foreign guests).

    ``held_back`` and ``unplaced``: as in ``Placing``.
    """

    amounts: Mapping[Cause, int]
    held_back: tuple[HeldBack, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()


def companion(snapshot: Snapshot, settings: Settings, written: Books) -> Placing:
    """Return the writes by which the agent's own consumers allocate the use that nova does not know.

    ``settings`` may exclude guests or volumes. A consumer gets no write if its allocations are already right.
    If a source could not be read, the use of a class is unknown, and the consumers keep their allocations of the class.
    """
    view = snapshot.placement.value
    if view is None:
        return Placing()
    claims = [claim for claim in written.unmanaged.claims if is_reserved(claim, settings)]
    if view.root is None or not view.typed_consumers:
        return _nowhere(view, claims, NO_ROOT if view.root is None else NO_TYPES)
    recorded = {cause: _recorded(view, cause) for cause in OWN_CAUSES}
    held = {name for amounts in recorded.values() for _, name in amounts}
    names = sorted({claim.resource_class for claim in claims} | held)
    fitted = {name: _fit(snapshot, settings, name, _of_class(claims, name)) for name in names}
    wanted = {
        cause: {(view.root_uuid, name): fit.amounts[cause] for name, fit in fitted.items() if fit.amounts.get(cause)}
        for cause in OWN_CAUSES
    }
    changed = [cause for cause in OWN_CAUSES if wanted[cause] != recorded[cause]]
    takers = [c for c in changed if any(n > recorded[c].get(key, 0) for key, n in wanted[c].items())]
    givers = [cause for cause in changed if cause not in takers]
    # The consumers that get more are written first if the capacity suffices: then Placement never counts too little
    # between two writes. Otherwise the consumers that get less are written first, because the others need the capacity
    # that these consumers free.
    ordered = takers + givers if _has_room_for_both(view, recorded, wanted) else givers + takers
    return Placing(
        writes=tuple(_put(view, cause, wanted[cause]) for cause in ordered),
        held_back=tuple(held for name in names for held in fitted[name].held_back),
        unplaced=tuple(rest for name in names for rest in fitted[name].unplaced),
    )


def released(snapshot: Snapshot, settings: Settings, wanted: DesiredTree) -> tuple[PutAllocations, ...]:
    """Return the writes by which an agent in role owner removes the allocations of its own consumers.

    In role owner, ``reserved`` counts the use that these allocations counted in role companion. The new ``reserved``
    must be written first. If the agent cannot decide the ``reserved`` of a class now, a consumer with allocations of
    this class keeps all its allocations. Placement then counts the use twice, which is better than not at all.
    """
    view = snapshot.placement.value
    if view is None or view.root is None:
        return ()
    frozen = {f.name for f in wanted.root.frozen}
    recorded = {cause: _recorded(view, cause) for cause in OWN_CAUSES}
    return tuple(
        _put(view, cause, {})
        for cause, amounts in recorded.items()
        if amounts and all(_is_use_known(name, snapshot, settings) and name not in frozen for _, name in amounts)
    )


def _nowhere(view: PlacementView, claims: list[Claim], why: str) -> Placing:
    """Return a Placing that allocates nothing and leaves all claims unplaced; ``why`` is the reason."""
    by_class = {name: _of_class(claims, name) for name in sorted({claim.resource_class for claim in claims})}
    return Placing(
        held_back=(HeldBack(provider_uuid=view.root_uuid, what=EVERYTHING, why=why),),
        unplaced=tuple(
            rest for name, found in by_class.items() for rest in _rest(name, found, _units(found, Fraction(1)), {}, why)
        ),
    )


def _of_class(claims: Iterable[Claim], name: str) -> list[Claim]:
    return [claim for claim in claims if claim.resource_class == name]


def _recorded(view: PlacementView, cause: Cause) -> dict[tuple[str, str], int]:
    """Return the allocations in Placement that the agent made for ``cause``, such as guests that nova does not know."""
    consumer = own_consumer_uuid(view.root_uuid, cause)
    return {(a.provider_uuid, a.resource_class): a.amount for a in view.allocations if a.consumer_uuid == consumer}


def _is_use_known(name: str, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether the use of this class outside nova is known: the agent has read all sources that show such use.

    If no module of agent/resources is responsible for the class, all sources of the snapshot must have been read.
    """
    resource = next((r for r in RESOURCES if r.owns(name)), None)
    if resource is None:
        return all(reading.ok for reading in snapshot.readings)
    return is_reserve_known(resource, snapshot, settings)


def _fit(snapshot: Snapshot, settings: Settings, name: str, claims: list[Claim]) -> _Fitted:
    view = snapshot.placement.value
    if view is None or view.root is None:
        raise AssertionError("the tree has no root provider to allocate from")
    if not _is_use_known(name, snapshot, settings):
        recorded = {cause: _recorded(view, cause).get((view.root_uuid, name), 0) for cause in OWN_CAUSES}
        why = "a source is unread, so the agent does not change the allocations for guests and volumes unknown to nova"
        return _Fitted(amounts=recorded, held_back=(HeldBack(provider_uuid=view.root_uuid, what=name, why=why),))
    inventory, others = view.root.inventory(name), _used_by_others(view, name)
    if inventory is None:
        why = f"this host's provider has no inventory of {name}"
        return _Fitted(amounts={}, unplaced=_rest(name, claims, _units(claims, Fraction(1)), {}, why))
    amounts = cut(shares(claims, inventory), inventory, others)
    why = (
        f"Placement accepts no larger allocation: capacity {math.floor(inventory.capacity)}, {others} used by other "
        f"consumers, min_unit {inventory.min_unit}, max_unit {inventory.max_unit}, step_size {inventory.step_size}"
    )
    return _Fitted(amounts=amounts, unplaced=_rest(name, claims, demand(claims, inventory), amounts, why))


def demand(claims: Iterable[Claim], inventory: Inventory) -> int:
    """Return how many units to allocate for ``claims``.

    The claims are added first, then the sum is rounded. At a ratio of 0, which Placement accepts, the class has no
    capacity and the result is 0.
    """
    if inventory.allocation_ratio <= 0:
        return 0
    # str() yields the ratio as it is written. In binary floating point, 1.1 is a little more than 1.1, so rounding up
    # could add a unit too many.
    return _units(claims, Fraction(str(inventory.allocation_ratio)))


def _units(claims: Iterable[Claim], ratio: Fraction) -> int:
    found = list(claims)
    if any(claim.size_bytes is not None for claim in found):
        return math.ceil(sum(claim.size_bytes or 0 for claim in found) * ratio / GIB)
    return sum(claim.amount for claim in found)


def shares(claims: Iterable[Claim], inventory: Inventory) -> dict[Cause, int]:
    """Return the units to allocate for each cause of use (such as foreign guests), in multiples of step_size.

    Rounding up each cause's amount by itself would make the sum too high. So the causes are added one after the other,
    the running total is rounded up, and each cause gets the amount by which the total grew.
    """
    by_cause: dict[Cause, list[Claim]] = defaultdict(list)
    for claim in claims:
        by_cause[claim.cause].append(claim)
    so_far: list[Claim] = []
    found: dict[Cause, int] = {}
    before = 0
    for cause in sorted(by_cause, key=lambda cause: cause.value):
        so_far.extend(by_cause[cause])
        until_here = _up(demand(so_far, inventory), inventory.step_size)
        found[cause] = until_here - before
        before = until_here
    return found


def cut(wanted: Mapping[Cause, int], inventory: Inventory, used_by_others: int) -> dict[Cause, int]:
    """Return ``wanted``, with each amount changed to one that Placement accepts.

    Each amount is 0, or a multiple of step_size between min_unit and max_unit. The sum fits into the free capacity.
    """
    step = inventory.step_size
    least = _up(inventory.min_unit, step)
    free = math.floor(inventory.capacity) - used_by_others
    placed: dict[Cause, int] = {}
    for cause, amount in wanted.items():
        room = max(min(inventory.max_unit, free), 0) // step * step
        # An amount below min_unit becomes min_unit. To allocate too much is safe, because it only leaves less capacity
        # free. To allocate too little would let nova overload the host.
        asked = min(max(amount, least) if amount else 0, room)
        placed[cause] = asked if asked >= least else 0
        free -= placed[cause]
    return placed


def _up(amount: int, step: int) -> int:
    return -(-amount // step) * step


def _used_by_others(view: PlacementView, name: str) -> int:
    """Return the used amount of the class on the root, without the agent's own consumers.

    Placement does the same: it does not count a consumer's old allocations as used when it checks the new ones.
    """
    own = {own_consumer_uuid(view.root_uuid, cause) for cause in OWN_CAUSES}
    here = (a for a in view.allocations if a.provider_uuid == view.root_uuid and a.resource_class == name)
    return view.used.get((view.root_uuid, name), 0) - sum(a.amount for a in here if a.consumer_uuid in own)


def _rest(name: str, claims: list[Claim], wanted: int, amounts: Mapping[Cause, int], why: str) -> tuple[Unplaced, ...]:
    placed = sum(amounts.values())
    if placed >= wanted:
        return ()
    return (Unplaced(resource_class=name, wanted=wanted, placed=placed, why=why, claims=tuple(claims)),)


def _has_room_for_both(view: PlacementView, recorded: Mapping[Cause, _Held], wanted: Mapping[Cause, _Held]) -> bool:
    needed: dict[str, int] = defaultdict(int)
    for cause in OWN_CAUSES:
        for key in {*recorded[cause], *wanted[cause]}:
            needed[key[1]] += max(recorded[cause].get(key, 0), wanted[cause].get(key, 0))
    known = ((view.root.inventory(name) if view.root else None, name, amount) for name, amount in needed.items())
    return all(i is not None and _used_by_others(view, name) + amount <= i.capacity for i, name, amount in known)


def _put(view: PlacementView, cause: Cause, wanted: _Held) -> PutAllocations:
    consumer = own_consumer_uuid(view.root_uuid, cause)
    generation = next((a.consumer_generation for a in view.allocations if a.consumer_uuid == consumer), None)
    return PutAllocations(
        consumer_uuid=consumer,
        consumer_generation=generation,
        project_id=OWN_PROJECT_ID,
        user_id=OWN_USER_ID,
        allocations=tuple(
            Allocation(
                consumer_uuid=consumer,
                consumer_generation=generation,
                provider_uuid=provider,
                resource_class=name,
                amount=amount,
            )
            for (provider, name), amount in sorted(wanted.items())
        ),
        consumer_type=OWN_TYPE if wanted else None,
    )
