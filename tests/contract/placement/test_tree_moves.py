"""One round turns a real Placement's tree into the wanted tree: new providers, moves, sharing roots, other trees."""

import dataclasses

import pytest

from agent.errors import DuplicateName, GenerationConflict, PlacementRejected, ProviderElsewhere
from agent.model.books import DesiredProvider, DesiredTree
from agent.model.placement import Inventory, ProviderKey
from agent.model.plan import CreateProvider, MoveProvider, Plan, PutAggregates, PutInventories
from agent.placement.detached_trees import BesideReader
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from agent.provider_tree.diff import diff
from tests.rigs.faults import Answer, Meanwhile, ScriptedAdapter, on_match
from tests.rigs.placement import client_of, looking_at, new_uuid

VCPU = Inventory(resource_class="VCPU", total=8)
DISK = Inventory(resource_class="DISK_GB", total=100)
OURS = "CUSTOM_OWNER_STOCKTAKE"


def never():
    return False


def wanted(uuid, parent=None, *inventories, **changes):
    plain = DesiredProvider(
        key=ProviderKey("any", uuid),
        uuid=uuid,
        name=f"host-{uuid}",
        parent_uuid=parent,
        inventories=inventories,
        owned_classes=frozenset({"VCPU", "DISK_GB"}),
        traits_wanted=frozenset({OURS}),
    )
    return dataclasses.replace(plain, **changes)


def scripted(rest, tmp_path, script):
    client = client_of(tmp_path, rest.server.url, ScriptedAdapter(script))
    client.maximum()
    return client


def older(request):
    """Let the server report 1.36 as its newest microversion."""
    is_root = "/resource_providers" not in request.url and "/traits" not in request.url
    return Answer(200, b'{"versions":[{"id":"v1.0","max_version":"1.36"}]}') if is_root else None


def look(client, tree):
    uuids = (*(provider.uuid for provider in tree.providers), *tree.obsolete)
    request = looking_at(tree.root.uuid, fresh_allocations=True)
    return BesideReader(client).read(TreeReader(client).view(request), uuids)


def brought_about(client, tree):
    """Run one round with a client that reads nothing twice; return the plan and what was applied."""
    plan = diff(tree, look(client, tree))
    return plan, TreeWriter(client).apply(plan, never)


def parent_of(rest, uuid):
    return rest.done("GET", f"/resource_providers/{uuid}")["parent_provider_uuid"]


def test_s137_a_new_root_provider_is_filled_without_a_read(rest, client):
    """The agent creates the host's provider and fills it with inventory and traits, without a read in between."""
    tree = DesiredTree(providers=(wanted(new_uuid(), None, VCPU),))
    uuid = tree.root.uuid
    writer = TreeWriter(client)
    writer.apply(Plan(writes=(CreateProvider(provider_uuid=new_uuid(), name=new_uuid(), parent_uuid=None),)), never)
    rest.done("PUT", f"/traits/{OURS}")
    with rest.watched() as seen:
        plan = diff(tree, TreeReader(client).view(looking_at(uuid)))
        writer.apply(plan, never)
    assert seen == [
        f"GET /resource_providers?in_tree={uuid} 200",
        f"GET /resource_providers?name=host-{uuid} 200",
        "POST /resource_providers 200",
        f"PUT /resource_providers/{uuid}/inventories 200",
        f"PUT /traits/{OURS} 204",
        f"PUT /resource_providers/{uuid}/traits 200",
    ]
    assert rest.inventories(uuid)["VCPU"]["total"] == 8


def test_s138_another_client_may_create_the_root_provider_first(rest, tmp_path):
    """Another client creates the host's provider just before the agent does.

    The agent then uses the existing provider.
    """
    tree = DesiredTree(providers=(wanted(new_uuid(), None, VCPU),))
    uuid = tree.root.uuid
    meanwhile = Meanwhile(lambda: rest.make_provider(uuid=uuid, name=f"host-{uuid}"))
    client = scripted(rest, tmp_path, on_match(1, lambda request: request.method == "POST", meanwhile))
    with rest.watched() as seen:
        with pytest.raises(GenerationConflict, match="another client created the provider after the agent"):
            brought_about(client, tree)
        brought_about(client, tree)
    assert [line for line in seen if line.startswith("POST")] == ["POST /resource_providers 409"]
    assert (rest.inventories(uuid)["VCPU"]["total"], rest.traits(uuid)) == (8, {OURS})


