"""The reader against a real Placement: its view, and the number of its requests, counted in the access log."""

import pytest

from agent.errors import GenerationConflict, PlacementUnavailable
from agent.model.placement import Allocation, Inventory
from agent.placement.reader import TreeReader
from tests.rigs.faults import Answer, Meanwhile, ScriptedAdapter, always, on_path
from tests.rigs.placement import PROJECT, USER, client_of, looking_at, new_uuid

PARTS = ("inventories", "traits", "aggregates", "allocations")


@pytest.fixture
def reader(client):
    return TreeReader(client)


@pytest.fixture
def root(rest):
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 8, "allocation_ratio": 4.0}, "MEMORY_MB": {"total": 4096}})
    return uuid


def in_tree(root):
    return f"GET /resource_providers?in_tree={root} 200"


def whole(uuid):
    return [f"GET /resource_providers/{uuid}/{part} 200" for part in PARTS]


def scripted(rest, tmp_path, **options):
    """Return a reader and its transport, which passes every request on until a test sets ``script``."""
    transport = ScriptedAdapter(lambda _request: None)
    client = client_of(tmp_path, rest.server.url, transport, **options)
    client.maximum()
    return TreeReader(client), transport


def test_the_first_read_of_a_host_is_complete(rest, reader, root):
    """The agent reads the host's providers with their inventories, traits, aggregates, allocations and consumers."""
    rest.set_traits(root, "HW_CPU_X86_AVX", "CUSTOM_FAST")
    aggregate = new_uuid()
    rest.set_aggregates(root, aggregate)
    consumer = rest.allocate({root: {"VCPU": 2, "MEMORY_MB": 512}})
    with rest.watched() as seen:
        view = reader.view(looking_at(root))
    assert seen == [in_tree(root), *whole(root), f"GET /allocations/{consumer} 200"]
    assert view.requests == len(seen)
    assert view.allocations_fresh
    assert view.root.name == f"host-{root}"
    assert view.root.generation == rest.generation(root)
    assert view.root.traits == {"HW_CPU_X86_AVX", "CUSTOM_FAST"}
    assert view.root.aggregates == {aggregate}
    assert view.root.inventories == (
        Inventory(resource_class="MEMORY_MB", total=4096),
        Inventory(resource_class="VCPU", total=8, allocation_ratio=4.0),
    )
    assert [(a.consumer_uuid, a.resource_class, a.amount) for a in view.allocations] == [
        (consumer, "MEMORY_MB", 512),
        (consumer, "VCPU", 2),
    ]
    assert [(c.consumer_uuid, c.project_id, c.user_id) for c in view.consumers] == [(consumer, PROJECT, USER)]


def test_a_second_read_of_an_unchanged_tree_takes_one_request(rest, reader, root):
    """The list of providers in Placement shows that no generation changed, so the agent reads nothing else."""
    for _ in range(3):
        rest.allocate({root: {"VCPU": 1}})
    first = reader.view(looking_at(root))
    with rest.watched() as seen:
        second = reader.view(looking_at(root))
    assert seen == [in_tree(root)]
    assert second.requests == 1
    assert not second.allocations_fresh
    assert (second.providers, second.allocations, second.consumers) == (
        first.providers,
        first.allocations,
        first.consumers,
    )


def test_only_a_changed_provider_is_read_again(rest, reader, root):
    """A child provider in Placement has a new generation.

    The agent reads the child again, and not the other providers.
    """
    child = rest.make_provider(parent=root)
    consumer = rest.allocate({root: {"VCPU": 1}})
    reader.view(looking_at(root))
    rest.set_inventories(child, {"CUSTOM_X": {"total": 1}} if custom_class(rest, "CUSTOM_X") else {})
    with rest.watched() as seen:
        view = reader.view(looking_at(root))
    assert seen == [in_tree(root), *whole(child)]
    assert not view.allocations_fresh
    assert [a.consumer_uuid for a in view.allocations] == [consumer]
    assert view.provider(child).inventory("CUSTOM_X").total == 1


