"""What ``why`` says of requests to small trees; what is expected is spec/placement.md and what Placement 16 answers."""

import pytest

from agent.model.placement import Inventory, Provider
from agent.model.resource_request import OfferedProvider, OfferedWorld, RequestGroup, ResourceRequest
from agent.model.why import Constraint, Remedy, RemedyKind, TreeAnswer
from agent.stages.why import why

SHARES = "MISC_SHARES_VIA_AGGREGATE"


def of(uuid, *inventories, parent=None, root=None, used=(), traits=(), aggregates=()):
    provider = Provider(
        uuid=uuid,
        name=uuid,
        parent_uuid=parent,
        generation=1,
        inventories=inventories,
        traits=frozenset(traits),
        aggregates=frozenset(aggregates),
    )
    return OfferedProvider(provider=provider, root_uuid=root or uuid, used=used)


def stock(resource_class, total, **wanted):
    return Inventory(resource_class=resource_class, total=total, **wanted)


def sets(*choices):
    return tuple(frozenset(choice.split()) for choice in choices)


def group(suffix="", required=(), member_of=(), forbidden=(), forbidden_aggregates=(), in_tree=None, **resources):
    return RequestGroup(
        suffix=suffix,
        resources=tuple(sorted(resources.items())),
        required=sets(*required),
        member_of=sets(*member_of),
        forbidden=frozenset(forbidden),
        forbidden_aggregates=frozenset(forbidden_aggregates),
        in_tree=in_tree,
    )


def asked(world, *groups, root="host", **wanted) -> TreeAnswer:
    answer = why(ResourceRequest(groups=groups, **wanted), OfferedWorld(providers=tuple(world)))
    return next(tree for tree in answer.trees if tree.root_uuid == root)


def refused(world, *groups, **wanted) -> list[Constraint]:
    return [obstacle.constraint for obstacle in asked(world, *groups, **wanted).obstacles]


CPUS = stock("VCPU", 48, max_unit=48, allocation_ratio=4.0)
MEMORY = stock("MEMORY_MB", 8192, reserved=512, max_unit=8192)
HOST = of("host", CPUS, MEMORY, used=(("VCPU", 10),), traits=["CUSTOM_A"], aggregates=["agg"])
PF = [
    of("pf0", stock("VF", 4), parent="host", root="host", traits=["NET_A"]),
    of("pf1", stock("VF", 4), parent="host", root="host", traits=["NET_B"]),
]


def test_more_cpus_than_the_host_has_are_refused_by_max_unit_whatever_the_ratio_is():
    first = asked([HOST], group(VCPU=64)).obstacles[0]
    assert (first.constraint, first.wanted, first.available) == (Constraint.MAX_UNIT, 64, 48)
    assert first.change == "ask for at most 48 VCPU in one request (max_unit is the number of CPUs; no ratio raises it)"
    assert first.remedies == (Remedy(kind=RemedyKind.ASK, resource_class="VCPU", number=48),)
    assert refused([HOST], group(VCPU=64)) == [Constraint.MAX_UNIT]
    assert asked([HOST], group(VCPU=48)).fits


def test_capacity_is_told_with_what_must_be_freed_the_ratio_and_what_is_left():
    full = of("host", stock("VCPU", 48, allocation_ratio=4.0), used=(("VCPU", 180),))
    obstacle = asked([full], group(VCPU=20)).obstacles[0]
    assert (obstacle.constraint, obstacle.wanted, obstacle.available) == (Constraint.CAPACITY, 20, 12)
    assert obstacle.words == "20 VCPU are wanted, host has 12: (48 total − 0 reserved) × 4 − 180 used"
    assert [(r.kind, r.number) for r in obstacle.remedies] == [
        (RemedyKind.FREE, 8),
        (RemedyKind.RATIO, 4.1667),
        (RemedyKind.ASK, 12),
    ]
    assert "raise cpu_allocation_ratio to at least 4.1667" in obstacle.change


def test_what_is_reserved_may_be_lowered():
    obstacle = asked([HOST], group(MEMORY_MB=8000)).obstacles[0]
    assert Remedy(kind=RemedyKind.RESERVED, provider_uuid="host", resource_class="MEMORY_MB", number=192) in (
        obstacle.remedies
    )
    assert "lower what is reserved by 320 MiB of MEMORY_MB, to 192" in obstacle.change


