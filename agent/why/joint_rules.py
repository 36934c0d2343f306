"""Find the rules that refuse a request although each of its groups alone has a provider.

Such a rule is about several groups together. First, the module repeats the search once for each rule, without this
rule. If the request then fits, the module reports the omitted rule. If the request never fits, the module searches with
a single rule at a time, and reports each rule that alone refuses the request. If no rule alone refuses the request, the
module reports all rules. Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from agent.model.resource_request import OfferedProvider, ResourceRequest
from agent.text.amounts import with_class
from agent.why.candidates import Slot
from agent.why.forest import OfferedTree
from agent.why.inventory import left
from agent.why.model import Constraint, Obstacle, Remedy, RemedyKind
from agent.why.obstacles import trait_of_none
from agent.why.search import MAX_STEPS, Problem, Rule, SearchResult, contested_classes, room, search


def joint_obstacles(request: ResourceRequest, slots: tuple[Slot, ...], tree: OfferedTree) -> tuple[Obstacle, ...]:
    """Return why all groups together do not fit, although each group alone does; () if they fit.

    Call this only if each slot has at least one possible provider.
    """
    problem = _problem(request, slots, tree)
    result = search(problem)
    if result is SearchResult.FITS:
        return ()
    if result is SearchResult.UNDECIDED:
        return (_undecided(slots),)
    return tuple(o for rule in _to_blame(problem) for o in _OBSTACLES_OF[rule](problem, tree))


def _problem(request: ResourceRequest, slots: tuple[Slot, ...], tree: OfferedTree) -> Problem:
    required = next((group.required for group in request.groups if not group.suffix), ())
    subtrees = tuple(suffixes for suffixes in request.same_subtree if len(suffixes) > 1)
    applies = {
        Rule.SUMS: bool(contested_classes(slots)),
        Rule.TRAITS: bool(required),
        Rule.ISOLATE: request.group_policy == "isolate" and sum(slot.is_granular for slot in slots) > 1,
        Rule.SAME_SUBTREE: bool(subtrees),
    }
    return Problem(
        slots=slots,
        rules=frozenset(rule for rule, is_asked in applies.items() if is_asked),
        required=required,
        same_subtree=subtrees,
        parent_of=tree.parent_of,
    )


def _to_blame(problem: Problem) -> list[Rule]:
    rules = [rule for rule in Rule if rule in problem.rules]
    alone = [rule for rule in rules if search(replace(problem, rules=problem.rules - {rule})) is SearchResult.FITS]
    if alone:
        return alone
    by_itself = [rule for rule in rules if search(replace(problem, rules=frozenset({rule}))) is SearchResult.REFUSED]
    return by_itself or rules


def _undecided(slots: tuple[Slot, ...]) -> Obstacle:
    return Obstacle(
        constraint=Constraint.UNDECIDED,
        words=f"there are too many ways to choose {len(slots)} providers: none of the first {MAX_STEPS} choices fits",
        change="ask for fewer groups at once, or ask Placement itself",
    )


def _sums(problem: Problem, _tree: OfferedTree) -> Iterator[Obstacle]:
    """Yield an obstacle for each class of which all groups together request too much.

    If there is no such class, yield an obstacle for each class that several groups request.
    """
    contested = sorted(contested_classes(problem.slots))
    short = [name for name in contested if search(_of_class(problem, name)) is not SearchResult.FITS]
    for resource_class in short or contested:
        yield _sum_of(problem, resource_class)


def _of_class(problem: Problem, resource_class: str) -> Problem:
    """Return the request with only this class and only Rule.SUMS: the sum of the class's amounts must fit."""
    slots = tuple(
        replace(slot, amounts=tuple(asked for asked in slot.amounts if asked[0] == resource_class))
        for slot in problem.slots
        if resource_class in slot.asked
    )
    return replace(problem, slots=slots, rules=frozenset({Rule.SUMS}))


