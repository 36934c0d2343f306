"""Laws of the pure core: they hold for every world that hypothesis generates, not only for chosen examples."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.audit import decide as decide_module
from agent.audit.decide import Decision
from agent.books import ledger as ledger_module
from agent.books.occupancy import occupied
from agent.model.audit import WrittenProvider
from agent.model.books import DesiredProvider
from agent.model.claim import Cause, Ledger
from agent.model.host.capabilities import Capabilities
from agent.model.host.devices import Devices
from agent.model.nova import FINISHED_MIGRATION_STATUSES
from agent.model.placement import PlacementView, Provider
from agent.model.plan import CreateProvider, DeleteProvider, Plan, PutInventories, PutTraits, Write
from agent.model.snapshot import PLACEMENT, Snapshot
from agent.nested import BUILTIN as FAMILIES
from agent.nested.base import children
from agent.provider_tree import desired as desired_module
from agent.provider_tree.diff import diff
from agent.provider_tree.rival import remembered
from agent.resources import BUILTIN, OWNED_CLASSES, owned
from tests.rigs.facts import NODE, decided, wanted_root, without
from tests.unit.strategies import CHILD, World, lost_sources, states, trees, worlds


def apply(plan: Plan, before: PlacementView) -> PlacementView:
    """Return Placement after the plan: each write replaces one document and raises its provider's generation."""
    providers = {provider.uuid: provider for provider in before.providers}
    for write in plan.writes:
        if isinstance(write, DeleteProvider):
            assert not any(p.parent_uuid == write.provider_uuid for p in providers.values()), "it still has children"
            del providers[write.provider_uuid]
        else:
            providers[write.provider_uuid] = _written(write, providers.get(write.provider_uuid))
            parent = providers[write.provider_uuid].parent_uuid
            assert parent is None or parent in providers, "its parent does not exist"
    return dataclasses.replace(before, providers=tuple(providers.values()))


def _written(write: Write, standing: Provider | None) -> Provider:
    if isinstance(write, CreateProvider):
        assert standing is None, "it exists already"
        return Provider(uuid=write.provider_uuid, name=write.name, parent_uuid=write.parent_uuid, generation=0)
    assert standing is not None, "nothing can be put to a provider that does not exist"
    assert standing.generation is not None
    newer = dataclasses.replace(standing, generation=standing.generation + 1)
    if isinstance(write, PutInventories):
        return dataclasses.replace(newer, inventories=write.inventories)
    assert isinstance(write, PutTraits)
    return dataclasses.replace(newer, traits=frozenset(write.traits))


def decision_of(world: World, *lost: str) -> Decision:
    return decided(without(world.facts, *lost), world.chosen, world.written)


def seen(facts: Snapshot) -> PlacementView:
    assert facts.placement.value is not None
    return facts.placement.value


def after(world: World, decision: Decision) -> PlacementView:
    return apply(decision.plan, seen(world.facts))


# Law 1: a plan makes the tree as wanted and changes nothing else.


def is_as_wanted(wanted: DesiredProvider, before: PlacementView, then: PlacementView) -> None:
    old, new = before.provider(wanted.uuid), then.provider(wanted.uuid)
    assert new is not None
    decided_here = wanted.owned_classes - {f.name for f in wanted.frozen}
    used = {a.resource_class for a in before.allocations if a.provider_uuid == wanted.uuid}
    for name in {i.resource_class for i in (*(old.inventories if old else ()), *new.inventories, *wanted.inventories)}:
        standing = old.inventory(name) if old else None
        expected = wanted.inventory(name) if name in decided_here else standing
        if expected is None and name in used:
            expected = standing
        assert new.inventory(name) == expected
    assert new.traits >= wanted.traits_wanted
    assert not new.traits & wanted.traits_unwanted
    decided_traits = wanted.traits_wanted | wanted.traits_unwanted
    assert new.traits - decided_traits == (old.traits if old else frozenset()) - decided_traits
    assert new.aggregates == (old.aggregates if old else frozenset())
    assert (new.name, new.parent_uuid) == ((old or wanted).name, (old or wanted).parent_uuid)