@pytest.mark.parametrize(
    ("ratio", "total", "fits"),
    # As doubles: 10 × 0.7 is 7, 3 × 1.1 is 3.3000000000000003, 100 × 1.1 is 110.00000000000001, 57 × 0.1 is 5.7.
    [(0.7, 10, 7), (1.1, 3, 3), (1.1, 100, 110), (0.1, 57, 5), (4.35, 100, 434)],
)
def test_capacity_is_a_product_of_doubles(ratio, total, fits):
    host = of("host", stock("VCPU", total, allocation_ratio=ratio))
    assert asked([host], group(VCPU=fits)).fits
    assert refused([host], group(VCPU=fits + 1)) == [Constraint.CAPACITY]


def test_units_are_asked_of_each_group():
    host = of("host", stock("VCPU", 12, min_unit=2, max_unit=8, step_size=2))
    assert refused([host], group(VCPU=1)) == [Constraint.MIN_UNIT, Constraint.STEP_SIZE]
    steps = asked([host], group(VCPU=5)).obstacles
    assert [o.constraint for o in steps] == [Constraint.STEP_SIZE]
    assert [r.number for r in steps[0].remedies] == [4, 6]
    assert refused([host], group(VCPU=10)) == [Constraint.MAX_UNIT]


def test_first_is_what_placement_is_asked_first_of_every_group():
    obstacles = refused([HOST], group(VCPU=64, DISK_GB=1, MEMORY_MB=9000, member_of=["other"]))
    assert obstacles == [
        Constraint.RESOURCE_CLASS,
        Constraint.MAX_UNIT,
        Constraint.MAX_UNIT,
        Constraint.CAPACITY,
        Constraint.MEMBER_OF,
    ]


def test_traits_of_the_unnumbered_group_may_be_spread_over_those_that_give_something():
    world = [HOST, *PF]
    assert asked(world, group(VCPU=1, VF=1, required=["CUSTOM_A", "NET_B"])).fits
    assert refused(world, group(VCPU=1, VF=1, required=["NET_A", "NET_B"])) == [Constraint.REQUIRED_TRAIT]
    lone = asked(world, group(VF=1, required=["CUSTOM_A"])).obstacles
    assert [o.constraint for o in lone] == [Constraint.REQUIRED_TRAIT]
    assert "host has, but gives nothing of what is asked" in lone[0].words
    assert lone[0].remedies == (Remedy(kind=RemedyKind.ADD_TRAIT, provider_uuid="pf0", name="CUSTOM_A"),)


def test_one_trait_of_a_set_is_enough_and_a_forbidden_one_passes_a_provider_over():
    assert asked([HOST], group(VCPU=1, required=["CUSTOM_Z CUSTOM_A"])).fits
    assert asked([HOST, *PF], group(VF=1, forbidden=["NET_A"])).fits
    both = asked([HOST, *PF], group(VF=1, forbidden=["NET_A", "NET_B"])).obstacles
    assert [o.constraint for o in both] == [Constraint.FORBIDDEN_TRAIT]
    assert both[0].change.startswith("remove trait NET_A from pf0")


def test_a_granular_group_is_served_by_one_provider():
    assert asked([HOST, *PF], group("1", VF=4, required=["NET_B"])).fits
    apart = refused([HOST, *PF], group("1", VF=1, VCPU=1))
    assert Constraint.ONE_PROVIDER in apart
    assert asked([HOST, *PF], group(VF=1, VCPU=1)).fits


def test_isolated_groups_want_a_provider_each():
    groups = [group(str(number), VF=1) for number in range(1, 4)]
    assert asked([HOST, *PF], *groups, group_policy="none").fits
    assert asked([HOST, *PF], *groups[:2], group_policy="isolate").fits
    [obstacle] = asked([HOST, *PF], *groups, group_policy="isolate").obstacles
    assert (obstacle.constraint, obstacle.wanted, obstacle.available) == (Constraint.GROUP_POLICY, 3, 2)


