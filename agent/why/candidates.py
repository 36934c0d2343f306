"""Which providers may serve a group of a request, each by itself, and what refuses the others.

Facts that surprise, all of Placement 16.0.0: a granular group looks at the provider's own
aggregates only, the unnumbered one also at those of the tree's root; with ``in_tree`` the
unnumbered group takes nothing from outside the tree; a group without resources never looks at
``in_tree``, and is never served where it names no trait and no aggregate. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.model.placement import Inventory
from agent.model.resource_request import OfferedProvider, RequestGroup
from agent.why.forest import Forest, Tree
from agent.why.model import Constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One constraint by which one provider cannot serve a group; ``resource_class`` is "" where it is not of one.

    ``inventory`` is that of the class, None where the provider has none of it.
    """

    constraint: Constraint
    offered: OfferedProvider
    resource_class: str = ""
    amount: int = 0
    inventory: Inventory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What one provider has to serve: a granular group, or one class of the unnumbered one.

    ``domain`` are the providers that can, each by itself.
    """

    group: RequestGroup
    amounts: tuple[tuple[str, int], ...]
    domain: tuple[OfferedProvider, ...]

    @property
    def is_granular(self) -> bool:
        """Whether it is a group of its own."""
        return bool(self.group.suffix)

    @property
    def asked(self) -> dict[str, int]:
        """Class to amount."""
        return dict(self.amounts)


def slots_of(group: RequestGroup, tree: Tree, forest: Forest) -> tuple[Slot, ...]:
    """What the group needs served, with who can."""
    return tuple(
        Slot(
            group=group,
            amounts=amounts,
            domain=tuple(o for o in tree.reach if is_served(group, amounts, o, tree, forest)),
        )
        for amounts in parts_of(group)
    )


def parts_of(group: RequestGroup) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Amounts that one provider must serve together: all of a granular group, each class of the unnumbered one."""
    return (group.resources,) if group.suffix else tuple((asked,) for asked in group.resources)


def is_served(
    group: RequestGroup, amounts: tuple[tuple[str, int], ...], offered: OfferedProvider, tree: Tree, forest: Forest
) -> bool:
    """Whether nothing refuses it. Most providers have not even the class: that is asked first."""
    for resource_class, amount in amounts:
        inventory = offered.provider.inventory(resource_class)
        if inventory is None:
            return False
        if next(not_granted(inventory, offered.used_of(resource_class), amount), None) is not None:
            return False
    return next(_group_refusals(group, offered, tree, forest), None) is None


def refusals(
    group: RequestGroup, amounts: tuple[tuple[str, int], ...], offered: OfferedProvider, tree: Tree, forest: Forest
) -> Iterator[Refusal]:
    """All that refuses that provider, required traits only of a granular group."""
    for resource_class, amount in amounts:
        yield from _inventory_refusals(offered, resource_class, amount)
    for constraint in _group_refusals(group, offered, tree, forest):
        yield Refusal(constraint=constraint, offered=offered)


def _inventory_refusals(offered: OfferedProvider, resource_class: str, amount: int) -> Iterator[Refusal]:
    """What the inventory of that class refuses. The server compares used + amount with a float, so do we."""
    inventory = offered.provider.inventory(resource_class)
    for constraint in not_granted(inventory, offered.used_of(resource_class), amount):
        yield Refusal(
            constraint=constraint,
            offered=offered,
            resource_class=resource_class,
            amount=amount,
            inventory=inventory,
        )


def not_granted(inventory: Inventory | None, used: int, amount: int) -> Iterator[Constraint]:
    """What that inventory, of which so much is used, refuses of one amount; RESOURCE_CLASS where there is none."""
    if inventory is None:
        yield Constraint.RESOURCE_CLASS
        return
    if amount < inventory.min_unit:
        yield Constraint.MIN_UNIT
    if amount > inventory.max_unit:
        yield Constraint.MAX_UNIT
    if amount % inventory.step_size:
        yield Constraint.STEP_SIZE
    if used + amount > inventory.capacity:
        yield Constraint.CAPACITY


def _group_refusals(group: RequestGroup, offered: OfferedProvider, tree: Tree, forest: Forest) -> Iterator[Constraint]:
    traits = offered.provider.traits
    if not _is_in_tree(group, offered, tree, forest):
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


def _is_in_tree(group: RequestGroup, offered: OfferedProvider, tree: Tree, forest: Forest) -> bool:
    if group.in_tree is None:
        return True
    root = forest.root_of.get(group.in_tree)
    if root is None:
        return False
    if not group.resources:
        return True
    return offered.root_uuid == root and (bool(group.suffix) or tree.owns(offered))


def _is_member(group: RequestGroup, offered: OfferedProvider) -> bool:
    """Whether that one provider is in an aggregate of each set that the group names."""
    return all(offered.provider.aggregates & choice for choice in group.member_of)


def judged_for_membership(group: RequestGroup, offered: OfferedProvider, tree: Tree) -> tuple[OfferedProvider, ...]:
    """One of these must be a member: a root speaks for its own tree, never for what shares with it."""
    return (offered, tree.root) if not group.suffix and tree.owns(offered) else (offered,)


def judged_for_forbidden(group: RequestGroup, offered: OfferedProvider, tree: Tree) -> tuple[OfferedProvider, ...]:
    """None of these may be in a forbidden aggregate: the root speaks for what shares with its tree too."""
    return (offered,) if group.suffix else (offered, tree.root)
