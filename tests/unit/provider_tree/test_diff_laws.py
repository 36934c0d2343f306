"""Laws of the tree writer's plans: any wanted tree on any existing forest, carried out as Placement would.

``carried_out`` refuses what the real server refuses (tests/contract/placement/test_any_tree.py queries that server).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from agent.model.books import DesiredProvider, DesiredTree
from agent.model.placement import Allocation, DetachedTree, Inventory, PlacementView, Provider, ProviderKey
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    MoveProvider,
    Plan,
    PutAggregates,
    PutInventories,
    PutTraits,
    Write,
)
from agent.provider_tree.diff import diff
from tests.rigs.facts import inventory, uuid

ROOT = uuid("p0")
OWNED = ("VCPU", "DISK_GB", "CUSTOM_OURS")
FOREIGN = "CUSTOM_THEIRS"


@dataclass(frozen=True)
class World:
    """A wanted tree and the existing providers; ``reparents``: the server supports microversion 1.37."""

    wanted: DesiredTree
    providers: tuple[Provider, ...]
    allocations: tuple[Allocation, ...]
    reparents: bool

    @property
    def ours(self) -> frozenset[str]:
        return frozenset((*(p.uuid for p in self.wanted.providers), *self.wanted.obsolete))

    def view(self, providers: Iterable[Provider] | None = None) -> PlacementView:
        """Return the view as the readers do: the tree of the root, and the agent's providers outside that tree."""
        standing = {p.uuid: p for p in (self.providers if providers is None else providers)}
        trees: dict[str, list[Provider]] = {}
        for provider in standing.values():
            trees.setdefault(top(provider.uuid, standing), []).append(provider)
        mine = trees.get(top(ROOT, standing), []) if ROOT in standing else []
        shown = {p.uuid for p in mine}
        return PlacementView(
            root_uuid=ROOT,
            providers=tuple(mine),
            allocations=tuple(a for a in self.allocations if a.provider_uuid in shown),
            allocations_fresh=True,
            reparents=self.reparents,
            beside=tuple(
                self._beside(one, trees[top(one, standing)] if one in standing else [])
                for one in sorted(self.ours - shown)
            ),
        )

    def _beside(self, one: str, tree: list[Provider]) -> DetachedTree:
        shown = {p.uuid for p in tree}
        held = tuple(a for a in self.allocations if a.provider_uuid in shown)
        return DetachedTree(uuid=one, providers=tuple(tree), allocations=held)


def top(one: str, standing: Mapping[str, Provider]) -> str:
    while (parent := standing[one].parent_uuid) is not None:
        one = parent
    return one


def carried_out(plan: Plan, world: World) -> tuple[Provider, ...]:
    """Return the providers after the plan; raise AssertionError where Placement would answer 400, 404 or 409."""
    standing = {p.uuid: p for p in world.providers}
    generations = dict(plan.generations)
    for write in plan.writes:
        if isinstance(write, DeleteProvider):
            assert not any(p.parent_uuid == write.provider_uuid for p in standing.values()), "409: it has children"
            assert not any(a.provider_uuid == write.provider_uuid for a in world.allocations), "409: in use"
            del standing[write.provider_uuid]
        elif isinstance(write, CreateProvider):
            assert write.provider_uuid not in standing, "409: it exists"
            assert write.parent_uuid is None or write.parent_uuid in standing, "400: no such parent"
            standing[write.provider_uuid] = Provider(
                uuid=write.provider_uuid, name=write.name, parent_uuid=write.parent_uuid, generation=0
            )
            generations[write.provider_uuid] = 0
        elif isinstance(write, MoveProvider):
            standing[write.provider_uuid] = moved(write, standing, world)
        else:
            before = standing[write.provider_uuid]
            assert before.generation == generations[write.provider_uuid], "409: generation"
            generations[write.provider_uuid] += 1
            standing[write.provider_uuid] = put(write, before, world)
    return tuple(standing.values())


def moved(write: MoveProvider, standing: Mapping[str, Provider], world: World) -> Provider:
    before = standing[write.provider_uuid]
    assert write.name == before.name, "a move renames nothing"
    assert world.reparents or before.parent_uuid is None, "400: re-parenting"
    at = write.parent_uuid
    while at is not None:
        assert at in standing, "400: no such parent"
        assert at != write.provider_uuid, "400: a loop"
        at = standing[at].parent_uuid
    return dataclasses.replace(before, parent_uuid=write.parent_uuid)


def put(write: Write, before: Provider, world: World) -> Provider:
    newer = dataclasses.replace(before, generation=(before.generation or 0) + 1)
    match write:
        case PutInventories(inventories=inventories):
            kept = {i.resource_class for i in inventories}
            assert used(world, before.uuid) <= kept, "409: in use"
            return dataclasses.replace(newer, inventories=inventories)
        case PutTraits(traits=traits):
            return dataclasses.replace(newer, traits=frozenset(traits))
        case PutAggregates(aggregates=aggregates):
            return dataclasses.replace(newer, aggregates=frozenset(aggregates))
    raise AssertionError(write)