def _sum_of(problem: Problem, resource_class: str) -> Obstacle:
    asking = [slot for slot in problem.slots if resource_class in slot.asked]
    givers = _givers(asking)
    asked = sum(slot.asked[resource_class] for slot in asking)
    total = sum(room(offered, resource_class) for offered in givers)
    alone = givers[0].provider if len(givers) == 1 else None
    is_of_unit = total < asked <= sum(_left(offered, resource_class) for offered in givers)
    remedies = tuple(_free(givers, resource_class, asked)) if alone and not is_of_unit else ()
    ways = [f"free up {with_class(resource_class, int(r.number or 0))} on {givers[0].provider.name}" for r in remedies]
    ways.append(
        f"ask for at most {with_class(resource_class, total)} in all groups together"
        if asked > total
        else f"ask for smaller amounts of {resource_class} in each group"
    )
    return Obstacle(
        constraint=Constraint.MAX_UNIT if is_of_unit else Constraint.CAPACITY,
        words=f"all groups of this request together want {with_class(resource_class, asked)}; "
        f"{', '.join(offered.provider.name for offered in givers)} "
        f"can {'together ' if len(givers) > 1 else ''}give one request at most {total}"
        + ("" if asked > total else ", but cannot give each group its whole amount from one provider"),
        change=", or ".join(ways),
        provider_uuid=alone.uuid if alone else None,
        provider_name=alone.name if alone else None,
        resource_class=resource_class,
        wanted=asked,
        available=total,
        remedies=remedies,
    )


def _free(givers: list[OfferedProvider], resource_class: str, asked: int) -> Iterator[Remedy]:
    """Yield the remedy that frees, on the only possible provider, the capacity that the request lacks.

    Yield nothing if the provider would be too small even when empty, or if ``asked`` exceeds max_unit.
    """
    short = asked - _left(givers[0], resource_class)
    inventory = givers[0].provider.inventory(resource_class)
    if inventory and asked <= inventory.max_unit and 0 < short <= givers[0].used_of(resource_class):
        uuid = givers[0].provider.uuid
        yield Remedy(kind=RemedyKind.FREE, provider_uuid=uuid, resource_class=resource_class, number=short)


def _givers(slots: Iterable[Slot]) -> list[OfferedProvider]:
    return list({offered.provider.uuid: offered for slot in slots for offered in slot.domain}.values())


def _left(offered: OfferedProvider, resource_class: str) -> int:
    inventory = offered.provider.inventory(resource_class)
    return left(inventory, offered.used_of(resource_class)) if inventory else 0


def _traits(problem: Problem, tree: OfferedTree) -> Iterator[Obstacle]:
    """Yield the obstacles for required traits of the unnumbered group.

    The providers from which the group takes resources must together have all required traits. Traits of other
    providers do not count.
    """
    slots = [slot for slot in problem.slots if not slot.is_granular]
    givers = _givers(slots)
    forbidden = slots[0].group.forbidden
    nowhere = [choice for choice in problem.required if not any(choice & o.provider.traits for o in givers)]
    for choice in nowhere:
        yield trait_of_none(choice - forbidden, givers, "none of the providers that can serve the request", tree)
    if not nowhere:
        yield Obstacle(
            constraint=Constraint.REQUIRED_TRAIT,
            words="each required trait is on some provider, but every set of providers with the requested resources "
            "lacks a required trait",
            change=f"put all required traits on {givers[0].provider.name}",
        )


def _isolate(problem: Problem, _tree: OfferedTree) -> Iterator[Obstacle]:
    granular = [slot for slot in problem.slots if slot.is_granular]
    able = _givers(granular)
    yield Obstacle(
        constraint=Constraint.GROUP_POLICY,
        words=f"{len(granular)} groups need a provider each (group_policy=isolate); possible providers: {len(able)}",
        change="ask with group_policy=none, or for fewer groups",
        wanted=len(granular),
        available=len(able),
    )


def _same_subtree(problem: Problem, _tree: OfferedTree) -> Iterator[Obstacle]:
    for suffixes in problem.same_subtree:
        alone = replace(problem, rules=frozenset({Rule.SAME_SUBTREE}), same_subtree=(suffixes,))
        if len(problem.same_subtree) == 1 or search(alone) is not SearchResult.FITS:
            yield _not_one_subtree(suffixes)
            return
    yield _not_one_subtree(frozenset().union(*problem.same_subtree))


def _not_one_subtree(suffixes: frozenset[str]) -> Obstacle:
    names = ", ".join(sorted(suffixes))
    return Obstacle(
        constraint=Constraint.SAME_SUBTREE,
        words=f"no choice of providers for groups {names} satisfies same_subtree: one provider must have all the "
        "others in its subtree",
        change=f"ask for groups {names} without same_subtree",
    )


_OBSTACLES_OF: dict[Rule, Callable[[Problem, OfferedTree], Iterator[Obstacle]]] = {
    Rule.SUMS: _sums,
    Rule.TRAITS: _traits,
    Rule.ISOLATE: _isolate,
    Rule.SAME_SUBTREE: _same_subtree,
}