def test_s156_an_obsolete_child_provider_is_deleted_last(rest, client):
    """The agent deletes an obsolete child provider in Placement after all other writes."""
    root = rest.make_provider()
    free, held = rest.make_provider(parent=root), rest.make_provider(parent=root)
    for child in (free, held):
        rest.set_inventories(child, {"VCPU": {"total": 1}})
    rest.allocate({held: {"VCPU": 1}})
    with rest.watched() as seen:
        plan, _ = brought_about(client, DesiredTree(providers=(wanted(root, None, VCPU),), obsolete=(free, held)))
    assert [line for line in seen if not line.startswith("GET")][-1] == f"DELETE /resource_providers/{free} 204"
    assert [(one.provider_uuid, one.what) for one in plan.held_back] == [(held, "delete")]
    assert rest.inventories(held)["VCPU"]["total"] == 1


def test_s157_new_child_providers_come_before_deletions(rest, client):
    """The agent first creates and fills the new child providers, and then deletes the obsolete ones."""
    root, p, q = rest.make_provider(), new_uuid(), new_uuid()
    r = rest.make_provider(parent=root)
    s = rest.make_provider(parent=r)
    tree = DesiredTree(
        providers=(wanted(root, None), wanted(p, root, VCPU), wanted(q, p, DISK)),
        obsolete=(r, s),
    )
    rest.set_traits(root, OURS)
    with rest.watched() as seen:
        brought_about(client, tree)
    assert [line for line in seen if not line.startswith(("GET", "PUT /traits"))] == [
        "POST /resource_providers 200",
        f"PUT /resource_providers/{p}/inventories 200",
        f"PUT /resource_providers/{p}/traits 200",
        "POST /resource_providers 200",
        f"PUT /resource_providers/{q}/inventories 200",
        f"PUT /resource_providers/{q}/traits 200",
        f"DELETE /resource_providers/{s} 204",
        f"DELETE /resource_providers/{r} 204",
    ]
    assert (parent_of(rest, p), parent_of(rest, q)) == (root, p)


def test_a_parent_and_a_child_provider_can_swap_places(rest, client):
    """The agent first moves the child out of its parent, and then moves the parent below the child."""
    root = rest.make_provider()
    upper = rest.make_provider(parent=root)
    lower = rest.make_provider(parent=upper)
    rest.set_inventories(lower, {"VCPU": {"total": 1}})
    rest.allocate({lower: {"VCPU": 1}})
    foreign = rest.make_provider(parent=lower)
    tree = DesiredTree(providers=(wanted(root), wanted(lower, root, VCPU), wanted(upper, lower)))
    with rest.watched() as seen:
        plan, applied = brought_about(client, tree)
    assert [write for write in plan.writes if isinstance(write, MoveProvider)] == [
        MoveProvider(provider_uuid=lower, name=f"host-{lower}", parent_uuid=root),
        MoveProvider(provider_uuid=upper, name=f"host-{upper}", parent_uuid=lower),
    ]
    assert applied.done == plan.writes
    assert [parent_of(rest, one) for one in (lower, upper, foreign)] == [root, lower, lower]
    assert f"PUT /resource_providers/{lower} 200" in seen
    assert brought_about(client, tree)[1].done == ()


def test_a_child_provider_keeps_its_name_below_a_new_parent(rest, client):
    """The agent moves a child provider to another parent in Placement. The child keeps its name and its generation."""
    root = rest.make_provider()
    child = rest.make_provider(parent=rest.make_provider(parent=root), name=f"by-hand-{root}")
    at = rest.generation(child)
    tree = DesiredTree(providers=(wanted(root), wanted(child, root, traits_wanted=frozenset())))
    brought_about(client, tree)
    assert (parent_of(rest, child), rest.generation(child)) == (root, at)
    assert rest.done("GET", f"/resource_providers/{child}")["name"] == f"by-hand-{root}"


def test_a_host_provider_with_a_parent_becomes_a_root(rest, client):
    """Someone gave the host's provider a parent in Placement. The agent makes the host's provider a root again."""
    above = rest.make_provider()
    root = rest.make_provider(parent=above)
    brought_about(client, DesiredTree(providers=(wanted(root),)))
    assert parent_of(rest, root) is None


def test_the_agent_creates_a_sharing_provider(rest, client):
    """The agent creates a sharing provider. Placement then offers the provider's DISK_GB with the host's VCPU."""
    root, disk, aggregate, other = rest.make_provider(), new_uuid(), new_uuid(), new_uuid()
    rest.set_aggregates(root, other)
    sharing = wanted(
        disk,
        None,
        DISK,
        traits_wanted=frozenset({OURS, "MISC_SHARES_VIA_AGGREGATE"}),
        aggregates_wanted=frozenset({aggregate}),
    )
    ours = wanted(root, None, VCPU, aggregates_wanted=frozenset({aggregate}))
    tree = DesiredTree(providers=(ours, sharing))
    _, applied = brought_about(client, tree)
    assert applied.done[-1] == PutAggregates(provider_uuid=disk, aggregates=(aggregate,))
    assert rest.aggregates(root) == {aggregate, other}
    found = rest.done("GET", f"/allocation_candidates?resources=VCPU:1,DISK_GB:10&member_of={aggregate}")
    assert {uuid for one in found["allocation_requests"] for uuid in one["allocations"]} == {root, disk}
    assert brought_about(client, tree)[1].done == ()