def custom_class(rest, name):
    return rest.request("PUT", f"/resource_classes/{name}").ok


def test_only_a_fresh_read_finds_a_removed_allocation(rest, reader, root):
    """A removed allocation does not change the provider's generation, so only a fresh read finds the removal."""
    consumer = rest.allocate({root: {"VCPU": 2}})
    reader.view(looking_at(root))
    before = rest.generation(root)
    rest.release(consumer)
    assert rest.generation(root) == before

    economical = reader.view(looking_at(root))
    assert not economical.allocations_fresh
    assert [a.consumer_uuid for a in economical.allocations] == [consumer]

    with rest.watched() as seen:
        fresh = reader.view(looking_at(root, fresh_allocations=True))
    assert seen == [in_tree(root), f"GET /resource_providers/{root}/allocations 200"]
    assert fresh.allocations_fresh
    assert (fresh.allocations, fresh.consumers) == ((), ())


def test_a_second_read_finds_a_new_allocation(rest, reader, root):
    """Someone adds an allocation in Placement after the first read.

    The agent finds the allocation in its second read.
    """
    reader.view(looking_at(root))
    consumer = rest.allocate({root: {"VCPU": 3}})
    view = reader.view(looking_at(root))
    assert view.allocations_fresh
    assert view.allocations == (
        Allocation(consumer_uuid=consumer, consumer_generation=1, provider_uuid=root, resource_class="VCPU", amount=3),
    )


def test_a_read_of_allocations_finds_that_all_are_removed(rest, reader, root):
    """The host had allocations on two providers. A read with fresh_allocations shows the agent that none is left."""
    child = offering_child(rest, root)
    consumers = [rest.allocate({uuid: {"VCPU": 1}}) for uuid in (root, child)]
    reader.view(looking_at(root))
    for consumer in consumers:
        rest.release(consumer)
    with rest.watched() as seen:
        view = reader.view(looking_at(root, fresh_allocations=True))
    assert sorted(seen) == sorted(
        [in_tree(root), *(f"GET /resource_providers/{uuid}/allocations 200" for uuid in (root, child))]
    )
    assert (view.allocations, view.allocations_fresh) == ((), True)


def offering_child(rest, root):
    child = rest.make_provider(parent=root)
    rest.set_inventories(child, {"VCPU": {"total": 8}})
    return child


def test_a_read_skips_providers_that_had_no_allocations(rest, reader, root):
    """Of 61 providers, one had allocations. In its next read, the agent reads the allocations of this provider only."""
    children = [rest.make_provider(parent=root) for _ in range(60)]
    consumer = rest.allocate({root: {"VCPU": 1}})
    reader.view(looking_at(root))
    with rest.watched() as seen:
        view = reader.view(looking_at(root, fresh_allocations=True))
    assert seen == [in_tree(root), f"GET /resource_providers/{root}/allocations 200"]
    assert view.allocations_fresh
    assert [a.consumer_uuid for a in view.allocations] == [consumer]
    assert len(view.providers) == 1 + len(children)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_first_allocation_on_a_child_provider_is_found(rest, reader, root, fresh):
    """An allocation raises the generation of the child, not of the root; the agent's next read still finds it."""
    child, other = offering_child(rest, root), offering_child(rest, root)
    consumer = rest.allocate({root: {"VCPU": 1}})
    reader.view(looking_at(root))
    at = rest.generation(child)
    # A consumer that the host already has takes more: no consumer is new, and the root's allocation does not change.
    rest.allocate({root: {"VCPU": 1}, child: {"VCPU": 2}}, consumer=consumer)
    assert rest.generation(child) > at
    view = reader.view(looking_at(root, fresh_allocations=fresh))
    assert {(a.provider_uuid, a.amount) for a in view.allocations} == {(root, 1), (child, 2)}
    assert other in {p.uuid for p in view.providers}


def test_a_host_without_allocations_is_reread_in_one_request(rest, reader, root):
    """The first read found no allocations of the host. The second sends Placement only one request."""
    reader.view(looking_at(root))
    view = reader.view(looking_at(root))
    assert (view.requests, view.allocations, view.allocations_fresh) == (1, (), True)


