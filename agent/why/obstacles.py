"""Describe why no provider of a tree can satisfy a request group: list the constraints that the nearest provider fails.

The nearest provider is the one that fails the fewest constraints. Two failures weigh more than all others: the provider
lacks a requested class, or the provider is outside the tree that ``in_tree`` names. A provider with one of these two
failures is the nearest only if every provider has one. Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agent.model.resource_request import OfferedProvider, RequestGroup
from agent.text.amounts import requested
from agent.why.candidates import Refusal, judged_for_forbidden, judged_for_membership, parts_of, refusals
from agent.why.forest import OfferedTree
from agent.why.inventory import inventory_obstacle, left
from agent.why.model import Constraint, Obstacle, Remedy, RemedyKind

# For this trait the advice is to enable the service. To remove the trait would not help, because nova sets the trait
# again while the service is disabled.
_ENABLE = {"COMPUTE_STATUS_DISABLED": "enable the compute service of {name} (openstack compute service set --enable)"}
_FAR = {Constraint.RESOURCE_CLASS: 100, Constraint.IN_TREE: 50}


def group_obstacles(group: RequestGroup, tree: OfferedTree) -> tuple[Obstacle, ...]:
    """Return the obstacles for the group, () if providers can satisfy the group.

    A granular group also has the obstacle ONE_PROVIDER if different providers can each satisfy some of its demands but
    no single provider can satisfy all demands.
    """
    found: list[Obstacle] = []
    for amounts in parts_of(group):
        refused = [list(refusals(group, amounts, offered, tree)) for offered in tree.reach]
        if not all(refused):
            continue
        nearest = min(refused, key=_distance)
        found += [obstacle for refusal in nearest for obstacle in _obstacles_of(refusal, group, tree)]
        found += _one_provider(group, refused, nearest)
    return tuple(dict.fromkeys(found))


def unprovided_traits(group: RequestGroup, tree: OfferedTree) -> tuple[Obstacle, ...]:
    """Return an obstacle for each required trait that is missing on every provider with a requested class.

    Full or forbidden providers count here too, because a trait that they lack would still be missing if they were free.
    Only the unnumbered group can have these obstacles.
    """
    asked = [resource_class for resource_class, _ in group.resources]
    givers = [o for o in tree.reach if any(o.provider.inventory(name) for name in asked)]
    choices = dict.fromkeys(choice - group.forbidden for choice in group.required)
    nowhere = [choice for choice in choices if not any(choice & o.provider.traits for o in givers)]
    if group.suffix or not nowhere:
        return ()
    nearest = _giver_to_be(group, tree)
    if nearest is None:
        return ()
    givers.sort(key=lambda offered: offered is not nearest)
    return tuple(
        trait_of_none(choice, givers, "none of the providers that have a requested class", tree) for choice in nowhere
    )


def _giver_to_be(group: RequestGroup, tree: OfferedTree) -> OfferedProvider | None:
    """Return the provider to which an operator should add the missing traits; None if there is none.

    Of the providers that have the group's first class, choose the provider with the fewest obstacles. If there is no
    such provider in the tree that ``in_tree`` names, try the group's next class.
    """
    for amounts in parts_of(group):
        refused = {o.provider.uuid: list(refusals(group, amounts, o, tree)) for o in tree.reach}
        nearest = min(tree.reach, key=lambda offered: _distance(refused[offered.provider.uuid]))
        if not any(refusal.constraint in _FAR for refusal in refused[nearest.provider.uuid]):
            return nearest
    return None


def _distance(refused: list[Refusal]) -> tuple[int, float]:
    weight = sum(_FAR.get(refusal.constraint, 1) for refusal in refused)
    return weight, sum(_gap(refusal) for refusal in refused)


def _gap(refusal: Refusal) -> float:
    """Return the missing part of the requested amount, as a fraction of that amount."""
    inventory = refusal.inventory
    if inventory is not None and refusal.constraint is Constraint.CAPACITY:
        room = left(inventory, refusal.offered.used_of(refusal.resource_class))
    elif inventory is not None and refusal.constraint is Constraint.MAX_UNIT:
        room = inventory.max_unit
    else:
        return 0.0
    return (refusal.amount - room) / refusal.amount


def _one_provider(group: RequestGroup, refused: list[list[Refusal]], nearest: list[Refusal]) -> list[Obstacle]:
    """Return the obstacle ONE_PROVIDER if no provider has all resources, but each resource is on some provider."""
    if not group.suffix or len(refused) < 2:
        return []
    lacking = {refusal.resource_class for refusal in nearest}
    refused_classes = [{refusal.resource_class for refusal in of_one} for of_one in refused]
    if "" in lacking or not all(any(name not in classes for classes in refused_classes) for name in lacking):
        return []
    offered = nearest[0].offered
    return [
        _about(
            Constraint.ONE_PROVIDER,
            group.suffix,
            offered,
            words=f"each demand of group {group.suffix} is met by some provider, but no single provider meets all; "
            f"{offered.provider.name} is nearest",
            change=f"let group {group.suffix} request only what {offered.provider.name} offers, and request the rest "
            "in another group",
        )
    ]


def root_obstacles(required: frozenset[str], forbidden: frozenset[str], tree: OfferedTree) -> tuple[Obstacle, ...]:
    """Return the obstacles of the root provider: each required trait that it lacks, each forbidden trait that it has.

    The query parameter ``root_required`` names both kinds of traits.
    """
    traits = tree.root.provider.traits
    missing = [trait_missing(Constraint.ROOT_TRAIT, "", tree.root, frozenset({t})) for t in sorted(required - traits)]
    present = [_trait_present(Constraint.ROOT_TRAIT, "", tree.root, trait) for trait in sorted(forbidden & traits)]
    return (*missing, *present)


def _obstacles_of(refusal: Refusal, group: RequestGroup, tree: OfferedTree) -> Iterator[Obstacle]:
    """Yield the obstacles for a refusal.

    A refusal for required traits yields one obstacle for each required set from which the provider has no trait. A
    refusal for forbidden traits yields one obstacle for each forbidden trait of the provider. Refusals for aggregates
    work like refusals for traits. Any other refusal yields exactly one obstacle.
    """
    offered = refusal.offered
    if refusal.inventory is not None:
        yield inventory_obstacle(refusal, refusal.inventory, group.suffix)
    elif refusal.constraint is Constraint.REQUIRED_TRAIT:
        for choice in group.required:
            if not choice & offered.provider.traits:
                yield trait_missing(refusal.constraint, group.suffix, offered, choice - group.forbidden)
    elif refusal.constraint is Constraint.FORBIDDEN_TRAIT:
        for trait in sorted(group.forbidden & offered.provider.traits):
            yield _trait_present(refusal.constraint, group.suffix, offered, trait)
    elif refusal.constraint is Constraint.MEMBER_OF:
        yield from _aggregates_missing(group, offered, tree)
    elif refusal.constraint is Constraint.FORBIDDEN_AGGREGATE:
        yield from _aggregates_present(group, offered, tree)
    else:
        yield _OTHERS[refusal.constraint](refusal, group, tree)


def trait_missing(constraint: Constraint, suffix: str, offered: OfferedProvider, choice: frozenset[str]) -> Obstacle:
    """Return the obstacle for a provider that has none of the traits ``choice``. One of them would be enough."""
    name, traits = offered.provider.name, " or ".join(sorted(choice))
    condition = _if_standard(
        choice, " if the provider really has this feature; otherwise leave the trait out of the request"
    )
    return _about(
        constraint,
        suffix,
        offered,
        words=f"{name} lacks the required trait {traits}",
        change=f"add trait {traits} to {name}{condition}",
        remedies=[(RemedyKind.ADD_TRAIT, trait) for trait in sorted(choice)],
    )


def trait_of_none(
    choice: frozenset[str], givers: Sequence[OfferedProvider], none_of_them: str, tree: OfferedTree
) -> Obstacle:
    """Return an obstacle: the request needs one of the traits ``choice``, but no provider in ``givers`` has one.

    The obstacle's text begins with ``none_of_them``, for example "none of the providers that …". The suggested change
    adds the trait to the first of ``givers``.
    """
    obstacle = trait_missing(Constraint.REQUIRED_TRAIT, "", givers[0], choice)
    elsewhere = [offered.provider.name for offered in tree.reach if choice & offered.provider.traits]
    hint = f"; the trait is on {', '.join(elsewhere)}, which cannot serve the request" if elsewhere else ""
    names = ", ".join(offered.provider.name for offered in givers)
    return replace(obstacle, words=f"{none_of_them} ({names}) has trait {' or '.join(sorted(choice))}{hint}")


def _trait_present(constraint: Constraint, suffix: str, offered: OfferedProvider, trait: str) -> Obstacle:
    name = offered.provider.name
    otherwise = _if_standard(
        (trait,), " if the provider does not have this feature; otherwise allow the trait in the request"
    )
    return _about(
        constraint,
        suffix,
        offered,
        words=f"{name} has the forbidden trait {trait}",
        change=_ENABLE.get(trait, f"remove trait {trait} from {{name}}{otherwise}").format(name=name),
        remedies=[(RemedyKind.REMOVE_TRAIT, trait)],
    )


def _if_standard(traits: Iterable[str], words: str) -> str:
    """Return ``words`` if all traits are standard traits (not CUSTOM_), else ""."""
    # A standard trait states a capability of the machine or its driver. Setting the trait does not add the capability.
    return "" if any(trait.startswith("CUSTOM_") for trait in traits) else words


def _aggregates_missing(group: RequestGroup, offered: OfferedProvider, tree: OfferedTree) -> Iterator[Obstacle]:
    """Yield an obstacle for each required set of aggregates if the provider is in no aggregate of the set."""
    # The unnumbered group is satisfied if the provider or its root is in an aggregate of each set. If neither is, the
    # obstacles describe the provider that lacks fewer sets.
    judged = min(judged_for_membership(group, offered, tree), key=lambda o: len(_sets_missing(group, o)))
    name = judged.provider.name
    for choice in _sets_missing(group, judged):
        yield _about(
            Constraint.MEMBER_OF,
            group.suffix,
            judged,
            words=f"{name} is not in aggregate {' or '.join(sorted(choice))}",
            change=f"add aggregate {' or '.join(sorted(choice))} to {name}",
            remedies=[(RemedyKind.ADD_AGGREGATE, aggregate) for aggregate in sorted(choice)],
        )


def _sets_missing(group: RequestGroup, offered: OfferedProvider) -> list[frozenset[str]]:
    return [choice for choice in group.member_of if not choice & offered.provider.aggregates]


def _aggregates_present(group: RequestGroup, offered: OfferedProvider, tree: OfferedTree) -> Iterator[Obstacle]:
    judged_by_uuid = {judged.provider.uuid: judged for judged in judged_for_forbidden(group, offered, tree)}
    for judged in judged_by_uuid.values():
        for aggregate in sorted(group.forbidden_aggregates & judged.provider.aggregates):
            yield _about(
                Constraint.FORBIDDEN_AGGREGATE,
                group.suffix,
                judged,
                words=f"{judged.provider.name} is in the forbidden aggregate {aggregate}",
                change=f"remove aggregate {aggregate} from {judged.provider.name}",
                remedies=[(RemedyKind.REMOVE_AGGREGATE, aggregate)],
            )


def _about(
    constraint: Constraint,
    suffix: str,
    offered: OfferedProvider,
    *,
    words: str,
    change: str,
    remedies: Sequence[tuple[RemedyKind, str]] = (),
) -> Obstacle:
    uuid = offered.provider.uuid
    return Obstacle(
        constraint=constraint,
        words=words,
        change=change,
        suffix=suffix,
        provider_uuid=uuid,
        provider_name=offered.provider.name,
        remedies=tuple(Remedy(kind=kind, provider_uuid=uuid, name=name) for kind, name in remedies),
    )


def _no_class(refusal: Refusal, group: RequestGroup, tree: OfferedTree) -> Obstacle:
    wanted = requested(refusal.resource_class, refusal.amount)
    lacking = f"{refusal.offered.provider.name} has none"
    root = tree.root.provider.name
    none_has = f"neither the tree of {root} nor a provider that shares with this tree offers {refusal.resource_class}"
    return Obstacle(
        constraint=Constraint.RESOURCE_CLASS,
        words=f"{wanted}, {lacking if group.suffix else none_has}",
        change=f"leave {refusal.resource_class} out of the request, or choose a host that offers this class",
        suffix=group.suffix,
        resource_class=refusal.resource_class,
        wanted=refusal.amount,
        available=0,
    )


def _outside_tree(refusal: Refusal, group: RequestGroup, tree: OfferedTree) -> Obstacle:
    provider = refusal.offered.provider
    is_own = tree.owns(refusal.offered)
    right = tree.root.provider if is_own else provider
    words = f"in_tree allows only the tree of {group.in_tree}, and {provider.name} is not in that tree"
    change = f"leave out in_tree, or set in_tree={right.uuid} ({right.name})"
    if not (is_own or group.suffix):
        # If the group without suffix has in_tree, Placement offers no sharing provider for the group, even if in_tree
        # names the sharing provider's own tree.
        words = f"{provider.name} is a sharing provider of {tree.root.provider.name}, and Placement offers no sharing "
        words += "provider to a group that has in_tree and no suffix"
        change = f"leave out in_tree, or request the resources of {provider.name} in a separate group without in_tree"
    return _about(Constraint.IN_TREE, group.suffix, refusal.offered, words=words, change=change)


def _asks_for_nothing(_refusal: Refusal, group: RequestGroup, _tree: OfferedTree) -> Obstacle:
    return Obstacle(
        constraint=Constraint.ONE_PROVIDER,
        words=f"group {group.suffix} has no resource, required trait or aggregate: Placement never serves such a group",
        change=f"name a resource, a required trait or an aggregate in group {group.suffix}, or leave the group out",
        suffix=group.suffix,
    )


_OTHERS = {
    Constraint.RESOURCE_CLASS: _no_class,
    Constraint.IN_TREE: _outside_tree,
    Constraint.ONE_PROVIDER: _asks_for_nothing,
}