def used(world: World, one: str) -> frozenset[str]:
    return frozenset(a.resource_class for a in world.allocations if a.provider_uuid == one)


_subsets = {
    pool: st.sampled_from([tuple(x for n, x in enumerate(pool) if bits >> n & 1) for bits in range(1 << len(pool))])
    for pool in (OWNED, (*OWNED, FOREIGN), ("T_WANTED", "T_UNWANTED", "T_THEIRS"), ("a", "b", "c"))
}
_totals = st.sampled_from((1, 4))
_forests = st.lists(st.integers(-2, 20), min_size=16, max_size=16)


def _inventories(draw: st.DrawFn, classes: Iterable[str]) -> tuple[Inventory, ...]:
    return tuple(inventory(name, draw(_totals)) for name in sorted(classes))


def _wanted(draw: st.DrawFn, one: str, parent: str | None) -> DesiredProvider:
    aggregate = draw(st.booleans())
    return DesiredProvider(
        key=ProviderKey("any", one),
        uuid=one,
        name=f"name-{one}",
        parent_uuid=parent,
        inventories=_inventories(draw, draw(_subsets[OWNED])),
        owned_classes=frozenset(OWNED),
        traits_wanted=frozenset({"T_WANTED"}),
        traits_unwanted=frozenset({"T_UNWANTED"}),
        aggregates_wanted=frozenset({uuid("a")}) if aggregate else frozenset(),
        aggregates_unwanted=frozenset({uuid("b")}) if aggregate else frozenset({uuid("a"), uuid("b")}),
    )


def _standing(draw: st.DrawFn, one: str, parent: str | None) -> Provider:
    return Provider(
        uuid=one,
        name=f"name-{one}" if draw(_totals) == 1 else f"renamed-{one}",
        parent_uuid=parent,
        generation=draw(st.integers(0, 3)),
        inventories=_inventories(draw, draw(_subsets[*OWNED, FOREIGN])),
        traits=frozenset(draw(_subsets["T_WANTED", "T_UNWANTED", "T_THEIRS"])),
        aggregates=frozenset(uuid(name) for name in draw(_subsets["a", "b", "c"])),
    )


def _parent(number: int, before: list[str]) -> str | None:
    """Return one of the earlier providers, or None (a root) if the number is negative or there is none."""
    return before[number % len(before)] if before and number >= 0 else None


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw up to 12 of the agent's providers (new, existing, obsolete) and up to 4 of other owners, in any forest."""
    ours = [uuid(f"p{number}") for number in range(draw(st.integers(1, 12)))]
    fates = draw(st.lists(st.sampled_from(("new", "both", "both", "obsolete")), min_size=12, max_size=12))
    fate = dict(zip(ours, fates, strict=False)) | {ROOT: draw(st.sampled_from(("new", "both", "both", "both")))}
    theirs = [uuid(f"theirs-{number}") for number in range(draw(st.integers(0, 4)))]
    order = draw(st.permutations([*(one for one in ours if fate[one] != "new"), *theirs]))
    parents = draw(_forests)
    standing = [_standing(draw, one, _parent(parents[n], order[:n])) for n, one in enumerate(order)]
    kept = draw(st.permutations([one for one in ours[1:] if fate[one] != "obsolete"]))
    parents = draw(_forests)
    chain = [ROOT, *kept]
    wanted = [_wanted(draw, one, None if not n else _parent(parents[n], chain[:n])) for n, one in enumerate(chain)]
    held = tuple(
        Allocation(consumer_uuid=uuid("i"), consumer_generation=1, provider_uuid=p.uuid, resource_class=name, amount=1)
        for p in standing
        if draw(st.integers(0, 3)) == 0
        for name in [i.resource_class for i in p.inventories][:1]
    )
    gone = tuple(one for one in ours if fate[one] == "obsolete")
    shuffled = (wanted[0], *draw(st.permutations(wanted[1:])))
    return World(DesiredTree(providers=shuffled, obsolete=gone), tuple(standing), held, draw(st.booleans()))


def told(plan: Plan, one: str) -> frozenset[str]:
    return frozenset(held.what for held in plan.held_back if held.provider_uuid == one)


