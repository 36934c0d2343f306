"""``why`` reads a cloud with few requests; its answers equal those of a full read and of Placement itself."""

import contextlib

import pytest

from agent.errors import PlacementUnavailable
from agent.placement import offers
from agent.placement.reader import TreeReader
from agent.why.answer import why
from agent.why.parse_request import Words, request_of
from tests.rigs.placement import Rest, client_of, looking_at, new_uuid, running

SHARES = "MISC_SHARES_VIA_AGGREGATE"
HOSTS = 8


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield server


@pytest.fixture(scope="module")
def client(tmp_path_factory, rest):
    # conftest closes the client's connections after the first test; later tests open them anew.
    with contextlib.closing(client_of(tmp_path_factory.mktemp("client"), rest.server.url)) as made:
        yield made


@pytest.fixture(scope="module")
def cloud(rest: Rest):
    """Eleven trees: eight slightly different hosts, a full one, a provider that shares disk, an empty one.

    Return the uuids by name.
    """
    aggregate, rack = new_uuid(), new_uuid()
    hosts = [rest.make_provider(f"host-{number}") for number in range(HOSTS)]
    for number, host in enumerate(hosts):
        rest.set_inventories(
            host,
            {
                "VCPU": {"total": 8 + number, "max_unit": 8 + number, "allocation_ratio": 2.0, "reserved": number % 3},
                "MEMORY_MB": {"total": 4096, "min_unit": 64, "step_size": 64},
            },
        )
        rest.set_traits(host, *(["CUSTOM_FAST"] if number % 2 else []), *(["CUSTOM_OLD"] if number < 3 else []))
        rest.set_aggregates(host, *([aggregate] if number < 3 else []), *([rack] if number > 4 else []))
        rest.allocate({host: {"VCPU": number + 1}})
    device = rest.make_provider("host-7-device", parent=hosts[7])
    rest.set_inventories(device, {"VGPU": {"total": 2}})
    rest.set_traits(device, "CUSTOM_NVIDIA")
    full = rest.make_provider("host-full")
    rest.set_inventories(full, {"VCPU": {"total": 4}})
    rest.allocate({full: {"VCPU": 4}})
    sharing = rest.make_provider("pool")
    rest.set_inventories(sharing, {"DISK_GB": {"total": 100, "max_unit": 40}})
    rest.set_traits(sharing, SHARES)
    rest.set_aggregates(sharing, aggregate)
    rest.make_provider("empty")
    return {"hosts": hosts, "full": full, "sharing": sharing, "aggregate": aggregate, "rack": rack, "device": device}


QUERIES = (
    "resources=VCPU:1",
    "resources=VCPU:10",
    "resources=VCPU:13",
    "resources=VCPU:16",
    "resources=MEMORY_MB:100",
    "resources=MEMORY_MB:128,VCPU:4",
    "resources=VCPU:1&required=CUSTOM_FAST",
    "resources=VCPU:1&required=CUSTOM_FAST,!CUSTOM_OLD",
    "resources=VCPU:1&required=in:CUSTOM_FAST,CUSTOM_OLD",
    "resources=VCPU:1&member_of={rack}",
    "resources=VCPU:1&member_of=!{aggregate}",
    "resources=VCPU:1&member_of=in:{rack},{aggregate}",
    "resources=VCPU:1,DISK_GB:40",
    "resources=VCPU:1,DISK_GB:41",
    "resources=VCPU:1&resources1=VGPU:2&required1=CUSTOM_NVIDIA",
    "resources=VCPU:1&resources1=VGPU:3",
    "resources=VCPU:1&resources1=VGPU:1&resources2=VGPU:1&group_policy=isolate",
    "resources=VCPU:1&resources1=VGPU:1&resources2=VGPU:1&group_policy=none",
    "resources=VCPU:1&root_required=CUSTOM_OLD",
    "resources=VCPU:1&in_tree={device}",
    "resources=IPV4_ADDRESS:1",
)