def test_a_provider_is_not_created_before_a_search_for_it(rest, client):
    """Before the agent creates a provider outside the host's tree, it searches Placement for the provider's uuid."""
    root, disk = rest.make_provider(), new_uuid()
    tree = DesiredTree(providers=(wanted(root), wanted(disk, None, DISK)))
    plan = diff(tree, TreeReader(client).view(looking_at(root)))
    assert {write.provider_uuid for write in plan.writes} == {root}
    assert [(one.provider_uuid, one.why) for one in plan.held_back] == [
        (disk, "the agent has not searched Placement for this provider yet")
    ]


def test_a_child_provider_in_an_unread_tree_is_not_moved(rest, client):
    """If a child provider is in an unread tree, the agent reports an error and does not move the provider."""
    root, child, grandchild = rest.make_provider(), new_uuid(), new_uuid()
    elsewhere = rest.make_provider()
    rest.make_provider(uuid=child, name=f"host-{child}", parent=elsewhere)
    tree = DesiredTree(providers=(wanted(root, None, VCPU), wanted(child, root, DISK), wanted(grandchild, child)))
    for _ in range(2):
        view = TreeReader(client).view(looking_at(root))
        applied = TreeWriter(client).apply(diff(tree, view), never)
        (refused,) = applied.refused
        assert isinstance(refused.error, ProviderElsewhere)
        assert f"in the tree of host-{elsewhere} ({elsewhere})" in refused.error.message
    assert rest.inventories(root)["VCPU"]["total"] == 8
    assert (rest.inventories(child), parent_of(rest, child)) == ({}, elsewhere)


def test_a_child_with_the_uuid_of_a_root_provider_is_refused(rest, client):
    """The agent wants to create a child provider. Placement already has a root provider with the same uuid."""
    root, child = rest.make_provider(), rest.make_provider()
    plan = Plan(writes=(CreateProvider(provider_uuid=child, name=f"host-{child}", parent_uuid=root),))
    (refused,) = TreeWriter(client).apply(plan, never).refused
    assert "it has no parent" in refused.error.message


def test_a_child_provider_is_moved_into_the_tree_of_the_host(rest, client):
    """The agent reads its child provider in the tree of another root, and moves it into the tree of the host."""
    root, child = rest.make_provider(), rest.make_provider(parent=rest.make_provider())
    brought_about(client, DesiredTree(providers=(wanted(root), wanted(child, root, DISK))))
    assert (parent_of(rest, child), rest.inventories(child)["DISK_GB"]["total"]) == (root, 100)


def test_a_child_provider_is_not_created_if_its_name_is_taken(rest, client):
    root, child = rest.make_provider(), new_uuid()
    rest.make_provider(name=f"host-{child}")
    _, applied = brought_about(client, DesiredTree(providers=(wanted(root), wanted(child, root))))
    assert [type(refused.error) for refused in applied.refused] == [DuplicateName]


def test_an_older_placement_does_not_move_a_child_provider(rest, tmp_path):
    """Before microversion 1.37, Placement cannot move a child provider to another tree. The agent reports an error."""
    client = scripted(rest, tmp_path, older)
    above, child = rest.make_provider(), new_uuid()
    root = rest.make_provider(parent=above)
    rest.make_provider(uuid=child, parent=above)
    tree = DesiredTree(providers=(wanted(root), wanted(child, root, VCPU)))
    plan = diff(tree, TreeReader(client).view(looking_at(root)))
    (refused,) = TreeWriter(client).apply(plan, never).refused
    assert isinstance(refused.error, ProviderElsewhere)
    assert f"in the tree of host-{above}" in refused.error.message
    assert rest.inventories(child) == {}


