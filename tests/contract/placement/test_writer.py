"""The writer against a real Placement: it converges, chains generations, and never overwrites an unseen change."""

import pytest

from agent.errors import (
    AuditCancelled,
    DuplicateName,
    GenerationConflict,
    InventoryInUse,
    PlacementDenied,
    PlacementRejected,
    PlacementUnavailable,
    ProviderInUse,
)
from agent.model.placement import Inventory
from agent.model.plan import (
    EMPTY_PLAN,
    Applied,
    CreateProvider,
    DeleteProvider,
    Plan,
    PutAggregates,
    PutInventories,
    PutTraits,
)
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from tests.rigs.faults import Answer, LoseAnswer, Meanwhile, Refuse, ScriptedAdapter, always, on_path, on_write
from tests.rigs.placement import client_of, looking_at, new_uuid

VCPU = Inventory(resource_class="VCPU", total=8, reserved=1, max_unit=8, allocation_ratio=4.0)
WIDGETS = Inventory(resource_class="CUSTOM_WIDGETS", total=3)


def never():
    return False


@pytest.fixture
def writer(client):
    return TreeWriter(client)


def scripted(rest, tmp_path, script):
    client = client_of(tmp_path, rest.server.url, ScriptedAdapter(script))
    client.maximum()
    return TreeWriter(client)


def creation(uuid, name=None, parent=None):
    return CreateProvider(provider_uuid=uuid, name=name or f"host-{uuid}", parent_uuid=parent)


def inventories(uuid, *values):
    return PutInventories(provider_uuid=uuid, inventories=values)


def test_a_planned_provider_tree_is_created_in_placement(rest, client, writer):
    """The agent's plan has two providers. Placement then shows the same inventories, traits and aggregates."""
    root, child, aggregate = new_uuid(), new_uuid(), new_uuid()
    plan = Plan(
        writes=(
            creation(root),
            creation(child, parent=root),
            inventories(root, VCPU, WIDGETS),
            PutTraits(provider_uuid=root, traits=("CUSTOM_OWNER_STOCKTAKE", "HW_CPU_X86_AVX")),
            PutAggregates(provider_uuid=root, aggregates=(aggregate,)),
            inventories(child, WIDGETS),
        )
    )
    applied = writer.apply(plan, never)
    assert applied.done == plan.writes
    view = TreeReader(client).view(looking_at(root))
    assert [(p.uuid, p.parent_uuid, p.name) for p in view.providers] == [
        (root, None, f"host-{root}"),
        (child, root, f"host-{child}"),
    ]
    assert view.root.inventories == (WIDGETS, VCPU)
    assert view.root.traits == {"CUSTOM_OWNER_STOCKTAKE", "HW_CPU_X86_AVX"}
    assert view.root.aggregates == {aggregate}
    assert view.provider(child).inventories == (WIDGETS,)


def test_a_plan_may_write_to_one_provider_twice(rest, writer):
    """The first write raises the provider's generation, and the agent's second write sends the new generation."""
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 1}})
    at = rest.generation(uuid)
    plan = Plan(
        writes=(inventories(uuid, VCPU), PutTraits(provider_uuid=uuid, traits=("HW_CPU_X86_AVX",))),
        generations=((uuid, at),),
    )
    writer.apply(plan, never)
    assert rest.generation(uuid) == at + 2
    assert rest.traits(uuid) == {"HW_CPU_X86_AVX"}
    assert rest.inventories(uuid)["VCPU"]["total"] == 8


def test_s146_custom_classes_and_traits_are_created_once(rest, client):
    """The agent gives two providers the same custom class and trait, and creates the class and the trait once."""
    suffix = new_uuid().replace("-", "").upper()
    trait, widget = f"CUSTOM_T{suffix}", Inventory(resource_class=f"CUSTOM_C{suffix}", total=1)
    writer = TreeWriter(client)
    with rest.watched() as seen:
        for uuid in (new_uuid(), new_uuid()):
            writes = (creation(uuid), inventories(uuid, widget, VCPU), PutTraits(provider_uuid=uuid, traits=(trait,)))
            writer.apply(Plan(writes=writes), never)
    assert [line for line in seen if suffix in line] == [
        f"PUT /resource_classes/CUSTOM_C{suffix} 201",
        f"PUT /traits/CUSTOM_T{suffix} 201",
    ]


