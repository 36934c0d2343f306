"""Describe, with numbers, which constraint of an inventory refuses an amount, and the changes that would help.

Each remedy changes one number. A ratio never raises max_unit, so for an amount above max_unit the only remedy is a
smaller amount. The amounts that the module suggests respect min_unit, max_unit, step_size and the free capacity.
Pure: no I/O.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from agent.model.placement import Inventory
from agent.text.amounts import beside_its_class, requested, with_class
from agent.why.candidates import Refusal, not_granted
from agent.why.caveats import single
from agent.why.model import Constraint, Obstacle, Remedy, RemedyKind

_RATIO_OPTIONS = {
    "VCPU": "cpu_allocation_ratio",
    "MEMORY_MB": "ram_allocation_ratio",
    "DISK_GB": "disk_allocation_ratio",
}
_RESERVED_OPTIONS = {
    "VCPU": "reserved_host_cpus",
    "MEMORY_MB": "reserved_host_memory_mb",
    "DISK_GB": "reserved_host_disk_mb",
}
# If max_unit equals the class's total, the output describes max_unit with this text.
_WHOLES = {"VCPU": "the number of CPUs", "PCPU": "the number of CPUs", "MEMORY_MB": "the whole memory"}
# A suggested ratio has four decimals and is rounded up.
_RATIO_STEPS = 10_000


def inventory_obstacle(refusal: Refusal, inventory: Inventory, suffix: str) -> Obstacle:
    """Return the obstacle: why the inventory refuses the amount, and what would help.

    The constraint of the refusal is MIN_UNIT, MAX_UNIT, STEP_SIZE or CAPACITY.
    """
    provider = refusal.offered.provider
    used = refusal.offered.used_of(refusal.resource_class)
    available, words = _numbers(refusal, inventory, used)
    remedies = tuple(_remedies(refusal, inventory, used))
    return Obstacle(
        constraint=refusal.constraint,
        words=f"{requested(refusal.resource_class, refusal.amount)}, {provider.name} {words}",
        change=", or ".join(_change_words(remedy, refusal, inventory) for remedy in remedies)
        or _two_changes(refusal, inventory, used),
        suffix=suffix,
        provider_uuid=provider.uuid,
        provider_name=provider.name,
        resource_class=refusal.resource_class,
        wanted=refusal.amount,
        available=available,
        remedies=remedies,
    )


def left(inventory: Inventory, used: int) -> int:
    """Return the free capacity; negative if the usage exceeds the capacity."""
    return int(inventory.capacity) - used


def most_to_ask(inventory: Inventory, used: int) -> int | None:
    """Return the largest amount that this inventory would grant to one request now, None if it grants no amount."""
    least_above = min(inventory.max_unit, left(inventory, used))
    most = least_above - least_above % inventory.step_size
    return most if most >= max(inventory.min_unit, 1) else None


def _numbers(refusal: Refusal, inventory: Inventory, used: int) -> tuple[int, str]:
    """Return the limit that refuses the amount, and a phrase that describes this limit."""
    text = partial(beside_its_class, refusal.resource_class)
    if refusal.constraint is Constraint.MIN_UNIT:
        return inventory.min_unit, f"allows no fewer than {text(inventory.min_unit)}"
    if refusal.constraint is Constraint.MAX_UNIT:
        return inventory.max_unit, f"allows at most {text(inventory.max_unit)} in one request"
    if refusal.constraint is Constraint.STEP_SIZE:
        return inventory.step_size, f"allows only multiples of {text(inventory.step_size)}"
    room = left(inventory, used)
    sum_of = f"({inventory.total} total - {inventory.reserved} reserved) x {inventory.allocation_ratio:g} - {used} used"
    return room, f"has {text(room)}: {sum_of}"


def _remedies(refusal: Refusal, inventory: Inventory, used: int) -> Iterator[Remedy]:
    """Yield the possible changes. Each change alone makes this inventory accept the requested amount."""
    # More capacity helps only if no other constraint refuses the amount.
    if list(not_granted(inventory, used, refusal.amount)) == [Constraint.CAPACITY]:
        yield from _capacity_remedies(refusal, inventory, used)
    for amount in _amounts_to_ask(refusal, inventory, used):
        yield Remedy(kind=RemedyKind.ASK, resource_class=refusal.resource_class, number=amount)


def _amounts_to_ask(refusal: Refusal, inventory: Inventory, used: int) -> Iterator[int]:
    """Yield amounts that this inventory would grant now: the nearest below and above the requested amount."""
    most = most_to_ask(inventory, used)
    if most is None:
        return
    step = inventory.step_size
    least = -(-inventory.min_unit // step) * step
    below = min(most, refusal.amount - refusal.amount % step)
    above = max(least, -(-refusal.amount // step) * step)
    if least <= below < refusal.amount:
        yield below
    if refusal.amount < above <= most:
        yield above


def _two_changes(refusal: Refusal, inventory: Inventory, used: int) -> str:
    """Return a text that proposes to request another amount and also to free capacity: one change is not enough.

    Return "" if even an unused provider would grant no amount.
    """
    amount = next(_amounts_to_ask(refusal, inventory, used=0), None)
    if amount is None:
        return ""
    less = Remedy(kind=RemedyKind.ASK, resource_class=refusal.resource_class, number=amount)
    short = with_class(refusal.resource_class, amount - left(inventory, used))
    ask, name = _change_words(less, refusal, inventory), refusal.offered.provider.name
    return f"{ask}, and free up {short} on {name}: neither change alone is enough"


def _capacity_remedies(refusal: Refusal, inventory: Inventory, used: int) -> Iterator[Remedy]:
    provider_uuid, resource_class = refusal.offered.provider.uuid, refusal.resource_class
    needed = used + refusal.amount
    short = needed - int(inventory.capacity)
    numbers: dict[RemedyKind, float | None] = {
        RemedyKind.FREE: short if short <= used else None,
        RemedyKind.RATIO: _least_ratio(inventory, needed) if resource_class in _RATIO_OPTIONS else None,
        RemedyKind.RESERVED: _most_reserved(inventory, needed),
    }
    for kind, number in numbers.items():
        if number is not None:
            yield Remedy(kind=kind, provider_uuid=provider_uuid, resource_class=resource_class, number=number)


def _least_ratio(inventory: Inventory, needed: int) -> float | None:
    """Return the least ratio that is enough even if MySQL rounds the ratio (caveats.py); None if no ratio helps."""
    usable = inventory.total - inventory.reserved
    if usable <= 0:
        return None
    steps = math.ceil(needed * _RATIO_STEPS / usable)
    ratios = ((steps + more) / _RATIO_STEPS for more in range(-1, 1_000))
    return next((ratio for ratio in ratios if usable * min(ratio, single(ratio)) >= needed), None)


def _most_reserved(inventory: Inventory, needed: int) -> int | None:
    """Return the largest ``reserved`` that leaves enough capacity, None if even 0 leaves too little."""
    ratio = min(inventory.allocation_ratio, single(inventory.allocation_ratio))
    if ratio <= 0:
        return None
    guess = math.ceil(needed / ratio)
    usable = next(n for n in range(guess - 1, guess + 3) if n * ratio >= needed)
    return inventory.total - usable if usable <= inventory.total else None


def _change_words(remedy: Remedy, refusal: Refusal, inventory: Inventory) -> str:
    number, resource_class, name = remedy.number, refusal.resource_class, refusal.offered.provider.name
    if remedy.kind is RemedyKind.FREE:
        return f"free up {with_class(resource_class, int(number or 0))} on {name}"
    if remedy.kind is RemedyKind.RATIO:
        return f"raise {_RATIO_OPTIONS[resource_class]} to at least {number:.10g}"
    if remedy.kind is RemedyKind.RESERVED:
        by = inventory.reserved - int(number or 0)
        return f"lower the reserved amount by {with_class(resource_class, by)}, to {number}{_if_own(resource_class)}"
    how = "at most" if (number or 0) < refusal.amount else "at least"
    because = _why_less(refusal, inventory, int(number or 0))
    return f"ask for {how} {with_class(resource_class, int(number or 0))} in one request{because}"


def _if_own(resource_class: str) -> str:
    """Return the text in brackets after "lower the reserved amount": the nova option, if any, and a warning."""
    # The warning is necessary, because the option sets only one part of ``reserved``. To this part, the agent adds the
    # usage of unknown guests and volumes. A lower value of the option does not lower this usage.
    option = _RESERVED_OPTIONS.get(resource_class)
    unmanaged = "the usage of guests and volumes that nova does not know"
    if option:
        parts = f"option {option} is only a part of the reserved amount: the agent adds {unmanaged}"
    else:
        parts = f"the reserved amount includes {unmanaged}"
    return f" ({parts}; see stocktake explain {resource_class})"


def _why_less(refusal: Refusal, inventory: Inventory, amount: int) -> str:
    """Return " (…)", a remark that max_unit prevents a larger amount. Return "" if max_unit is not the limit."""
    room = left(inventory, refusal.offered.used_of(refusal.resource_class))
    if refusal.constraint is Constraint.CAPACITY and amount == inventory.max_unit < min(refusal.amount, room):
        return " (more capacity is free, but max_unit allows no more in one request)"
    if refusal.constraint is not Constraint.MAX_UNIT:
        return ""
    if amount < inventory.max_unit:
        return " (max_unit allows more in one request, but no more is free)"
    if inventory.max_unit != inventory.total:
        return " (a higher ratio does not raise max_unit)"
    return f" (max_unit is {_WHOLES.get(refusal.resource_class, 'the whole total')}; a higher ratio does not raise it)"