@given(trees())
def test_law_1_the_planned_writes_produce_the_wanted_tree(drawn):
    """After the planned writes, Placement has every wanted provider, no obsolete one and unchanged allocations."""
    wanted, before = drawn
    then = apply(diff(wanted, before), before)
    for provider in wanted.providers:
        is_as_wanted(provider, before, then)
    assert {p.uuid for p in then.providers} == (
        {p.uuid for p in before.providers} | {p.uuid for p in wanted.providers}
    ) - set(wanted.obsolete)
    assert then.allocations == before.allocations


@given(worlds())
def test_law_1_an_audit_changes_only_what_the_agent_owns(world):
    """An audit changes only the agent's own providers and resource classes.

    Everything else in Placement stays as it was.
    """
    decision, before = decision_of(world), seen(world.facts)
    then = after(world, decision)
    root = wanted_root(decision)
    if decision.rival is not None or before.name_holder is not None:
        assert then == before
        return
    for provider in children_and_root(decision):
        is_as_wanted(provider, before, then)
    assert root.owned_classes >= OWNED_CLASSES
    ours = {p.uuid for p in children_and_root(decision)} | set(decision.tree.obsolete)
    assert {p for p in then.providers if p.uuid not in ours} == {p for p in before.providers if p.uuid not in ours}
    assert CHILD not in ours


def children_and_root(decision: Decision) -> tuple[DesiredProvider, ...]:
    assert decision.tree is not None
    return decision.tree.providers


@given(worlds())
def test_law_1_an_unused_obsolete_provider_is_deleted(world):
    """The agent deletes an obsolete provider without allocations.

    An obsolete provider with allocations stays unchanged.
    """
    decision, before = decision_of(world), seen(world.facts)
    then = after(world, decision)
    if decision.rival is not None or before.name_holder is not None:
        return
    used = {a.provider_uuid for a in before.allocations}
    for uuid in decision.tree.obsolete:
        assert (then.provider(uuid) is None) == (uuid not in used)
        if uuid in used:
            assert then.provider(uuid) == before.provider(uuid)
            assert uuid in {held.provider_uuid for held in decision.plan.held_back}


@given(worlds())
def test_law_1_child_providers_have_unique_names(world):
    """The agent gives each child provider a unique name."""
    wanted = children_and_root(decision_of(world))
    assert len({provider.name for provider in wanted}) == len(wanted)
    for provider in wanted[1:]:
        assert provider.parent_uuid == wanted[0].uuid
        assert provider.name == f"{NODE}_{provider.key.name}"
        assert "CUSTOM_OWNER_STOCKTAKE" in provider.traits_wanted
        assert provider.inventories, "a child without anything to offer is not made"


@given(worlds())
def test_law_1_a_class_on_the_root_gets_no_child_providers(world):
    """The agent plans no child providers for a resource class that is still on the root provider."""
    decision, before = decision_of(world), seen(world.facts)
    then = after(world, decision)
    if decision.rival is not None or before.name_holder is not None or then.root is None:
        return
    on_root = {i.resource_class for i in then.root.inventories}
    for family in FAMILIES:
        if family.root_classes & on_root and family.is_configured(world.chosen):
            assert not [p for p in children_and_root(decision) if p.key.kind == family.name]


# Law 2: the agent does not write again what is as wanted.


@given(trees())
def test_law_2_a_second_plan_writes_nothing(drawn):
    """After a plan was applied to Placement, a second plan for the same wanted tree contains no writes."""
    wanted, before = drawn
    then = apply(diff(wanted, before), before)
    assert diff(wanted, then).writes == ()


@given(worlds(), lost_sources)
def test_law_2_a_second_audit_of_unchanged_facts_writes_nothing(world, lost):
    """A second audit of unchanged facts makes no writes to Placement, even if a source could not be read."""
    first = decision_of(world, *lost - {PLACEMENT})
    again = dataclasses.replace(
        world,
        facts=dataclasses.replace(
            world.facts, placement=dataclasses.replace(world.facts.placement, value=after(world, first))
        ),
        written=remembered(first.written, wanted_root(first)) if first.plan.writes else None,
    )
    second = decision_of(again, *lost - {PLACEMENT})
    assert second.plan.writes == ()
    assert (second.rival is None) == (first.rival is None)
    assert second.written == again.written