def test_the_second_write_recreates_a_deleted_custom_trait(rest, client):
    """If another client deleted a custom trait, the agent's second write recreates the trait."""
    trait = f"CUSTOM_T{new_uuid().replace('-', '').upper()}"
    uuid = rest.make_provider()
    writer = TreeWriter(client)
    writer.apply(Plan(writes=(PutTraits(provider_uuid=uuid, traits=(trait,)),), generations=((uuid, 0),)), never)
    rest.set_traits(uuid)
    rest.done("DELETE", f"/traits/{trait}")
    again = Plan(writes=(PutTraits(provider_uuid=uuid, traits=(trait,)),), generations=((uuid, 2),))
    with pytest.raises(GenerationConflict, match="needs a custom class or trait that Placement does not know"):
        writer.apply(again, never)
    writer.apply(again, never)
    assert rest.traits(uuid) == {trait}


def traits(uuid, *names):
    return PutTraits(provider_uuid=uuid, traits=names)


def test_s147_traits_unknown_to_placement_are_left_out(rest, writer):
    """An older Placement lacks some standard traits.

    The agent writes the other traits and returns the unknown names.
    """
    root, child = new_uuid(), new_uuid()
    # Enough traits that the server's list of them does not fit into an error message.
    imagined = tuple(f"HW_CPU_IMAGINED_BY_NOBODY_BUT_THIS_TEST_{number:02}" for number in range(20))
    writes = (
        creation(root),
        traits(root, "CUSTOM_OWNER_STOCKTAKE", "HW_CPU_X86_AVX", *imagined),
        creation(child, parent=root),
        traits(child, "CUSTOM_OWNER_STOCKTAKE", imagined[0]),
    )
    with rest.watched() as seen:
        applied = writer.apply(Plan(writes=writes), never)
    assert rest.traits(root) == {"CUSTOM_OWNER_STOCKTAKE", "HW_CPU_X86_AVX"}
    assert rest.traits(child) == {"CUSTOM_OWNER_STOCKTAKE"}
    assert (applied.unknown_traits, applied.refused) == (frozenset(imagined), ())
    assert applied.done == (
        writes[0],
        traits(root, "CUSTOM_OWNER_STOCKTAKE", "HW_CPU_X86_AVX"),
        writes[2],
        traits(child, "CUSTOM_OWNER_STOCKTAKE"),
    )
    asked = [line for line in seen if "OWNER_STOCKTAKE" not in line]
    assert asked == [
        "POST /resource_providers 200",
        f"PUT /resource_providers/{root}/traits 400",
        "GET /traits 200",
        f"PUT /resource_providers/{root}/traits 200",
        "POST /resource_providers 200",
        f"PUT /resource_providers/{child}/traits 200",
    ]


def test_a_write_of_two_missing_traits_raises_a_conflict(rest, writer):
    """A write of a deleted custom trait and an unknown standard trait raises the error GenerationConflict."""
    trait = f"CUSTOM_T{new_uuid().replace('-', '').upper()}"
    uuid = rest.make_provider()
    writer.apply(Plan(writes=(traits(uuid, trait),), generations=((uuid, 0),)), never)
    rest.set_traits(uuid)
    rest.done("DELETE", f"/traits/{trait}")
    with pytest.raises(
        GenerationConflict, match="needs a custom class or trait that Placement does not know"
    ) as raised:
        writer.apply(Plan(writes=(traits(uuid, "HW_CPU_IMAGINED", trait),), generations=((uuid, 2),)), never)
    assert raised.value.applied.unknown_traits == {"HW_CPU_IMAGINED"}
    writer.apply(Plan(writes=(traits(uuid, trait),), generations=((uuid, 2),)), never)
    assert rest.traits(uuid) == {trait}