def test_an_older_placement_moves_only_root_providers(rest, tmp_path):
    """With microversion 1.36, the agent gives a root provider a parent, and reports a child that it cannot move."""
    client = scripted(rest, tmp_path, older)
    root, loose, child = rest.make_provider(), rest.make_provider(), new_uuid()
    middle = rest.make_provider(parent=root)
    rest.make_provider(uuid=child, parent=middle)
    tree = DesiredTree(providers=(wanted(root), wanted(loose, root, VCPU), wanted(child, root, VCPU)))
    plan, _ = brought_about(client, tree)
    assert (parent_of(rest, loose), parent_of(rest, child)) == (root, middle)
    assert [(one.provider_uuid, one.what) for one in plan.held_back] == [(child, "new parent")]
    assert plan.held_back[0].why == (
        f"the provider is below {middle}, and only Placement with microversion 1.37 can move it"
    )
    assert rest.inventories(child)["VCPU"]["total"] == 8, "what it offers is as due where it stands"
    assert brought_about(client, tree)[1].done == ()


def a_move(rest, tmp_path, meanwhile, method="GET"):
    """Apply the plan of a move while another client acts just before the writer's GET, or just before its PUT."""
    root = rest.make_provider()
    child = rest.make_provider(parent=rest.make_provider(parent=root))
    target = rest.make_provider(parent=root)
    write = MoveProvider(provider_uuid=child, name=f"host-{child}", parent_uuid=target)
    fault = Meanwhile(lambda: meanwhile(child, target))
    hit = on_match(1, lambda r: r.method == method and r.url.endswith(f"/resource_providers/{child}"), fault)
    return TreeWriter(scripted(rest, tmp_path, hit)).apply(Plan(writes=(write,)), never)


def test_a_provider_move_does_not_undo_a_rename(rest, tmp_path):
    """Another client renames a provider just before the agent moves it.

    The agent raises a conflict and keeps the new name.
    """
    name = f"renamed-{new_uuid()}"
    moved = []

    def rename(child, _target):
        moved.append(child)
        rest.done("PUT", f"/resource_providers/{child}", {"name": name})

    with pytest.raises(GenerationConflict, match="renamed since it was read"):
        a_move(rest, tmp_path, rename)
    assert rest.done("GET", f"/resource_providers/{moved[0]}")["name"] == name


TREE_CHANGES = {
    "the parent goes": lambda rest, child, target: rest.delete_provider(target),
    "the provider goes": lambda rest, child, target: rest.delete_provider(child),
    "the parent comes to stand below it": lambda rest, child, target: rest.done(
        "PUT", f"/resource_providers/{target}", {"name": f"host-{target}", "parent_provider_uuid": child}, "1.37"
    ),
}


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("change", TREE_CHANGES.values(), ids=TREE_CHANGES.keys())
def test_a_tree_change_during_a_move_raises_a_conflict(rest, tmp_path, change, method):
    """For example, another client deletes the new parent while the agent moves a provider below that parent."""
    with pytest.raises(GenerationConflict, match="the tree was changed"):
        a_move(rest, tmp_path, lambda child, target: change(rest, child, target), method)


def test_a_new_child_of_a_deleted_provider_raises_a_conflict(rest, tmp_path):
    """The agent creates a child provider, and another client has just deleted the parent provider in Placement."""
    root = rest.make_provider()
    fault = Meanwhile(lambda: rest.delete_provider(root))
    client = scripted(rest, tmp_path, on_match(1, lambda request: request.method == "POST", fault))
    write = CreateProvider(provider_uuid=new_uuid(), name=new_uuid(), parent_uuid=root)
    with pytest.raises(GenerationConflict, match="the provider's parent was deleted"):
        TreeWriter(client).apply(Plan(writes=(write,)), never)


def test_a_refused_provider_move_does_not_block_other_writes(rest, client):
    """Placement refuses to move a provider. The agent still writes the provider's inventory."""
    root = rest.make_provider()
    child = rest.make_provider(parent=rest.make_provider(parent=root))
    writes = (
        MoveProvider(provider_uuid=child, name=f"host-{child}", parent_uuid="no-uuid"),
        PutInventories(provider_uuid=child, inventories=(VCPU,)),
    )
    applied = TreeWriter(client).apply(Plan(writes=writes, generations=((child, 0),)), never)
    assert [type(refused.error) for refused in applied.refused] == [PlacementRejected]
    assert applied.done == writes[1:]


def test_a_child_keeps_its_old_parent_if_the_new_one_is_missing(rest, client):
    """Placement refuses to create the new parent, so the child provider keeps its old parent.

    The agent still writes the child's inventory.
    """
    root, new = rest.make_provider(), new_uuid()
    rest.make_provider(name=f"host-{new}")
    child = rest.make_provider(parent=root)
    tree = DesiredTree(providers=(wanted(root), wanted(new, root), wanted(child, new, VCPU)))
    _, applied = brought_about(client, tree)
    assert [type(refused.error) for refused in applied.refused] == [DuplicateName]
    assert parent_of(rest, child) == root
    assert rest.inventories(child)["VCPU"]["total"] == 8