# Law 3: unknown is not zero.


@given(worlds(), lost_sources)
def test_law_3_an_inventory_stays_if_its_source_is_unread(world, lost):
    """Root provider inventories that depend on a source stay unchanged if the agent could not read this source."""
    before, decision = seen(world.facts), decision_of(world, *lost)
    if PLACEMENT in lost:
        assert decision.plan.writes == ()
        return
    then = after(world, decision)
    for resource in BUILTIN:
        if resource.needs(world.chosen) & lost:
            names = {i.resource_class for look in (before, then) if look.root for i in look.root.inventories}
            for name in resource.classes | {name for name in names if resource.owns(name)}:
                assert _of_root(then, name) == _of_root(before, name)


@given(worlds(), lost_sources)
def test_law_3_child_providers_stay_if_a_source_is_unread(world, lost):
    """Child providers that depend on a source stay unchanged if the agent could not read this source."""
    before, decision = seen(world.facts), decision_of(world, *lost - {PLACEMENT})
    then = after(world, decision)
    if all(family.needs(world.chosen) & lost for family in FAMILIES):
        below = {p for p in before.providers if p.parent_uuid is not None}
        assert {p for p in then.providers if p.parent_uuid is not None} == below
    for family in FAMILIES:
        if family.needs(world.chosen) & lost and family.is_configured(world.chosen):
            assert not [p for p in children_and_root(decision) if p.key.kind == family.name]
            is_told = family.name in {frozen.name for frozen in decision.tree.frozen_families}
            assert is_told or not (family.is_asked_for(world.chosen) or children(before, NODE))


@given(worlds(), lost_sources)
def test_law_3_a_failed_read_causes_no_wrong_child_change(world, lost):
    """If a source cannot be read, an audit keeps each child provider or changes it as a complete audit would."""
    assume(decision_of(world).rival is None)
    before = seen(world.facts)
    blind = after(world, decision_of(world, *lost - {PLACEMENT}))
    whole = after(world, decision_of(world))
    for old in before.providers:
        now, would = blind.provider(old.uuid), whole.provider(old.uuid)
        if old.parent_uuid is not None:
            assert now in (old, would)


@given(worlds(), lost_sources)
def test_law_3_a_failed_read_does_not_reduce_root_inventories(world, lost):
    """The total and the reserved amount of a root inventory are never lowered just because a source was not read."""
    # Only the state source shows that a nova-compute is alive: without that source the inventory is published.
    assume(decision_of(world).rival is None)
    before = seen(world.facts)
    blind = after(world, decision_of(world, *lost - {PLACEMENT}))
    whole = after(world, decision_of(world))
    observed = {i.resource_class for i in before.root.inventories} if before.root else set()
    for name in OWNED_CLASSES | {name for name in observed if owned(name)}:
        was, now, would = (_of_root(look, name) for look in (before, blind, whole))
        if was is None:
            continue
        if now is None or now.total < was.total:
            assert (now and now.total) == (would and would.total), "with every reading the total would not be less"
        if now is not None and now.reserved < min(was.reserved, now.total):
            assert would is not None
            assert would.reserved <= now.reserved, "with every reading no less would be reserved"


def _of_root(look: PlacementView, resource_class: str):
    return look.root.inventory(resource_class) if look.root else None


# Law 4: the agent writes only what Placement accepts.


@given(worlds(), lost_sources)
def test_law_4_reserved_never_exceeds_the_total(world, lost):
    """In each inventory that the agent plans, the reserved amount is at most the total."""
    decision = decision_of(world, *lost)
    root = wanted_root(decision)
    puts = [i for w in decision.plan.writes if isinstance(w, PutInventories) for i in w.inventories]
    for inventory in (*root.inventories, *puts):
        assert type(inventory.total) is type(inventory.reserved) is int
        assert inventory.total > 0
        assert 0 <= inventory.reserved <= inventory.total
        assert inventory.allocation_ratio > 0
    for inventory in root.inventories:
        assert (inventory.min_unit, inventory.step_size, inventory.max_unit) == (1, 1, inventory.total)
        (terms,) = [t for t in root.reserves if t.resource_class == inventory.resource_class]
        assert sum(amount for _, amount in terms.terms) == inventory.reserved + terms.overflow
        assert all(amount > 0 for _, amount in terms.terms)