def test_s148_a_provider_is_cleared_with_three_requests(rest, writer):
    """The agent removes all inventories, traits and aggregates of a provider in Placement."""
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 1}})
    rest.set_traits(uuid, "HW_CPU_X86_AVX")
    rest.set_aggregates(uuid, new_uuid())
    writes = (
        inventories(uuid),
        PutTraits(provider_uuid=uuid, traits=()),
        PutAggregates(provider_uuid=uuid, aggregates=()),
    )
    with rest.watched() as seen:
        writer.apply(Plan(writes=writes, generations=((uuid, rest.generation(uuid)),)), never)
    assert (rest.inventories(uuid), rest.traits(uuid), rest.aggregates(uuid)) == ({}, set(), set())
    assert seen == [f"PUT /resource_providers/{uuid}/{part} 200" for part in ("inventories", "traits", "aggregates")]


def test_s159_deleting_a_missing_provider_counts_as_done(rest, writer):
    """The agent deletes three providers, and one is already gone. The result lists all three as done."""
    root = rest.make_provider()
    child = rest.make_provider(parent=root)
    gone = new_uuid()
    plan = Plan(writes=tuple(DeleteProvider(provider_uuid=uuid) for uuid in (child, gone, root)))
    assert writer.apply(plan, never).done == plan.writes
    assert rest.request("GET", f"/resource_providers/{root}").status_code == 404


def test_a_provider_with_children_or_allocations_is_not_deleted(rest, writer):
    """Placement refuses the deletion, and the agent still deletes the next provider of the plan."""
    root = rest.make_provider()
    child = rest.make_provider(parent=root)
    rest.set_inventories(child, {"VCPU": {"total": 1}})
    rest.allocate({child: {"VCPU": 1}})
    free = rest.make_provider()
    applied = writer.apply(
        Plan(writes=tuple(DeleteProvider(provider_uuid=uuid) for uuid in (root, child, free))), never
    )
    assert refusals(applied) == [
        (DeleteProvider(provider_uuid=root), ProviderInUse),
        (DeleteProvider(provider_uuid=child), ProviderInUse),
    ]
    assert applied.done == (DeleteProvider(provider_uuid=free),)


def refusals(applied):
    return [(refused.write, type(refused.error)) for refused in applied.refused]


TOO_MUCH = Inventory(resource_class="VCPU", total=2**31)


def test_a_duplicate_child_name_does_not_block_a_sibling(rest, writer):
    """Placement refuses a child provider with a duplicate name; the agent still creates the child's sibling."""
    root, child, grandchild, other = (new_uuid() for _ in range(4))
    rest.make_provider(name=f"host-{child}")
    writes = (
        creation(root),
        creation(child, parent=root),
        inventories(child, VCPU),
        traits(child, "HW_CPU_X86_AVX"),
        creation(grandchild, parent=child),
        inventories(grandchild, VCPU),
        creation(other, parent=root),
        inventories(other, VCPU),
    )
    with rest.watched() as seen:
        applied = writer.apply(Plan(writes=writes), never)
    assert refusals(applied) == [(writes[1], DuplicateName)]
    assert f"host-{child}" in applied.refused[0].error.message
    assert applied.refused[0].error.request_id.startswith("req-")
    assert applied.done == (writes[0], writes[6], writes[7])
    assert applied.requests == len(seen)
    assert rest.inventories(other)["VCPU"]["total"] == 8
    assert rest.request("GET", f"/resource_providers/{grandchild}").status_code == 404


def test_s143_a_refused_inventory_stops_dependent_writes(rest, writer):
    """Placement refuses a provider's inventory, so the agent writes no traits and creates no child for it."""
    root, there, made = rest.make_provider(), new_uuid(), new_uuid()
    rest.make_provider(uuid=there, parent=root)
    writes = (
        inventories(root, TOO_MUCH),
        traits(root, "HW_CPU_X86_AVX"),
        creation(made, parent=root),
        inventories(made, VCPU),
        inventories(there, VCPU),
        traits(there, "HW_CPU_X86_AVX"),
    )
    generations = tuple((uuid, rest.generation(uuid)) for uuid in (root, there))
    applied = writer.apply(Plan(writes=writes, generations=generations), never)
    assert refusals(applied) == [(writes[0], PlacementRejected)]
    assert applied.done == writes[4:]
    assert (rest.inventories(root), rest.traits(root)) == ({}, set())
    assert rest.request("GET", f"/resource_providers/{made}").status_code == 404