def trees_offered(rest, query):
    """Return the roots of all providers in the candidates that Placement itself returns."""
    answer = rest.done("GET", f"/allocation_candidates?{query}", version="1.39")
    summaries = answer["provider_summaries"]
    hosts = {uuid for each in answer["allocation_requests"] for uuid in each["allocations"]}
    return {summaries[uuid]["root_provider_uuid"] for uuid in hosts}


def silent(line):
    assert line


@pytest.mark.parametrize("query", QUERIES)
def test_why_finds_the_same_hosts_as_placement(rest, client, cloud, query):
    """For the same query, `stocktake why` finds the hosts that GET /allocation_candidates returns."""
    query = query.format(**{name: cloud[name] for name in ("rack", "aggregate", "device")})
    request = request_of(Words(query=query))
    found = offers.cloud_offers(client, request, silent)
    assert (found.unread, found.offered.is_whole) == ((), True)
    fitting = {tree.root_uuid for tree in why(request, found.offered).trees if tree.fits}
    # Placement names the sharing provider where a candidate takes from it; ``why`` also where it suffices alone.
    wanted = trees_offered(rest, query) - {cloud["sharing"]}
    assert fitting - {cloud["sharing"]} == wanted


@pytest.mark.parametrize("number", range(3))
def test_a_read_of_all_hosts_returns_inventories_and_usages(client, cloud, number):
    """For `stocktake why --everywhere`, the agent reads the inventory and the usage of every provider in Placement."""
    request = request_of(Words(query=f"resources=VCPU:1,DISK_GB:1&required=CUSTOM_FAST&member_of={cloud['rack']}"))
    world = offers.cloud_offers(client, request, silent).offered
    offered = {each.provider.uuid: each for each in world.providers}
    host = offered[cloud["hosts"][number]]
    assert host.used == (("MEMORY_MB", 0), ("VCPU", number + 1))
    inventory = host.provider.inventory("VCPU")
    assert (inventory.total, inventory.reserved, inventory.allocation_ratio) == (8 + number, number % 3, 2.0)
    assert host.provider.traits == ({"CUSTOM_FAST"} if number % 2 else set())
    assert host.provider.aggregates == {cloud["aggregate"]}
    assert offered[cloud["sharing"]].provider.traits == {SHARES}
    assert offered[cloud["full"]].used == (("VCPU", 4),)
    assert offered[cloud["device"]].root_uuid == cloud["hosts"][7]


def test_why_everywhere_sends_about_one_request_per_provider(rest, client, cloud):
    """`stocktake why --everywhere` sends one request for each provider's inventory, and only a few others."""
    request = request_of(Words(query=f"resources=VCPU:1&required=CUSTOM_FAST&member_of={cloud['rack']}"))
    client.maximum()
    # Only the requests of the client under test carry a global request id.
    with rest.watched() as seen, client.global_request_id():
        offers.cloud_offers(client, request, silent)
    asked = [line.split()[1] for line in seen]
    inventories = [path for path in asked if path.endswith("/inventories")]
    # Eight hosts have the class; no summary describes the full one, the pool and the empty one.
    assert len(inventories) == HOSTS + 3
    assert len([path for path in asked if path.endswith("/usages")]) == 2
    few = [path for path in asked if not path.endswith(("/inventories", "/usages"))]
    assert sorted(path.split("?")[0] for path in few) == sorted(
        [
            "/resource_providers",
            "/allocation_candidates",
            *["/resource_providers"] * 2,  # one for each trait, including SHARES
            *["/resource_providers"] * 2,  # one for each aggregate, including the sharing provider's
            f"/resource_providers/{cloud['sharing']}/aggregates",
        ]
    )


