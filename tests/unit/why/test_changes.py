"""Every change that ``why`` advises works: applied to the world or the request, it lifts its obstacle."""

import dataclasses
import random
import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from agent.model.placement import Provider
from agent.model.resource_request import OfferedProviders, ResourceRequest
from agent.why.answer import why
from agent.why.caveats import single
from agent.why.model import Constraint, Obstacle, Remedy, RemedyKind, TreeAnswer
from tests.rigs.random_requests import random_request, random_world


def changed(remedy: Remedy, suffix: str, request: ResourceRequest, world: OfferedProviders):
    """Return the request and the world after the change."""
    if remedy.kind is RemedyKind.ASK:
        groups = tuple(
            dataclasses.replace(
                group,
                resources=tuple((n, remedy.number if n == remedy.resource_class else a) for n, a in group.resources),
            )
            if group.suffix == suffix
            else group
            for group in request.groups
        )
        return dataclasses.replace(request, groups=groups), world
    providers = tuple(
        _altered(offered, remedy) if offered.provider.uuid == remedy.provider_uuid else offered
        for offered in world.providers
    )
    return request, dataclasses.replace(world, providers=providers)


def _altered(offered, remedy: Remedy):
    if remedy.kind is RemedyKind.FREE:
        used = tuple((name, n - remedy.number if name == remedy.resource_class else n) for name, n in offered.used)
        assert all(amount >= 0 for _, amount in used), "more is to be freed than is taken"
        return dataclasses.replace(offered, used=used)
    return dataclasses.replace(offered, provider=_provider(offered.provider, remedy))


def _provider(provider: Provider, remedy: Remedy) -> Provider:
    if remedy.kind in (RemedyKind.RATIO, RemedyKind.RESERVED):
        field = {RemedyKind.RATIO: "allocation_ratio", RemedyKind.RESERVED: "reserved"}[remedy.kind]
        inventories = tuple(
            dataclasses.replace(i, **{field: remedy.number}) if i.resource_class == remedy.resource_class else i
            for i in provider.inventories
        )
        return dataclasses.replace(provider, inventories=inventories)
    named = frozenset({remedy.name})
    return {
        RemedyKind.ADD_TRAIT: dataclasses.replace(provider, traits=provider.traits | named),
        RemedyKind.REMOVE_TRAIT: dataclasses.replace(provider, traits=provider.traits - named),
        RemedyKind.ADD_AGGREGATE: dataclasses.replace(provider, aggregates=provider.aggregates | named),
        RemedyKind.REMOVE_AGGREGATE: dataclasses.replace(provider, aggregates=provider.aggregates - named),
    }[remedy.kind]


def is_lifted(obstacle: Obstacle, remedy: Remedy, after: TreeAnswer) -> bool:
    """Return whether the same constraint no longer refuses the same class on the same provider."""
    return not any(
        _what(o) == _what(obstacle) and (remedy.name is None or remedy.name in {r.name for r in o.remedies})
        for o in after.obstacles
    )


def _what(obstacle: Obstacle) -> tuple:
    """The sum over all groups is another obstacle than the amount of one group."""
    is_sum = obstacle.words.startswith("all groups of this request together")
    return obstacle.constraint, obstacle.suffix, obstacle.provider_uuid, obstacle.resource_class, is_sum


def answers(seed: int):
    """Yield the trees' answers to some random requests, with request and world."""
    rng = random.Random(seed)
    world = random_world(rng)
    for root in [offered.root_uuid for offered in world.providers if offered.provider.parent_uuid is None]:
        for _ in range(3):
            request = random_request(rng, world, root)
            for tree in why(request, world).trees:
                yield tree, request, world


def refusals(seed: int):
    """Yield the obstacles of these answers, with request, world and root."""
    for tree, request, world in answers(seed):
        for obstacle in tree.obstacles:
            yield obstacle, request, world, tree.root_uuid


def answer_of(request: ResourceRequest, world: OfferedProviders, root: str) -> TreeAnswer:
    return next(tree for tree in why(request, world).trees if tree.root_uuid == root)


@given(st.integers(0, 2**32))
def test_every_advised_change_removes_an_obstacle(seed):
    """Every change that `stocktake why` advises removes an obstacle to the request, such as a missing trait."""
    for obstacle, request, world, root in refusals(seed):
        for remedy in obstacle.remedies:
            after = answer_of(*changed(remedy, obstacle.suffix, request, world), root)
            assert is_lifted(obstacle, remedy, after), (obstacle, remedy, after.obstacles)


_OF_INVENTORY = (Constraint.MIN_UNIT, Constraint.MAX_UNIT, Constraint.STEP_SIZE, Constraint.CAPACITY)


@given(st.integers(0, 2**32))
def test_a_request_fits_an_inventory_after_the_advised_change(seed):
    """`stocktake why` advises a change for an inventory; after the change, the request fits the inventory."""
    for obstacle, request, world, root in refusals(seed):
        for remedy in obstacle.remedies if obstacle.constraint in _OF_INVENTORY else ():
            after = answer_of(*changed(remedy, obstacle.suffix, request, world), root)
            still = [
                o for o in after.obstacles if o.constraint in _OF_INVENTORY and _what(o)[1:] == _what(obstacle)[1:]
            ]
            assert not still, (obstacle, remedy, still)