@given(worlds())
def test_a_plan_reaches_each_wanted_value_or_says_why(world):
    """For any tree of providers, the agent's plan gives Placement each wanted value or contains a reason why not."""
    plan = diff(world.wanted, world.view())
    then = {p.uuid: p for p in carried_out(plan, world)}
    before = {p.uuid: p for p in world.providers}
    for wanted in world.wanted.providers:
        if wanted.uuid not in then:
            assert "create" in told(plan, wanted.uuid)
            continue
        now, old = then[wanted.uuid], before.get(wanted.uuid)
        assert now.parent_uuid == wanted.parent_uuid or "new parent" in told(plan, wanted.uuid)
        for name in OWNED:
            kept = old.inventory(name) if old and name in used(world, wanted.uuid) else None
            assert now.inventory(name) == (wanted.inventory(name) or kept)
            assert (name in told(plan, wanted.uuid)) == (kept is not None and wanted.inventory(name) is None)
        assert now.traits >= wanted.traits_wanted
        assert not now.traits & wanted.traits_unwanted
        assert now.aggregates >= wanted.aggregates_wanted
        assert not now.aggregates & wanted.aggregates_unwanted
    for one in world.wanted.obsolete:
        assert (one in then) == ("delete" in told(plan, one))


@given(worlds())
def test_a_plan_changes_no_data_of_other_writers(world):
    """The agent's plan leaves the providers, inventories and traits of other writers in Placement unchanged."""
    then = {p.uuid: p for p in carried_out(diff(world.wanted, world.view()), world)}
    for old in world.providers:
        if old.uuid not in world.ours:
            assert then[old.uuid] == old
        elif old.uuid in then:
            now = then[old.uuid]
            assert now.name == old.name
            assert now.inventory(FOREIGN) == old.inventory(FOREIGN)
            assert now.traits & {"T_THEIRS"} == old.traits & {"T_THEIRS"}
            assert now.aggregates & {uuid("c")} == old.aggregates & {uuid("c")}
    assert then.keys() <= {p.uuid for p in world.providers} | {p.uuid for p in world.wanted.providers}


@given(worlds())
def test_a_plan_moves_any_provider_with_microversion_1_37(world):
    """With Placement's microversion 1.37 or later, the agent's plan moves each provider below its planned parent."""
    world = dataclasses.replace(world, reparents=True)
    plan = diff(world.wanted, world.view())
    assert not [held for held in plan.held_back if held.what in ("new parent", "create")]
    then = {p.uuid: p for p in carried_out(plan, world)}
    assert all(then[wanted.uuid].parent_uuid == wanted.parent_uuid for wanted in world.wanted.providers)


@given(worlds())
def test_a_plan_moves_only_root_providers_before_1_37(world):
    """Before Placement's microversion 1.37, the agent's plan moves only providers without a parent."""
    world = dataclasses.replace(world, reparents=False)
    plan = diff(world.wanted, world.view())
    standing = {p.uuid: p for p in world.providers}
    for held in plan.held_back:
        if held.what == "new parent":
            assert standing[held.provider_uuid].parent_uuid is not None or "is still below this provider" in held.why
            assert ("1.37" in held.why) == (standing[held.provider_uuid].parent_uuid is not None)
    for write in plan.writes:
        if isinstance(write, MoveProvider):
            assert standing[write.provider_uuid].parent_uuid is None


@given(worlds())
def test_a_finished_plan_is_followed_by_no_write(world):
    """Placement carries out the agent's plan for any tree of providers. The next plan then contains no writes."""
    then = carried_out(diff(world.wanted, world.view()), world)
    again = diff(world.wanted, dataclasses.replace(world, providers=then).view())
    assert (again.writes, again.generations) == ((), ())


@given(worlds())
def test_all_writes_to_one_provider_are_adjacent(world):
    """The agent's plan contains all writes to one provider directly after each other."""
    writes = diff(world.wanted, world.view()).writes
    deletes = [n for n, write in enumerate(writes) if isinstance(write, DeleteProvider)]
    assert deletes == list(range(len(writes) - len(deletes), len(writes)))
    owners = [write.provider_uuid for write in writes if not isinstance(write, DeleteProvider)]
    blocks = [one for n, one in enumerate(owners) if n == 0 or owners[n - 1] != one]
    assert len(blocks) == len(set(blocks))
    kinds = (CreateProvider | MoveProvider, PutInventories, PutTraits, PutAggregates)
    for one in blocks:
        own = [write for write in writes if write.provider_uuid == one]
        places = [next(n for n, kind in enumerate(kinds) if isinstance(write, kind)) for write in own]
        assert places == sorted(set(places))


@given(worlds())
def test_a_parent_provider_is_written_before_its_children(world):
    writes = diff(world.wanted, world.view()).writes
    first = {}
    for n, write in enumerate(writes):
        first.setdefault(write.provider_uuid, n)
    for wanted in world.wanted.providers:
        if wanted.uuid in first and wanted.parent_uuid in first:
            assert first[wanted.parent_uuid] < first[wanted.uuid]