def test_the_reader_returns_parents_before_children(rest, reader, root):
    """The order of the host's providers follows the tree in Placement, and not their names."""
    child = rest.make_provider(name=f"a-{root}", parent=root)
    grandchild = rest.make_provider(name=f"A-{root}", parent=child)
    view = reader.view(looking_at(root))
    assert [(p.uuid, p.parent_uuid) for p in view.providers] == [(root, None), (child, root), (grandchild, child)]


def test_a_provider_rename_is_found(rest, reader, root):
    """A rename in Placement does not change the provider's generation; the agent still sees the new name."""
    reader.view(looking_at(root))
    rest.done("PUT", f"/resource_providers/{root}", {"name": f"new-{root}"})
    view = reader.view(looking_at(root))
    assert view.root.name == f"new-{root}"
    assert view.requests == 1


def test_the_reader_leaves_out_a_host_with_the_same_parent(rest, reader):
    """Two hosts have the same parent provider in Placement. The agent keeps only the providers of its own host."""
    rack = rest.make_provider()
    root, neighbour = rest.make_provider(parent=rack), rest.make_provider(parent=rack)
    child = rest.make_provider(parent=rest.make_provider(parent=root))
    for provider in (rack, root, neighbour, child):
        rest.set_inventories(provider, {"VCPU": {"total": 8}})
    ours = rest.allocate({child: {"VCPU": 1}})
    for provider in (rack, neighbour):
        rest.allocate({provider: {"VCPU": 1}})
    with rest.watched() as seen:
        view = reader.view(looking_at(root))
    assert {p.uuid for p in view.providers} == {root, child, view.provider(child).parent_uuid}
    assert view.root.parent_uuid == rack
    assert view.consumer_uuids == {ours}
    assert not [line for line in seen if neighbour in line or f"/{rack}/" in line]


def test_a_consumer_is_read_with_its_allocations_elsewhere(rest, reader, root):
    """An instance has allocations on this host and on another provider; the agent reads all of them."""
    elsewhere = rest.make_provider()
    rest.set_inventories(elsewhere, {"VCPU": {"total": 8}})
    consumer = rest.allocate({root: {"VCPU": 1}, elsewhere: {"VCPU": 4}})
    (record,) = reader.view(looking_at(root)).consumers
    assert {(a.provider_uuid, a.amount) for a in record.allocations} == {(root, 1), (elsewhere, 4)}
    assert record.consumer_uuid == consumer


def test_consumers_that_looked_wrong_are_read_first(rest, reader, root):
    """If the agent may not read all consumers, it first reads those that looked wrong in the last audit."""
    consumers = sorted(rest.allocate({root: {"VCPU": 1}}) for _ in range(5))
    suspect = consumers[-1]
    gone = new_uuid()
    first = reader.view(looking_at(root, consumer_reads=2, suspects=(gone, suspect)))
    assert {c.consumer_uuid for c in first.consumers} == {suspect, consumers[0]}
    with rest.watched() as seen:
        second = reader.view(looking_at(root, consumer_reads=2, suspects=(suspect,)))
    assert seen == [in_tree(root), *(f"GET /allocations/{uuid} 200" for uuid in consumers[1:3])]
    assert len(second.consumers) == 4
    reader.view(looking_at(root, consumer_reads=2))
    assert reader.view(looking_at(root, consumer_reads=2)).requests == 1


def test_the_agent_rereads_only_a_consumer_that_changed(rest, reader, root):
    """Two consumers have allocations on the host, and one allocation changes in Placement.

    In the next read, the agent requests the allocations of the changed consumer only.
    """
    changed, same = (rest.allocate({root: {"VCPU": 1}}) for _ in range(2))
    reader.view(looking_at(root))
    rest.allocate({root: {"VCPU": 2}}, consumer=changed)
    with rest.watched() as seen:
        view = reader.view(looking_at(root))
    assert seen == [in_tree(root), *whole(root), f"GET /allocations/{changed} 200"]
    amounts = {c.consumer_uuid: c.allocations[0].amount for c in view.consumers}
    assert amounts == {changed: 2, same: 1}