def test_groups_on_one_provider_are_summed_against_capacity_and_max_unit():
    twice = [group("1", VF=3, required=["NET_A"]), group("2", VF=2, required=["NET_A"])]
    [obstacle] = asked([HOST, *PF], *twice, group_policy="none").obstacles
    assert (obstacle.constraint, obstacle.wanted, obstacle.available) == (Constraint.CAPACITY, 5, 4)
    small = of("pf0", stock("VF", 8, max_unit=4), parent="host", root="host", traits=["NET_A"])
    assert refused([HOST, small], *twice, group_policy="none") == [Constraint.MAX_UNIT]


def test_the_unnumbered_group_counts_on_the_provider_of_a_granular_one():
    one = of("host", stock("VCPU", 4))
    assert asked([one], group(VCPU=2), group("1", VCPU=2)).fits
    [obstacle] = asked([one], group(VCPU=2), group("1", VCPU=3)).obstacles
    assert (obstacle.constraint, obstacle.wanted, obstacle.available) == (Constraint.CAPACITY, 5, 4)


NUMA = [
    of("numa0", parent="host", root="host", traits=["NUMA"]),
    of("numa1", parent="host", root="host", traits=["NUMA"]),
    of("gpu0", stock("VGPU", 1), parent="numa0", root="host"),
    of("nic1", stock("VF", 1), parent="numa1", root="host"),
]


def test_same_subtree_wants_one_of_the_groups_above_the_others():
    gpu, nic, cell = group("_GPU", VGPU=1), group("_NIC", VF=1), group("_NUMA", required=["NUMA"])
    world = [HOST, *NUMA]
    near = {"group_policy": "none", "same_subtree": sets("_GPU _NUMA")}
    assert asked(world, gpu, cell, **near).fits
    far = {"group_policy": "none", "same_subtree": sets("_GPU _NIC _NUMA")}
    assert refused(world, gpu, nic, cell, **far) == [Constraint.SAME_SUBTREE]
    moved = of("nic1", stock("VF", 1), parent="numa0", root="host")
    assert asked([HOST, *NUMA[:3], moved], gpu, nic, cell, **far).fits


def test_a_group_without_resources_trait_and_aggregate_is_never_served():
    wanted = {"group_policy": "none", "same_subtree": sets("1 2")}
    bare = [group("1", VCPU=1), group("2", in_tree="host")]
    assert refused([HOST, *PF], *bare, **wanted) == [Constraint.ONE_PROVIDER]
    forbidding = [group("1", VCPU=1), group("2", forbidden=["CUSTOM_Z"])]
    assert refused([HOST, *PF], *forbidding, **wanted) == [Constraint.ONE_PROVIDER]


def test_the_root_speaks_for_its_tree_to_the_unnumbered_group_only():
    assert asked([HOST, *PF], group(VF=1, member_of=["agg"])).fits
    assert refused([HOST, *PF], group("1", VF=1, member_of=["agg"])) == [Constraint.MEMBER_OF]
    assert refused([HOST, *PF], group(VF=1, forbidden_aggregates=["agg"])) == [Constraint.FORBIDDEN_AGGREGATE]
    assert asked([HOST, *PF], group("1", VF=1, forbidden_aggregates=["agg"])).fits


def test_every_set_of_aggregates_must_be_met_by_one_provider():
    child = of("pf0", stock("VF", 4), parent="host", root="host", aggregates=["b"])
    assert refused([HOST, child], group(VF=1, member_of=["agg", "b"])) == [Constraint.MEMBER_OF]
    both = of("pf0", stock("VF", 4), parent="host", root="host", aggregates=["b", "agg"])
    assert asked([HOST, both], group(VF=1, member_of=["agg", "b c"])).fits


NFS = of("nfs", stock("DISK_GB", 100), traits=[SHARES], aggregates=["agg"])


def test_a_sharing_provider_serves_a_tree_through_an_aggregate_of_any_provider_of_it():
    disk = group(VCPU=1, DISK_GB=10)
    assert asked([HOST, NFS], disk).fits
    outside = of("host", CPUS)
    assert refused([outside, NFS], disk) == [Constraint.RESOURCE_CLASS]
    through_child = of("pf0", parent="host", root="host", aggregates=["agg"])
    assert asked([outside, through_child, NFS], disk).fits
    assert asked([HOST, NFS], group(VCPU=1), group("1", DISK_GB=10)).fits