def test_a_child_is_created_although_parent_traits_are_refused(rest, writer):
    """Placement refuses the traits of a new provider, and the agent still creates the provider's child."""
    root, child = new_uuid(), new_uuid()
    writes = (creation(root), traits(root, "CUSTOM_not-a-name"), creation(child, parent=root))
    applied = writer.apply(Plan(writes=writes), never)
    assert refusals(applied) == [(writes[1], PlacementRejected)]
    assert applied.done == (writes[0], writes[2])


def test_a_generation_conflict_error_lists_refused_writes(rest, writer):
    """If a write meets a generation conflict, the error lists the earlier writes that Placement refused."""
    child, root = new_uuid(), rest.make_provider()
    rest.make_provider(name=f"host-{child}")
    rest.set_inventories(root, {"VCPU": {"total": 1}})
    writes = (creation(child, parent=root), inventories(root, VCPU))
    with pytest.raises(GenerationConflict) as raised:
        writer.apply(Plan(writes=writes, generations=((root, 0),)), never)
    assert refusals(raised.value.applied) == [(writes[0], DuplicateName)]


def test_no_write_is_sent_to_a_placement_below_1_30(rest, tmp_path):
    """The agent needs microversion 1.30, and raises an error without a write if Placement offers at most 1.29."""
    transport = ScriptedAdapter(always(Answer(200, b'{"versions":[{"id":"v1.0","max_version":"1.29"}]}')))
    writer = TreeWriter(client_of(tmp_path, rest.server.url, transport))
    with pytest.raises(PlacementRejected, match=r"needs 1\.30"):
        writer.apply(Plan(writes=(creation(new_uuid()), creation(new_uuid()))), never)
    assert len(transport.sent) == 1


def test_an_empty_plan_sends_no_request_to_placement(rest, writer):
    with rest.watched() as seen:
        assert writer.apply(EMPTY_PLAN, never) == Applied(done=(), requests=0)
    assert seen == []


def test_the_writer_returns_the_number_of_its_requests(rest, writer):
    """After the writes of a plan, the writer returns the number of requests that it sent to Placement."""
    uuid = new_uuid()
    with rest.watched() as seen:
        applied = writer.apply(Plan(writes=(creation(uuid), inventories(uuid, VCPU))), never)
    assert applied.requests == len(seen) == 2


def test_a_change_between_two_writes_raises_a_conflict(rest, tmp_path):
    """Another client changes the provider after the agent's first write, so the agent's second write fails."""
    uuid = rest.make_provider()
    foreign = Meanwhile(lambda: rest.set_traits(uuid, "HW_CPU_X86_SSE"))
    writer = scripted(rest, tmp_path, on_write(2, foreign))
    writes = (inventories(uuid, VCPU), PutTraits(provider_uuid=uuid, traits=("HW_CPU_X86_AVX",)))
    with pytest.raises(GenerationConflict) as raised:
        writer.apply(Plan(writes=writes, generations=((uuid, 0),)), never)
    assert raised.value.applied == Applied(done=writes[:1], requests=2)
    assert rest.traits(uuid) == {"HW_CPU_X86_SSE"}


def test_placement_refuses_a_plan_with_a_stale_generation(rest, writer):
    """If the provider has changed since the agent's read, Placement refuses the write of the agent's plan."""
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 1}})
    with pytest.raises(GenerationConflict) as raised:
        writer.apply(Plan(writes=(inventories(uuid, VCPU),), generations=((uuid, 0),)), never)
    assert raised.value.applied == Applied(done=(), requests=1)
    assert rest.inventories(uuid)["VCPU"]["total"] == 1


def test_a_provider_created_since_the_read_raises_a_conflict(rest, writer):
    """The agent wants to create a provider that another client created after the agent had read Placement."""
    uuid = rest.make_provider()
    for name in (f"host-{uuid}", f"other-{uuid}"):
        with pytest.raises(GenerationConflict, match="after the agent had read the tree"):
            writer.apply(Plan(writes=(creation(uuid, name),)), never)


def test_a_provider_with_a_taken_name_is_refused_as_duplicate(rest, writer):
    """The agent wants to create a provider, and another provider in Placement already has the same name."""
    other = rest.make_provider()
    write = creation(new_uuid(), f"host-{other}")
    applied = writer.apply(Plan(writes=(write,)), never)
    assert (refusals(applied), applied.done) == ([(write, DuplicateName)], ())