def test_the_agent_searches_a_missing_provider_by_name(rest, reader):
    """Placement has no provider with the host's uuid. The agent then searches for a provider with the host's name."""
    uuid = new_uuid()
    other = rest.make_provider(name=f"host-{uuid}")
    with rest.watched() as seen:
        view = reader.view(looking_at(uuid))
    assert seen == [f"GET /resource_providers?in_tree={uuid} 200", f"GET /resource_providers?name=host-{uuid} 200"]
    assert (view.providers, view.allocations, view.allocations_fresh) == ((), (), True)
    assert view.name_holder.uuid == other


def test_the_reader_does_not_search_for_an_empty_name(rest, reader):
    """The agent does not search Placement by name if it does not know the host's name."""
    uuid = new_uuid()
    view = reader.view(looking_at(uuid, root_name=""))
    assert (view.requests, view.name_holder) == (1, None)


def test_the_reader_finds_a_name_with_special_characters(rest, reader):
    """A provider's name contains a space, & and #. The agent still finds the provider in Placement by its name."""
    uuid = new_uuid()
    name = f"odd &name=#{uuid} ü"
    other = rest.make_provider(name=name)
    assert reader.view(looking_at(uuid, root_name=name)).name_holder.uuid == other


def test_a_recreated_provider_has_no_old_inventories(rest, reader, root):
    """A provider is deleted and created again with the same uuid. The agent does not keep its old inventories."""
    reader.view(looking_at(root))
    rest.delete_provider(root)
    assert reader.view(looking_at(root, root_name="")).root is None
    rest.make_provider(uuid=root)
    assert reader.view(looking_at(root)).root.inventories == ()


def test_the_whole_tree_is_read_after_the_cache_was_cleared(rest, reader, root):
    """After the cache was cleared, the agent reads the whole provider tree of the host from Placement."""
    reader.view(looking_at(root))
    reader.forget()
    with rest.watched() as seen:
        view = reader.view(looking_at(root))
    assert seen == ["GET / 200", in_tree(root), *whole(root)]
    assert view.allocations_fresh


def test_a_provider_that_changes_during_the_read_is_read_again(rest, tmp_path, root):
    reader, transport = scripted(rest, tmp_path)
    transport.script = on_path(1, "/aggregates", Meanwhile(lambda: rest.set_traits(root, "HW_CPU_X86_AVX")))
    with rest.watched() as seen:
        view = reader.view(looking_at(root))
    assert view.root.generation == rest.generation(root)
    assert view.root.traits == {"HW_CPU_X86_AVX"}
    assert seen == [in_tree(root), *whole(root), *whole(root)[:2]]
    assert reader.view(looking_at(root)).requests == 1


def test_a_read_during_changes_returns_an_old_generation(rest, tmp_path, root):
    """Another client changes a provider while the agent reads it.

    Placement will refuse a write with the old generation.
    """
    reader, transport = scripted(rest, tmp_path)
    before = rest.generation(root)
    change = Meanwhile(lambda: rest.set_inventories(root, {"VCPU": {"total": 9}}))
    transport.script = lambda request: change if f"/{root}/" in str(request.url) else None
    view = reader.view(looking_at(root))
    # The view's parts are not of one moment; therefore a write that uses this generation must conflict.
    assert before <= view.root.generation < rest.generation(root)
    transport.script = lambda _request: None
    settled = reader.view(looking_at(root))
    assert settled.root.generation == rest.generation(root)
    assert settled.root.inventory("VCPU").total == 9