# Law 5: Placement can carry out the writes in their order.


@given(trees())
def test_law_5_parents_come_first_and_deletions_last(drawn):
    """A plan writes a parent provider before its children, and deletes providers after all other writes."""
    wanted, before = drawn
    plan = diff(wanted, before)
    apply(plan, before)  # asserts parents on creation, children on deletion
    touched = [write.provider_uuid for write in plan.writes]
    runs = [uuid for position, uuid in enumerate(touched) if position == 0 or touched[position - 1] != uuid]
    assert len(runs) == len(set(runs))
    deletes = [isinstance(write, DeleteProvider) for write in plan.writes]
    assert deletes == sorted(deletes)
    for write in plan.writes:
        if isinstance(write, PutInventories | PutTraits) and before.provider(write.provider_uuid):
            assert write.provider_uuid in dict(plan.generations)


# Law 6: the order of facts does not matter.


def shuffled(facts: Snapshot, seed: int) -> Snapshot:
    """Return the same facts with every tuple in another order."""
    dice = random.Random(seed)

    def mixed(value: object) -> object:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        parts = {n: tuple(dice.sample(part, len(part))) for n, part in fields.items() if isinstance(part, tuple)}
        inner = {n: mixed(part) for n, part in fields.items() if isinstance(part, Capabilities | Devices)}
        return dataclasses.replace(value, **parts, **inner)

    def read_again(reading):
        return dataclasses.replace(reading, value=mixed(reading.value))

    return Snapshot(
        placement=read_again(facts.placement),
        nova=read_again(facts.nova),
        host=read_again(facts.host),
        storage=tuple(dice.sample([read_again(r) for r in facts.storage], len(facts.storage))),
    )


def output(decision: Decision) -> tuple[object, ...]:
    return (decision.books, decision.rows, decision.tree, decision.plan, decision.findings, decision.rival)


@given(worlds(), st.integers(0, 2**32))
def test_law_6_the_order_of_facts_changes_no_decision(world, seed):
    """The agent plans the same writes and reports the same findings if it reads the same facts in another order."""
    other = dataclasses.replace(world, facts=shuffled(world.facts, seed))
    assert output(decision_of(other)) == output(decision_of(world))


@given(worlds())
def test_law_6_the_order_of_rules_changes_no_decision(world):
    """The agent plans the same writes and reports the same findings if its rules are registered in reverse order."""
    forward = output(decision_of(world))
    with pytest.MonkeyPatch.context() as order:
        order.setattr(desired_module, "RESOURCES", desired_module.RESOURCES[::-1])
        order.setattr(desired_module, "NESTED_FAMILIES", desired_module.NESTED_FAMILIES[::-1])
        order.setattr(desired_module, "TRAIT_FAMILIES", desired_module.TRAIT_FAMILIES[::-1])
        order.setattr(ledger_module, "BUILTIN", ledger_module.BUILTIN[::-1])
        order.setattr(decide_module, "RULES", decide_module.RULES[::-1])
        assert output(decision_of(world)) == forward


# Law 7: the books add up.


@given(worlds(), lost_sources)
def test_law_7_each_total_is_the_sum_of_its_amounts(world, lost):
    """For each source, such as nova or libvirt, a resource class's total is the sum of all consumers' amounts."""
    decision = decision_of(world, *lost)
    kept = decision.books
    for ledger, of_row in ((kept.promised, "promised"), (kept.held, "held"), (kept.recorded, "recorded")):
        for name in {claim.resource_class for claim in ledger.claims}:
            assert ledger.total(name) == sum(c.amount for c in ledger.claims if c.resource_class == name)
            assert ledger.total(name) == sum(
                getattr(row, of_row) or 0 for row in decision.rows if row.resource_class == name
            )
        assert sum(len(claims) for claims in ledger.by_consumer().values()) == len(ledger.claims)
        for claim in ledger.claims:
            assert claim.source.system in ("nova", "libvirt", "lvm", "placement")
            assert claim.source.kind
            assert claim.consumer.key
            assert claim.amount > 0
    assert set(kept.unmanaged.claims) <= set(kept.held.claims)