# The added trait may be the missing one; with an aggregate, other providers begin or cease to share with the tree.
_BRING_OTHERS = (RemedyKind.ADD_TRAIT, RemedyKind.ADD_AGGREGATE, RemedyKind.REMOVE_AGGREGATE)


@given(st.integers(0, 2**32))
def test_freed_capacity_does_not_help_if_a_trait_is_missing(seed):
    """A request that needs a missing trait stays refused if the operator only frees capacity."""
    for tree, request, world in answers(seed):
        missing = _traits_of_unnumbered(tree)
        remedies = [(o, remedy) for o in tree.obstacles if missing for remedy in o.remedies]
        for obstacle, remedy in ((o, remedy) for o, remedy in remedies if remedy.kind not in _BRING_OTHERS):
            after = answer_of(*changed(remedy, obstacle.suffix, request, world), tree.root_uuid)
            assert _traits_of_unnumbered(after) >= missing, (obstacle, remedy, after.obstacles)


def _traits_of_unnumbered(tree: TreeAnswer) -> set[frozenset[str | None]]:
    told = [o for o in tree.obstacles if o.constraint is Constraint.REQUIRED_TRAIT and not o.suffix]
    return {frozenset(remedy.name for remedy in obstacle.remedies) for obstacle in told}


def _loses_by_single(remedy: Remedy, world: OfferedProviders) -> bool:
    provider = next(o.provider for o in world.providers if o.provider.uuid == remedy.provider_uuid)
    ratio = provider.inventory(remedy.resource_class).allocation_ratio
    return single(ratio) < ratio


@given(st.integers(0, 2**32))
def test_the_advised_change_is_the_smallest_sufficient_change(seed):
    """A refused request stays refused if the operator frees one unit less than `stocktake why` advises."""
    for obstacle, request, world, root in refusals(seed):
        for remedy in obstacle.remedies:
            # Remedies must suffice in single precision too (MySQL); for a ratio that loses there, none is minimal.
            less = {RemedyKind.FREE: -1, RemedyKind.RESERVED: 1, RemedyKind.RATIO: -0.0002}.get(remedy.kind)
            if less is None or (remedy.kind is RemedyKind.RESERVED and _loses_by_single(remedy, world)):
                continue
            weaker = dataclasses.replace(remedy, number=remedy.number + less)
            after = answer_of(*changed(weaker, obstacle.suffix, request, world), root)
            assert not is_lifted(obstacle, weaker, after), (obstacle, weaker)


def with_in_tree(request: ResourceRequest, suffix: str, uuid: str | None) -> ResourceRequest:
    """Return the request with another tree for the group, or with no tree."""
    groups = (dataclasses.replace(g, in_tree=uuid) if g.suffix == suffix else g for g in request.groups)
    return dataclasses.replace(request, groups=tuple(groups))


def test_an_advised_change_of_in_tree_removes_the_reason():
    """If a request is refused because of in_tree, the advised change of in_tree removes this reason."""
    tried = Counter()
    for seed in range(150):
        for obstacle, request, world, root in refusals(seed):
            if obstacle.constraint is not Constraint.IN_TREE:
                continue
            asked_for = next(group.in_tree for group in request.groups if group.suffix == obstacle.suffix)
            root_of = {offered.provider.uuid: offered.root_uuid for offered in world.providers}
            is_outside = root_of.get(asked_for) != root_of[obstacle.provider_uuid]
            assert (
                is_outside == (" is not in that tree" in obstacle.words)
                or " is a sharing provider of " in obstacle.words
            )
            advised = re.search(r"with in_tree=(\S+)", obstacle.change)
            for uuid in (None, *([advised[1]] if advised else [])):
                after = answer_of(with_in_tree(request, obstacle.suffix, uuid), world, root)
                assert not any(_what(o) == _what(obstacle) for o in after.obstacles), (seed, obstacle)
            tried[" is a sharing provider of " in obstacle.words, root_of[obstacle.provider_uuid] == root] += 1
    assert set(tried) == {(False, True), (False, False), (True, False)}, tried


@given(st.integers(0, 2**32))
def test_why_lists_each_reason_once_in_a_fixed_order(seed):
    """`stocktake why` lists each reason of a refusal once. The reasons are sorted by kind."""
    order = list(Constraint)
    rng = random.Random(seed)
    world = random_world(rng)
    request = random_request(rng, world, world.providers[0].root_uuid)
    for tree in why(request, world).trees:
        told = [order.index(obstacle.constraint) for obstacle in tree.obstacles]
        assert told == sorted(told)
        assert len(set(tree.obstacles)) == len(tree.obstacles)


def test_random_requests_produce_every_kind_of_advice():
    """The random requests of these tests make `stocktake why` give every kind of advice at least once."""
    kinds = Counter(
        remedy.kind for seed in range(150) for obstacle, *_ in refusals(seed) for remedy in obstacle.remedies
    )
    assert set(kinds) == set(RemedyKind), kinds
