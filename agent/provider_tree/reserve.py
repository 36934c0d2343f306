"""Decide ``reserved`` of one class: the operator's reserve plus the usage of guests and volumes unknown to nova.

Placement computes the capacity as (total − reserved) × ratio. At ratio 4, a reserve of 1 CPU takes 4 VCPU from the
capacity. So the VCPU of an unknown guest are divided by the ratio. Disk space in bytes is not divided. Only the sum is
rounded. ``reserved`` never exceeds the total, because Placement would answer 400.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from fractions import Fraction

from agent.model.books import ReserveTerms
from agent.model.claim import UNMANAGED_CAUSES, Cause, Claim
from agent.model.placement import Inventory
from agent.model.settings import Settings, UnmanagedPolicy
from agent.model.units import bytes_to_gib_ceil

HELD_TERM = "kept-from-placement"


def raised(
    inventory: Inventory, own_terms: Iterable[tuple[str, int]], unmanaged: Iterable[Claim], settings: Settings
) -> tuple[Inventory, ReserveTerms]:
    """Return the inventory with a new ``reserved``, and the amounts that add up to ``reserved``.

    ``reserved`` is the sum of two parts. ``own_terms`` is what the operator reserves for the host. ``unmanaged`` is the
    usage of guests and volumes that nova does not know. If the sum exceeds the total, ``reserved`` is the total, and
    ``overflow`` is the rest.
    """
    terms = list(own_terms)
    own = sum(value for _, value in terms)
    claims = [c for c in unmanaged if c.resource_class == inventory.resource_class and is_reserved(c, settings)]
    amount = _reserve(claims, inventory)
    terms.extend(_split(claims, inventory, amount))
    wanted = own + amount
    reserved = min(wanted, inventory.total)
    return dataclasses.replace(inventory, reserved=reserved), ReserveTerms(
        resource_class=inventory.resource_class,
        terms=tuple((name, value) for name, value in terms if value),
        overflow=wanted - reserved,
    )


def not_below(inventory: Inventory, terms: ReserveTerms, observed: Inventory | None) -> tuple[Inventory, ReserveTerms]:
    """Return the inventory with a ``reserved`` that is not lower than in Placement, and the terms of this ``reserved``.

    ``observed`` is the inventory in Placement. The terms are the amounts that add up to ``reserved``, which never
    exceeds the total. The agent calls this function while it cannot tell the usage of guests and volumes that nova does
    not know.
    """
    kept = min(observed.reserved, inventory.total) if observed else 0
    if kept <= inventory.reserved:
        return inventory, terms
    extra = (HELD_TERM, kept - inventory.reserved)
    return dataclasses.replace(inventory, reserved=kept), dataclasses.replace(terms, terms=(*terms.terms, extra))


def is_reserved(claim: Claim, settings: Settings) -> bool:
    """Whether nova does not know this use, and ``settings`` says that ``reserved`` must include such use."""
    policy = settings.unknown_guests if claim.cause is Cause.FOREIGN_GUEST else settings.foreign_volumes
    return claim.cause in UNMANAGED_CAUSES and policy is UnmanagedPolicy.RESERVE


def _reserve(claims: list[Claim], inventory: Inventory) -> int:
    if any(claim.size_bytes is not None for claim in claims):
        return bytes_to_gib_ceil(sum(claim.size_bytes or 0 for claim in claims))
    if inventory.allocation_ratio <= 0:
        return 0  # Placement accepts a ratio of 0: the class then has no capacity that could be reserved.
    # str() yields the ratio as it is written, so 21 / 1.4 is exactly 15. In binary floating point the result is a
    # little more than 15, and ceil() would return 16.
    return math.ceil(sum(claim.amount for claim in claims) / Fraction(str(inventory.allocation_ratio)))


def _split(claims: list[Claim], inventory: Inventory, amount: int) -> list[tuple[str, int]]:
    """Divide ``amount``, the rounded sum of ``claims``, into one whole number for each cause of a claim.

    ``stocktake explain`` shows these numbers.
    """
    causes = sorted({claim.cause for claim in claims}, key=lambda cause: cause.value)
    shares: list[tuple[str, int]] = []
    so_far: list[Claim] = []
    for cause in causes:
        before = _reserve(so_far, inventory)
        so_far.extend(claim for claim in claims if claim.cause is cause)
        shares.append((cause.value, _reserve(so_far, inventory) - before))
    if sum(share for _, share in shares) != amount:
        raise AssertionError("this is a bug: the parts of a reserved amount do not add up to the reserved amount")
    return shares