def test_a_write_to_a_deleted_provider_raises_a_conflict(rest, writer):
    """If another client has deleted a provider, the agent's write to the provider raises GenerationConflict."""
    uuid = rest.make_provider()
    rest.delete_provider(uuid)
    with pytest.raises(GenerationConflict, match="deleted"):
        writer.apply(Plan(writes=(inventories(uuid, VCPU),), generations=((uuid, 0),)), never)


def test_s142_a_resource_class_in_use_is_not_removed(rest, writer):
    """The agent removes VCPU from an inventory. Placement refuses, because an allocation uses VCPU."""
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 4}})
    rest.allocate({uuid: {"VCPU": 1}})
    writes = (PutTraits(provider_uuid=uuid, traits=("HW_CPU_X86_AVX",)), inventories(uuid))
    with rest.watched() as seen:
        applied = writer.apply(Plan(writes=writes, generations=((uuid, rest.generation(uuid)),)), never)
    assert refusals(applied) == [(writes[1], InventoryInUse)]
    assert [line for line in seen if "/inventories" in line] == [f"PUT /resource_providers/{uuid}/inventories 409"]
    assert applied.done == writes[:1]
    assert rest.inventories(uuid)["VCPU"]["total"] == 4


@pytest.mark.parametrize("fault", [LoseAnswer(), Refuse(), Answer(503), Answer(200, b"<html>")])
def test_a_write_without_a_valid_answer_is_not_repeated(rest, tmp_path, fault):
    """Placement answers 503 or HTML, or the connection breaks. The agent sends its PUT once and raises an error."""
    uuid = rest.make_provider()
    sent = []
    script = on_write(1, fault)
    writer = scripted(rest, tmp_path, lambda request: sent.append(request.method) or script(request))
    with pytest.raises(PlacementUnavailable) as raised:
        writer.apply(Plan(writes=(inventories(uuid, VCPU),), generations=((uuid, 0),)), never)
    assert sent.count("PUT") == 1
    assert raised.value.applied == Applied(done=(), requests=1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(401), PlacementDenied),
        (Answer(409, b'{"errors":[{"code":"placement.undefined_code"}]}'), GenerationConflict),
    ],
)
def test_the_status_of_a_failed_write_decides_its_error(rest, tmp_path, answer, kind):
    """The agent raises PlacementDenied after a 401 from Placement, and GenerationConflict after a 409."""
    uuid = rest.make_provider()
    writer = scripted(rest, tmp_path, on_path(1, "/inventories", answer))
    with pytest.raises(kind):
        writer.apply(Plan(writes=(inventories(uuid, VCPU),), generations=((uuid, 0),)), never)


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_no_further_write_follows_a_request_to_stop(rest, writer, cut):
    """The agent is told to stop before one of four planned writes, and sends none of the remaining writes."""
    uuid = new_uuid()
    writes = (
        creation(uuid),
        inventories(uuid, VCPU),
        PutTraits(provider_uuid=uuid, traits=("HW_CPU_X86_AVX",)),
        PutAggregates(provider_uuid=uuid, aggregates=(new_uuid(),)),
    )
    answers = iter([False] * cut + [True])
    with pytest.raises(AuditCancelled, match=f"after {cut} of 4") as raised:
        writer.apply(Plan(writes=writes), lambda: next(answers))
    assert raised.value.applied.done == writes[:cut]
    assert (rest.request("GET", f"/resource_providers/{uuid}").status_code == 200) is (cut > 0)
    assert bool(cut > 1 and rest.inventories(uuid)) is (cut > 1)


def test_reads_and_writes_share_a_global_request_id(rest, client, writer):
    """Placement's log shows one global request id for the agent's read of a provider and the writes after it."""
    uuid = new_uuid()
    before = len(rest.log())
    with client.global_request_id() as request_id:
        TreeReader(client).view(looking_at(uuid))
        writer.apply(Plan(writes=(creation(uuid), inventories(uuid, VCPU))), never)
    assert {line.split()[4] for line in rest.log()[before:]} == {request_id}