@given(worlds(), st.lists(st.integers(0, 3), max_size=40))
def test_law_7_merging_in_any_order_gives_the_same_total(world, cuts):
    """Merging lists of consumers' amounts in another order gives the same list and the same totals."""
    kept = decision_of(world).books
    claims = (*kept.promised.claims, *kept.held.claims, *kept.recorded.claims)
    piles: list[list] = [[], [], []]
    for position, claim in enumerate(claims):
        piles[cuts[position % len(cuts)] % 3 if cuts else 0].append(claim)
    a, b, c = (Ledger.of(pile) for pile in piles)

    def merged(one: Ledger, other: Ledger) -> Ledger:
        return Ledger.of((*one.claims, *other.claims))

    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), c) == merged(a, merged(b, c)) == Ledger.of(claims)
    assert merged(a, Ledger()) == a
    for name in OWNED_CLASSES:
        assert merged(a, b).total(name) == a.total(name) + b.total(name)


# Law 9: occupancy.


@given(states())
def test_law_9_a_resize_counts_each_flavor_at_most_once(state):
    """During a resize, the agent counts the old flavor, the new flavor or both, and each flavor at most once."""
    recorded = frozenset(m.uuid for m in state.migrations if m.uuid)
    for known in (frozenset(), recorded):
        taken: dict[str, list] = {}
        for one in occupied(state, NODE, known).occupancies:
            taken.setdefault(one.instance.uuid, []).append(one)
        for ones in taken.values():
            flavors = [one.flavor for one in ones]
            assert len(flavors) == len(set(flavors)) <= 2
            assert [one.cause for one in ones].count(Cause.INSTANCE) == (1 if len(ones) == 2 else 1 - _is_extra(ones))


def _is_extra(ones: list) -> int:
    """Return 1 if the only occupancy is a migration's, whose instance does not count here, else 0."""
    return int(ones[0].cause is not Cause.INSTANCE)


@given(states(), st.sampled_from(sorted(FINISHED_MIGRATION_STATUSES)))
def test_law_9_finished_migrations_occupy_no_resources(state, status):
    """The agent counts the same resources with a finished migration in nova's database as without this migration."""
    ended = dataclasses.replace(
        state, migrations=tuple(dataclasses.replace(m, status=status) for m in state.migrations)
    )
    after_all = occupied(ended, NODE, frozenset(m.uuid for m in state.migrations if m.uuid))
    assert after_all == occupied(dataclasses.replace(state, migrations=()), NODE, frozenset())
    for one in after_all.occupancies:
        assert (one.cause, one.flavor, one.moving) == (Cause.INSTANCE, one.instance.flavor, False)
        assert (one.consumer_uuid, one.consumer_kind) == (one.instance.uuid, "instance")
        assert (one.instance.host, one.instance.node) == (state.host, NODE)


@given(states())
def test_law_9_migrations_do_not_change_an_instances_usage(state):
    """The agent counts an instance on this host with the instance's flavor, with or without migrations."""

    def plain(found):
        return {(o.instance.uuid, o.flavor) for o in found.occupancies if o.cause is Cause.INSTANCE}

    assert plain(occupied(state, NODE, frozenset())) == plain(
        occupied(dataclasses.replace(state, migrations=()), NODE, frozenset())
    )


@given(worlds(), st.integers(0, 3))
def test_the_agent_stops_writing_an_overwritten_root_provider(world, strikes):
    """The agent writes nothing and reports `rival-writer` if a program repeatedly overwrites its root provider."""
    root = wanted_root(decision_of(world))
    struck = WrittenProvider(provider_uuid=root.uuid, inventories=root.inventories, strikes=strikes)
    decision = decision_of(dataclasses.replace(world, written=struck))
    if decision.rival is not None:
        assert decision.plan.writes == ()
        assert [f.code for f in decision.findings].count("rival-writer") == 1
    elif seen(world.facts).root is not None:
        assert strikes < 2