def test_a_trait_added_during_a_read_of_allocations_is_found(rest, tmp_path, root):
    reader, transport = scripted(rest, tmp_path)
    rest.allocate({root: {"VCPU": 1}})
    reader.view(looking_at(root))
    transport.script = on_path(1, "/allocations", Meanwhile(lambda: rest.set_traits(root, "HW_CPU_X86_AVX")))
    view = reader.view(looking_at(root, fresh_allocations=True))
    assert view.root.traits == {"HW_CPU_X86_AVX"}
    assert view.root.generation == rest.generation(root)
    assert view.allocations_fresh


def test_the_reader_tolerates_a_provider_deleted_meanwhile(rest, tmp_path, root):
    """Another client deletes a child provider while the agent reads the tree.

    The agent then returns the tree without the child.
    """
    child = rest.make_provider(parent=root)
    reader, transport = scripted(rest, tmp_path)
    transport.script = on_path(1, f"/{child}/traits", Meanwhile(lambda: rest.delete_provider(child)))
    view = reader.view(looking_at(root))
    assert [p.uuid for p in view.providers] == [root]


def test_a_read_fails_if_providers_vanish_in_every_attempt(rest, tmp_path, root):
    """Placement lists a provider, and then answers 404 to each request for the provider's traits."""
    reader, transport = scripted(rest, tmp_path)
    gone = Answer(404, b'{"errors":[{"detail":"No resource provider"}]}')
    transport.script = lambda request: gone if "/traits" in str(request.url) else None
    with pytest.raises(GenerationConflict, match="were deleted while"):
        reader.view(looking_at(root))


def test_a_failed_read_does_not_hide_a_trait_change(rest, tmp_path, root):
    """A trait was added, and the agent's read of the traits failed. The next read finds the trait."""
    reader, transport = scripted(rest, tmp_path, connect_retry_delay=0.01, status_code_retry_delay=0.01)
    first = reader.view(looking_at(root))
    rest.set_traits(root, "HW_CPU_X86_AVX")
    transport.script = lambda request: Answer(503) if "/traits" in str(request.url) else None
    with pytest.raises(PlacementUnavailable):
        reader.view(looking_at(root))
    transport.script = lambda _request: None
    view = reader.view(looking_at(root))
    assert (first.root.traits, view.root.traits) == (frozenset(), {"HW_CPU_X86_AVX"})


@pytest.mark.parametrize(
    "body",
    [
        b'{"resource_providers": [{"uuid": "x", "name": "y", "generation": 1}]}',
        b'{"resource_providers": [{"uuid": "x"}]}',
        b'{"resource_providers": null}',
        b"null",
    ],
)
def test_a_malformed_provider_list_raises_an_error(rest, tmp_path, root, body):
    """If Placement's list of providers has the wrong form, the agent reports that the answer is not understood."""
    reader, transport = scripted(rest, tmp_path)
    transport.script = always(Answer(200, body))
    with pytest.raises(PlacementUnavailable, match="not understood"):
        reader.view(looking_at(root))


def test_all_requests_of_one_read_have_the_same_request_id(rest, reader, root):
    """All requests of one read carry one global request id, so that an operator finds them in Placement's log."""
    before = len(rest.log())
    reader.view(looking_at(root))
    ids = {line.split()[4] for line in rest.log()[before:]}
    assert len(ids) == 1
    assert ids.pop().startswith("req-")


def test_allocations_named_by_a_finding_are_read_again(rest, reader, root):
    """A finding names a consumer. If the host's provider changes, the agent reads this consumer's allocations again."""
    told = tuple(sorted(rest.allocate({root: {"VCPU": 1}}) for _ in range(5)))
    asked = looking_at(root, fresh_allocations=True, consumer_reads=3, reported=told)
    for _ in range(3):
        reader.view(asked)
    assert reader.view(asked).requests == 2
    last = told[-1]
    rest.release(last)
    rest.allocate({root: {"VCPU": 1, "MEMORY_MB": 1}}, last)
    assert reader.view(asked).requests == 1 + len(PARTS) + 3
    view = reader.view(asked)
    assert view.requests == 2 + 2
    (record,) = [record for record in view.consumers if record.consumer_uuid == last]
    assert len(record.allocations) == 2
    assert reader.view(asked).requests == 2