def test_with_in_tree_nothing_is_taken_from_a_sharing_provider_by_the_unnumbered_group():
    assert refused([HOST, NFS], group(VCPU=1, DISK_GB=10, in_tree="host")) == [Constraint.IN_TREE]
    assert asked([HOST, *PF], group(VCPU=1, in_tree="pf0")).fits
    assert refused([HOST], group(VCPU=1, in_tree="nobody")) == [Constraint.IN_TREE]
    assert asked([HOST, NFS], group(VCPU=1), group("1", DISK_GB=10, in_tree="nfs")).fits


def test_a_member_root_does_not_speak_for_what_shares_with_its_tree():
    host = of("host", CPUS, aggregates=["agg", "az"])
    assert refused([host, NFS], group(VCPU=1, DISK_GB=10, member_of=["az"])) == [Constraint.MEMBER_OF]
    assert refused([host, NFS], group(VCPU=1, DISK_GB=10, forbidden_aggregates=["az"])) == [
        Constraint.FORBIDDEN_AGGREGATE
    ]


def test_traits_of_the_root():
    wanted = {"root_required": frozenset({"CUSTOM_Z"}), "root_forbidden": frozenset({"CUSTOM_A"})}
    obstacles = asked([HOST], group(VCPU=1), **wanted).obstacles
    assert [(o.constraint, o.change) for o in obstacles] == [
        (Constraint.ROOT_TRAIT, "add trait CUSTOM_Z to host"),
        (Constraint.ROOT_TRAIT, "remove trait CUSTOM_A from host"),
    ]


def test_a_trait_of_the_machine_is_not_given_to_a_host_by_hand():
    [obstacle] = asked([HOST], group("1", VCPU=1, required=["HW_CPU_X86_VMX"])).obstacles
    assert obstacle.change == "add trait HW_CPU_X86_VMX to host if that is true of it, or ask without it"
    able = of("host", CPUS, traits=["HW_CPU_X86_VMX"])
    [obstacle] = asked([able], group(VCPU=1, forbidden=["HW_CPU_X86_VMX"])).obstacles
    assert obstacle.change.startswith("remove trait HW_CPU_X86_VMX from host if that is not true of it, or ask without")


def test_a_disabled_service_is_enabled_and_not_its_trait_taken_away():
    host = of("host", CPUS, traits=["COMPUTE_STATUS_DISABLED"])
    [obstacle] = asked([host], group(VCPU=1, forbidden=["COMPUTE_STATUS_DISABLED"])).obstacles
    assert obstacle.change == "enable the compute service of host (openstack compute service set --enable)"


def test_of_several_the_nearest_provider_is_told():
    fewest = of("pf2", stock("VF", 4), parent="host", root="host", used=(("VF", 2),))
    twice = of("pf3", stock("VF", 4), parent="host", root="host", used=(("VF", 2),), traits=["NET_A"])
    [obstacle] = asked([HOST, twice, fewest], group("1", VF=3, forbidden=["NET_A"])).obstacles
    assert (obstacle.provider_uuid, obstacle.available) == ("pf2", 2)
    least_short = [
        of(f"f{used}", stock("VF", 4), parent="host", root="host", used=(("VF", used),)) for used in (4, 1, 3)
    ]
    assert asked([HOST, *least_short], group("1", VF=4)).obstacles[0].provider_uuid == "f1"


def test_trees_that_fit_come_first_then_those_that_lack_the_least():
    world = OfferedWorld(
        providers=(of("a", MEMORY), of("b", CPUS, stock("MEMORY_MB", 8), aggregates=["x"]), of("c", CPUS, MEMORY))
    )
    order = [tree.root_name for tree in why(ResourceRequest(groups=(group(VCPU=64, MEMORY_MB=16),)), world).trees]
    assert order == ["c", "b", "a"]
    fits = why(ResourceRequest(groups=(group(VCPU=1),)), world)
    assert ([tree.root_name for tree in fits.trees], fits.fits) == (["b", "c", "a"], True)


def test_a_world_without_providers_has_no_tree():
    assert why(ResourceRequest(groups=(group(VCPU=1),)), OfferedWorld(providers=())).trees == ()
