"""Decide which single providers can satisfy a request group, and which constraints refuse the other providers.

Placement 16.0.0 has three surprising rules. First, for a granular group only the provider's own aggregates count; for
the unnumbered group the aggregates of the tree's root count too. Second, with ``in_tree``, no provider from outside the
tree serves the unnumbered group. Third, for a group without resources Placement ignores which tree ``in_tree`` names.

No provider satisfies a group that has no resources, no required trait and no ``member_of``. Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.model.placement import Inventory
from agent.model.resource_request import OfferedProvider, RequestGroup
from agent.why.forest import OfferedTree
from agent.why.model import Constraint

# The pairs (resource class, amount) that one provider must have free.
Amounts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One constraint that prevents one provider from satisfying one ``Slot`` of a request.

    ``resource_class`` is "" if the constraint is not about a class. ``inventory`` is the provider's inventory of the
    class, None if the provider has no such inventory.
    """

    constraint: Constraint
    offered: OfferedProvider
    resource_class: str = ""
    amount: int = 0
    inventory: Inventory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What a single provider must satisfy: a whole granular group, or one class of the unnumbered group.

    ``domain``: the providers that can be chosen for the slot. Each of them can satisfy the slot alone.
    """

    group: RequestGroup
    amounts: Amounts
    domain: tuple[OfferedProvider, ...]

    @property
    def is_granular(self) -> bool:
        """Whether this part of the request is a granular group, that is, a group with a suffix."""
        return bool(self.group.suffix)

    @property
    def asked(self) -> dict[str, int]:
        """Requested amounts by class."""
        return dict(self.amounts)


def slots_of(group: RequestGroup, tree: OfferedTree) -> tuple[Slot, ...]:
    """Split the group into slots. A single provider must satisfy a whole slot."""
    return tuple(
        Slot(group=group, amounts=amounts, domain=tuple(o for o in tree.reach if is_served(group, amounts, o, tree)))
        for amounts in parts_of(group)
    )


def parts_of(group: RequestGroup) -> tuple[Amounts, ...]:
    """Return the group's amounts in parts. One provider must have all amounts of a part.

    A granular group is one part. In the unnumbered group, each class is a part, because each may be on another
    provider.
    """
    return (group.resources,) if group.suffix else tuple((asked,) for asked in group.resources)


def is_served(group: RequestGroup, amounts: Amounts, offered: OfferedProvider, tree: OfferedTree) -> bool:
    """Whether the provider can satisfy these amounts of the group: no constraint refuses the provider."""
    # The resource class is checked first, because most providers do not have the class.
    for resource_class, amount in amounts:
        inventory = offered.provider.inventory(resource_class)
        if inventory is None:
            return False
        if next(not_granted(inventory, offered.used_of(resource_class), amount), None) is not None:
            return False
    return next(_group_refusals(group, offered, tree), None) is None


def refusals(group: RequestGroup, amounts: Amounts, offered: OfferedProvider, tree: OfferedTree) -> Iterator[Refusal]:
    """Yield all constraints that refuse the provider.

    Required traits are checked only for a granular group. In the unnumbered group, several providers together may have
    the required traits, so a single provider without them is not refused.
    """
    for name, amount in amounts:
        inventory = offered.provider.inventory(name)
        for constraint in not_granted(inventory, offered.used_of(name), amount):
            yield Refusal(
                constraint=constraint, offered=offered, resource_class=name, amount=amount, inventory=inventory
            )
    for constraint in _group_refusals(group, offered, tree):
        yield Refusal(constraint=constraint, offered=offered)


def not_granted(inventory: Inventory | None, used: int, amount: int) -> Iterator[Constraint]:
    """Yield each constraint of the inventory that refuses the amount. Without an inventory, yield RESOURCE_CLASS."""
    if inventory is None:
        yield Constraint.RESOURCE_CLASS
        return
    if amount < inventory.min_unit:
        yield Constraint.MIN_UNIT
    if amount > inventory.max_unit:
        yield Constraint.MAX_UNIT
    if amount % inventory.step_size:
        yield Constraint.STEP_SIZE
    # ``capacity`` is not rounded to an integer, because Placement does not round it either.
    if used + amount > inventory.capacity:
        yield Constraint.CAPACITY


def _group_refusals(group: RequestGroup, offered: OfferedProvider, tree: OfferedTree) -> Iterator[Constraint]:
    traits = offered.provider.traits
    if not _is_in_tree(group, offered, tree):
        yield Constraint.IN_TREE
    if group.suffix and any(not traits & choice for choice in group.required):
        yield Constraint.REQUIRED_TRAIT
    if traits & group.forbidden:
        yield Constraint.FORBIDDEN_TRAIT
    if group.member_of and not any(_is_member(group, judged) for judged in judged_for_membership(group, offered, tree)):
        yield Constraint.MEMBER_OF
    if group.forbidden_aggregates and any(
        judged.provider.aggregates & group.forbidden_aggregates for judged in judged_for_forbidden(group, offered, tree)
    ):
        yield Constraint.FORBIDDEN_AGGREGATE
    if not group.resources and not group.required and not group.member_of:
        yield Constraint.ONE_PROVIDER


def _is_in_tree(group: RequestGroup, offered: OfferedProvider, tree: OfferedTree) -> bool:
    if group.in_tree is None:
        return True
    root = tree.root_of.get(group.in_tree)
    if root is None:
        return False
    if not group.resources:
        return True
    return offered.root_uuid == root and (bool(group.suffix) or tree.owns(offered))


def _is_member(group: RequestGroup, offered: OfferedProvider) -> bool:
    """Return whether the provider itself, and not only its root, is in an aggregate of each set in ``member_of``."""
    return all(offered.provider.aggregates & choice for choice in group.member_of)


def judged_for_membership(
    group: RequestGroup, offered: OfferedProvider, tree: OfferedTree
) -> tuple[OfferedProvider, ...]:
    """Return the providers to check against ``member_of``: at least one of them must be in the required aggregates.

    The result always contains ``offered``. For the unnumbered group, the result also contains the tree's root, unless
    ``offered`` is a sharing provider.
    """
    return (offered, tree.root) if not group.suffix and tree.owns(offered) else (offered,)


def judged_for_forbidden(
    group: RequestGroup, offered: OfferedProvider, tree: OfferedTree
) -> tuple[OfferedProvider, ...]:
    """Return the providers to check for forbidden aggregates: none of them may be in such an aggregate.

    The result always contains ``offered``. For the unnumbered group, the result also contains the tree's root, even if
    ``offered`` is a sharing provider.
    """
    return (offered,) if group.suffix else (offered, tree.root)