def test_few_inventories_are_read_for_a_class_that_no_host_has(rest, client, cloud):
    """If no host has the class FPGA, `stocktake why --everywhere` reads inventories of only 3 of 12 providers."""
    assert cloud
    client.maximum()
    with rest.watched() as seen, client.global_request_id():
        offers.cloud_offers(client, request_of(Words(resources=("FPGA=1",))), silent)
    asked = [line.split()[1] for line in seen]
    assert len([path for path in asked if path.endswith("/inventories")]) == 3  # the full one, the pool, the empty one
    assert [path for path in asked if path.startswith("/allocation_candidates")] == [
        "/allocation_candidates?resources=FPGA:1",
        "/allocation_candidates?resources=VCPU:1",
    ]


def test_provider_trees_beyond_the_limit_are_listed_as_unread(client, cloud):
    """`stocktake why --everywhere` reads a limited number of provider trees, and lists those that it did not read."""
    request = request_of(Words(resources=("VCPU=1",)))
    found = offers.cloud_offers(client, request, silent, most_reads=4)
    assert not found.offered.is_whole
    assert len(found.unread) == 11 - 4
    assert "host-full" in found.unread
    trees = why(request, found.offered).trees
    assert {tree.root_name for tree in trees}.isdisjoint(found.unread)


def test_a_provider_deleted_during_the_read_is_omitted(rest, client):
    """Someone deletes a provider while `stocktake why --everywhere` reads Placement. The result omits that provider."""
    doomed = rest.make_provider()
    rest.set_inventories(doomed, {"VCPU": {"total": 4}})
    gone = []

    def delete_once(_line):
        if not gone:
            rest.delete_provider(doomed)
            gone.append(doomed)

    found = offers.cloud_offers(client, request_of(Words(resources=("VCPU=1",))), delete_once)
    assert gone == [doomed]
    assert doomed not in {each.provider.uuid for each in found.offered.providers}
    assert found.unread == ()


def test_a_read_of_all_hosts_fails_without_placement(tmp_path):
    nowhere = client_of(tmp_path, "http://127.0.0.1:9")
    with pytest.raises(PlacementUnavailable):
        offers.cloud_offers(nowhere, request_of(Words(resources=("VCPU=1",))), silent)


def test_the_everywhere_option_finds_the_same_obstacles(client, cloud):
    """With and without --everywhere, `stocktake why` finds the same obstacles for a host."""
    roots = [cloud["hosts"][number] for number in (0, 2, 7)]
    alone = {root: offers.own_offers(client, TreeReader(client).view(looking_at(root))) for root in roots}
    names = {name: cloud[name] for name in ("rack", "aggregate", "device")}
    for query in QUERIES:
        request = request_of(Words(query=query.format(**names)))
        everywhere = offers.cloud_offers(client, request, silent).offered
        for root in roots:
            assert tree_of(request, alone[root], root) == tree_of(request, everywhere, root), query


def tree_of(request, world, root):
    (found,) = [tree for tree in why(request, world).trees if tree.root_uuid == root]
    return found


def test_a_sharing_provider_may_share_with_a_child_provider(rest, client):
    """A sharing provider and a child of the host's provider are in one aggregate.

    The host can use the shared inventory.
    """
    root, aggregate = rest.make_provider(), new_uuid()
    rest.set_inventories(root, {"VCPU": {"total": 4}})
    rest.set_aggregates(rest.make_provider(parent=root), aggregate)
    sharing = rest.make_provider()
    rest.set_inventories(sharing, {"SRIOV_NET_VF": {"total": 4}})
    rest.set_traits(sharing, SHARES)
    rest.set_aggregates(sharing, aggregate)
    query = "resources=VCPU:1,SRIOV_NET_VF:4"
    request = request_of(Words(query=query))
    view = TreeReader(client).view(looking_at(root))
    assert root in trees_offered(rest, query)
    assert tree_of(request, offers.own_offers(client, view), root).fits
    assert tree_of(request, offers.cloud_offers(client, request, silent).offered, root).fits
