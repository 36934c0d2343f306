"""The answer of ``why`` to requests against small trees; the expected answers are Placement 16's."""

import pytest

from agent.model.placement import Inventory, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, RequestGroup, ResourceRequest
from agent.why.answer import why
from agent.why.model import Constraint, Remedy, RemedyKind, TreeAnswer

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
    answer = why(ResourceRequest(groups=groups, **wanted), OfferedProviders(providers=tuple(world)))
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


def test_a_request_for_more_vcpus_than_max_unit_is_refused():
    """`stocktake why` refuses 64 VCPU on a host with max_unit 48 and advises to request at most 48."""
    first = asked([HOST], group(VCPU=64)).obstacles[0]
    assert (first.constraint, first.wanted, first.available) == (Constraint.MAX_UNIT, 64, 48)
    assert (
        first.change
        == "ask for at most 48 VCPU in one request (max_unit is the number of CPUs; a higher ratio does not raise it)"
    )
    assert first.remedies == (Remedy(kind=RemedyKind.ASK, resource_class="VCPU", number=48),)
    assert refused([HOST], group(VCPU=64)) == [Constraint.MAX_UNIT]
    assert asked([HOST], group(VCPU=48)).fits


def test_the_advice_lists_three_ways_to_fit_a_request():
    """For 20 VCPU on a host with 12 left, `stocktake why` advises to free 8, raise the ratio or request less."""
    full = of("host", stock("VCPU", 48, allocation_ratio=4.0), used=(("VCPU", 180),))
    obstacle = asked([full], group(VCPU=20)).obstacles[0]
    assert (obstacle.constraint, obstacle.wanted, obstacle.available) == (Constraint.CAPACITY, 20, 12)
    assert obstacle.words == "requested 20 VCPU, host has 12: (48 total - 0 reserved) x 4 - 180 used"
    assert [(r.kind, r.number) for r in obstacle.remedies] == [
        (RemedyKind.FREE, 8),
        (RemedyKind.RATIO, 4.1667),
        (RemedyKind.ASK, 12),
    ]
    assert "raise cpu_allocation_ratio to at least 4.1667" in obstacle.change


def test_freeing_capacity_is_not_advised_beyond_max_unit():
    """`stocktake why` does not advise to free capacity for a request above max_unit, because this would not help."""
    nearly_full = of("host", CPUS, used=(("VCPU", 180),))
    [unit, room] = asked([nearly_full], group(VCPU=64)).obstacles
    assert (unit.constraint, room.constraint) == (Constraint.MAX_UNIT, Constraint.CAPACITY)
    assert room.change == "ask for at most 12 VCPU in one request"


def test_the_advice_may_combine_two_changes():
    """`stocktake why` advises to request less and also to free VCPU if only the two changes together are enough."""
    cpus = stock("VCPU", 48, min_unit=4, max_unit=48, allocation_ratio=4.0)
    unit, room = asked([of("host", cpus, used=(("VCPU", 190),))], group(VCPU=64)).obstacles
    both = "ask for at most 48 VCPU in one request{}, and free up 46 VCPU on host: neither change alone is enough"
    assert unit.change == both.format(" (max_unit is the number of CPUs; a higher ratio does not raise it)")
    assert (room.change, unit.remedies, room.remedies) == (both.format(""), (), ())


def test_the_advice_shows_that_max_unit_is_the_limit():
    """`stocktake why` says that max_unit limits the request to 24 VCPU, although more VCPU are free."""
    cpus = stock("VCPU", 24, max_unit=24, allocation_ratio=2.0)
    _, room = asked([of("host", cpus, used=(("VCPU", 20),))], group(VCPU=30)).obstacles
    assert "has 28: " in room.words
    because = "(more capacity is free, but max_unit allows no more in one request)"
    assert room.change == f"ask for at most 24 VCPU in one request {because}"


def test_advice_about_max_unit_shows_what_is_free():
    """If max_unit allows more than is free, `stocktake why` advises to request at most the free amount."""
    host = of("host", stock("DISK_GB", 1600, max_unit=1600), used=(("DISK_GB", 800),))
    change = asked([host], group(DISK_GB=5000)).obstacles[0].change
    assert change == (
        "ask for at most 800 GiB of DISK_GB in one request (max_unit allows more in one request, but no more is free)"
    )


@pytest.mark.parametrize(("amount", "constraint"), [(1, Constraint.MIN_UNIT), (5, Constraint.STEP_SIZE)])
def test_freeing_capacity_is_not_advised_for_a_forbidden_amount(amount, constraint):
    """If min_unit or step_size forbids the requested amount, `stocktake why` does not advise to free capacity."""
    full = of("host", stock("VCPU", 8, min_unit=2 if amount == 1 else 1, step_size=2 if amount == 5 else 1, max_unit=8),
              used=(("VCPU", 8),))  # fmt: skip
    [unit, room] = asked([full], group(VCPU=amount)).obstacles
    assert (unit.constraint, room.constraint, room.remedies) == (constraint, Constraint.CAPACITY, ())


def test_a_refusal_reason_begins_with_the_requested_amount():
    """A reason of `stocktake why` begins with the requested amount, for example "requested 1 PCPU"."""
    full = of("host", stock("PCPU", 4), used=(("PCPU", 4),))
    first = [asked([full], group(PCPU=amount)).obstacles[0].words.split(",")[0] for amount in (1, 2)]
    assert first == ["requested 1 PCPU", "requested 2 PCPU"]
    lacking = [asked([full], group(suffix, VF=1)).obstacles[0].words for suffix in ("", "1")]
    assert all(words.startswith("requested 1 VF, ") for words in lacking), lacking


def test_lowering_the_reserved_amount_is_advised():
    """`stocktake why` advises to lower the reserved memory if the request lacks 320 MiB of MEMORY_MB."""
    obstacle = asked([HOST], group(MEMORY_MB=8000)).obstacles[0]
    assert Remedy(kind=RemedyKind.RESERVED, provider_uuid="host", resource_class="MEMORY_MB", number=192) in (
        obstacle.remedies
    )
    assert "lower the reserved amount by 320 MiB of MEMORY_MB, to 192" in obstacle.change


@pytest.mark.parametrize(
    ("resource_class", "part"),
    [
        ("VCPU", "option reserved_host_cpus is only a part of the reserved amount: the agent adds"),
        ("MEMORY_MB", "option reserved_host_memory_mb is only a part of the reserved amount: the agent adds"),
        ("DISK_GB", "option reserved_host_disk_mb is only a part of the reserved amount: the agent adds"),
        ("VGPU", "the reserved amount includes"),
    ],
)
def test_advice_about_a_reserved_amount_refers_to_explain(resource_class, part):
    """Advice to lower a reserved amount shows nova's option, if there is one, and refers to `stocktake explain`."""
    host = of("host", stock(resource_class, 400, reserved=120), used=((resource_class, 240),))
    change = asked([host], group(**{resource_class: 41})).obstacles[0].change
    assert ", to 119 (" in change
    unmanaged = "the usage of guests and volumes that nova does not know"
    assert f"({part} {unmanaged}; see stocktake explain {resource_class})" in change


@pytest.mark.parametrize(
    ("ratio", "total", "fits"),
    # As doubles: 10 × 0.7 is 7, 3 × 1.1 is 3.3000000000000003, 100 × 1.1 is 110.00000000000001, 57 × 0.1 is 5.7.
    [(0.7, 10, 7), (1.1, 3, 3), (1.1, 100, 110), (0.1, 57, 5), (4.35, 100, 434)],
)
def test_capacity_is_computed_in_double_precision(ratio, total, fits):
    """`stocktake why` computes total times ratio in double precision: a total of 10 at ratio 0.7 offers 7."""
    host = of("host", stock("VCPU", total, allocation_ratio=ratio))
    assert asked([host], group(VCPU=fits)).fits
    assert refused([host], group(VCPU=fits + 1)) == [Constraint.CAPACITY]


def test_an_amount_outside_the_unit_limits_is_refused():
    """`stocktake why` refuses an amount below min_unit, above max_unit or between two steps of step_size."""
    host = of("host", stock("VCPU", 12, min_unit=2, max_unit=8, step_size=2))
    assert refused([host], group(VCPU=1)) == [Constraint.MIN_UNIT, Constraint.STEP_SIZE]
    steps = asked([host], group(VCPU=5)).obstacles
    assert [o.constraint for o in steps] == [Constraint.STEP_SIZE]
    assert [r.number for r in steps[0].remedies] == [4, 6]
    assert refused([host], group(VCPU=10)) == [Constraint.MAX_UNIT]


def test_refusal_reasons_stand_in_the_order_of_placement():
    """`stocktake why` lists the reasons of a refusal in the order in which Placement checks a request."""
    obstacles = refused([HOST], group(VCPU=64, DISK_GB=1, MEMORY_MB=9000, member_of=["other"]))
    assert obstacles == [
        Constraint.RESOURCE_CLASS,
        Constraint.MAX_UNIT,
        Constraint.MAX_UNIT,
        Constraint.CAPACITY,
        Constraint.MEMBER_OF,
    ]


def test_required_traits_may_be_on_several_providers():
    """Two required traits of the unnumbered request group may be on two providers that serve the group."""
    world = [HOST, *PF]
    assert asked(world, group(VCPU=1, VF=1, required=["CUSTOM_A", "NET_B"])).fits
    assert refused(world, group(VCPU=1, VF=1, required=["NET_A", "NET_B"])) == [Constraint.REQUIRED_TRAIT]
    lone = asked(world, group(VF=1, required=["CUSTOM_A"])).obstacles
    assert [o.constraint for o in lone] == [Constraint.REQUIRED_TRAIT]
    assert "the trait is on host, which cannot serve the request" in lone[0].words
    assert lone[0].remedies == (Remedy(kind=RemedyKind.ADD_TRAIT, provider_uuid="pf0", name="CUSTOM_A"),)


FULL = of("host", stock("VCPU", 4), used=(("VCPU", 4),), traits=["CUSTOM_A"])


def test_why_reports_a_full_host_and_its_missing_trait():
    """`stocktake why` reports both that a host has no free capacity and that it lacks the requested trait."""
    short, missing = asked([FULL], group(VCPU=1, required=["CUSTOM_A", "CUSTOM_Z"])).obstacles
    assert (short.constraint, missing.constraint) == (Constraint.CAPACITY, Constraint.REQUIRED_TRAIT)
    assert missing.words == "none of the providers that have a requested class (host) has trait CUSTOM_Z"
    assert (missing.change, missing.suffix) == ("add trait CUSTOM_Z to host", "")
    assert refused([FULL], group(VCPU=1), group("1", VCPU=1, required=["CUSTOM_Z"])).count(
        Constraint.REQUIRED_TRAIT
    ) == 1  # fmt: skip


def test_the_advice_to_add_a_trait_ignores_free_capacity():
    """`stocktake why` advises to add a missing trait to a host, whether the host is full or empty."""
    wanted = group(VCPU=1, VF=1, required=["CUSTOM_Z"])
    now = asked([*PF, FULL], wanted).obstacles[-1]
    [then] = asked([*PF, of("host", stock("VCPU", 4))], wanted).obstacles
    assert now.remedies == then.remedies == (
        Remedy(kind=RemedyKind.ADD_TRAIT, provider_uuid="host", name="CUSTOM_Z"),
    )  # fmt: skip


def test_other_providers_with_the_missing_trait_are_shown():
    """If no suitable provider has a requested trait, `stocktake why` shows other providers with the trait."""
    missing = asked([HOST, *PF], group(VF=5, required=["CUSTOM_A"])).obstacles[-1]
    assert missing.words == (
        "none of the providers that have a requested class (pf0, pf1) has trait CUSTOM_A; "
        "the trait is on host, which cannot serve the request"
    )
    two = [HOST, of("nic", parent="host", root="host", traits=["CUSTOM_A"]), *PF]
    both = asked(two, group(VF=5, required=["CUSTOM_A"])).obstacles[-1]
    assert both.words.endswith("; the trait is on host, nic, which cannot serve the request")


def test_adding_a_forbidden_trait_is_not_advised():
    """`stocktake why` does not advise to add a trait that the request also forbids."""
    missing = asked([HOST, *PF], group(VF=5, required=["NET_A CUSTOM_Z"], forbidden=["NET_A"])).obstacles[-1]
    assert (missing.constraint, missing.change) == (Constraint.REQUIRED_TRAIT, "add trait CUSTOM_Z to pf1")


def test_a_trait_of_a_full_provider_is_not_reported_missing():
    """`stocktake why` reports no missing trait if a provider without free capacity has the trait."""
    assert refused([HOST, *PF], group(VCPU=64, VF=5, required=["NET_B"])) == [Constraint.MAX_UNIT, Constraint.CAPACITY]
    assert refused([HOST, NFS], group(VCPU=1, DISK_GB=10, in_tree="host", required=[SHARES])) == [Constraint.IN_TREE]
    assert refused([HOST], group(VCPU=1, in_tree="nobody", required=["CUSTOM_Z"])) == [Constraint.IN_TREE]
    assert refused([HOST], group(DISK_GB=1, required=["CUSTOM_Z"])) == [Constraint.RESOURCE_CLASS]


def test_one_of_several_alternative_traits_is_enough():
    """A request for one of two traits fits a provider that has only one of them."""
    assert asked([HOST], group(VCPU=1, required=["CUSTOM_Z CUSTOM_A"])).fits
    assert asked([HOST, *PF], group(VF=1, forbidden=["NET_A"])).fits
    both = asked([HOST, *PF], group(VF=1, forbidden=["NET_A", "NET_B"])).obstacles
    assert [o.constraint for o in both] == [Constraint.FORBIDDEN_TRAIT]
    assert both[0].change.startswith("remove trait NET_A from pf0")


def test_a_numbered_group_needs_a_single_provider():
    """All resources of a numbered request group must come from one provider. The unnumbered group may use several."""
    assert asked([HOST, *PF], group("1", VF=4, required=["NET_B"])).fits
    apart = refused([HOST, *PF], group("1", VF=1, VCPU=1))
    assert Constraint.ONE_PROVIDER in apart
    assert asked([HOST, *PF], group(VF=1, VCPU=1)).fits


def test_policy_isolate_needs_a_provider_for_each_group():
    """With group_policy=isolate, `stocktake why` refuses three request groups if only two providers can serve them."""
    groups = [group(str(number), VF=1) for number in range(1, 4)]
    assert asked([HOST, *PF], *groups, group_policy="none").fits
    assert asked([HOST, *PF], *groups[:2], group_policy="isolate").fits
    [obstacle] = asked([HOST, *PF], *groups, group_policy="isolate").obstacles
    assert (obstacle.constraint, obstacle.wanted, obstacle.available) == (Constraint.GROUP_POLICY, 3, 2)


def test_groups_on_the_same_provider_are_added_up():
    """`stocktake why` adds up the amounts of two request groups that can use only the same provider."""
    twice = [group("1", VF=3, required=["NET_A"]), group("2", VF=2, required=["NET_A"])]
    [obstacle] = asked([HOST, *PF], *twice, group_policy="none").obstacles
    assert (obstacle.constraint, obstacle.wanted, obstacle.available) == (Constraint.CAPACITY, 5, 4)
    small = of("pf0", stock("VF", 8, max_unit=4), parent="host", root="host", traits=["NET_A"])
    assert refused([HOST, small], *twice, group_policy="none") == [Constraint.MAX_UNIT]


def test_why_advises_less_if_two_groups_exceed_max_unit():
    """If two request groups together exceed max_unit of a provider, `stocktake why` advises to request less."""
    host = of("host", stock("VCPU", 4, max_unit=4, allocation_ratio=4.0), used=(("VCPU", 12),))
    [obstacle] = asked([host], group("1", VCPU=3), group("2", VCPU=3), group_policy="none").obstacles
    assert (obstacle.constraint, obstacle.remedies) == (Constraint.CAPACITY, ())
    assert obstacle.change == "ask for at most 4 VCPU in all groups together"
    [obstacle] = asked([host], group("1", VCPU=3), group("2", VCPU=2), group_policy="none").obstacles
    assert obstacle.remedies == ()
    wide = of("host", stock("VCPU", 4, max_unit=5, allocation_ratio=4.0), used=(("VCPU", 12),))
    [obstacle] = asked([wide], group("1", VCPU=3), group("2", VCPU=2), group_policy="none").obstacles
    assert obstacle.change == "free up 1 VCPU on host, or ask for at most 4 VCPU in all groups together"


def test_all_request_groups_share_the_capacity_of_a_provider():
    """The unnumbered group and a numbered group of a request together may not exceed a provider's capacity."""
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


def test_same_subtree_needs_a_common_top_provider():
    """The groups in same_subtree fit only if one of their providers is above, or the same as, all the others."""
    gpu, nic, cell = group("_GPU", VGPU=1), group("_NIC", VF=1), group("_NUMA", required=["NUMA"])
    world = [HOST, *NUMA]
    near = {"group_policy": "none", "same_subtree": sets("_GPU _NUMA")}
    assert asked(world, gpu, cell, **near).fits
    far = {"group_policy": "none", "same_subtree": sets("_GPU _NIC _NUMA")}
    assert refused(world, gpu, nic, cell, **far) == [Constraint.SAME_SUBTREE]
    moved = of("nic1", stock("VF", 1), parent="numa0", root="host")
    assert asked([HOST, *NUMA[:3], moved], gpu, nic, cell, **far).fits


def test_a_group_needs_a_resource_or_a_required_trait():
    """`stocktake why` refuses a request group in same_subtree that has neither resources nor a required trait."""
    wanted = {"group_policy": "none", "same_subtree": sets("1 2")}
    bare = [group("1", VCPU=1), group("2", in_tree="host")]
    assert refused([HOST, *PF], *bare, **wanted) == [Constraint.ONE_PROVIDER]
    forbidding = [group("1", VCPU=1), group("2", forbidden=["CUSTOM_Z"])]
    assert refused([HOST, *PF], *forbidding, **wanted) == [Constraint.ONE_PROVIDER]


def test_a_child_inherits_aggregates_in_the_unnumbered_group():
    """A child provider inherits the root provider's aggregates only in the unnumbered request group."""
    assert asked([HOST, *PF], group(VF=1, member_of=["agg"])).fits
    assert refused([HOST, *PF], group("1", VF=1, member_of=["agg"])) == [Constraint.MEMBER_OF]
    assert refused([HOST, *PF], group(VF=1, forbidden_aggregates=["agg"])) == [Constraint.FORBIDDEN_AGGREGATE]
    assert asked([HOST, *PF], group("1", VF=1, forbidden_aggregates=["agg"])).fits


def test_one_provider_must_meet_all_member_of_conditions():
    """A request with two member_of conditions fits only if a single provider meets all of them."""
    child = of("pf0", stock("VF", 4), parent="host", root="host", aggregates=["b"])
    assert refused([HOST, child], group(VF=1, member_of=["agg", "b"])) == [Constraint.MEMBER_OF]
    both = of("pf0", stock("VF", 4), parent="host", root="host", aggregates=["b", "agg"])
    assert asked([HOST, both], group(VF=1, member_of=["agg", "b c"])).fits


NFS = of("nfs", stock("DISK_GB", 100), traits=[SHARES], aggregates=["agg"])


def test_a_sharing_provider_needs_a_common_aggregate():
    """A sharing provider, such as shared disk, serves a host only if the two have a common aggregate."""
    disk = group(VCPU=1, DISK_GB=10)
    assert asked([HOST, NFS], disk).fits
    outside = of("host", CPUS)
    assert refused([outside, NFS], disk) == [Constraint.RESOURCE_CLASS]
    through_child = of("pf0", parent="host", root="host", aggregates=["agg"])
    assert asked([outside, through_child, NFS], disk).fits
    assert asked([HOST, NFS], group(VCPU=1), group("1", DISK_GB=10)).fits


def test_in_tree_excludes_sharing_providers_outside_the_tree():
    """With in_tree, the unnumbered request group gets nothing from a sharing provider outside the given tree."""
    assert refused([HOST, NFS], group(VCPU=1, DISK_GB=10, in_tree="host")) == [Constraint.IN_TREE]
    assert asked([HOST, *PF], group(VCPU=1, in_tree="pf0")).fits
    assert refused([HOST], group(VCPU=1, in_tree="nobody")) == [Constraint.IN_TREE]
    assert asked([HOST, NFS], group(VCPU=1), group("1", DISK_GB=10, in_tree="nfs")).fits


def test_a_sharing_provider_is_not_in_the_hosts_aggregates():
    """A sharing provider does not count as a member of the aggregates of the host that it serves."""
    host = of("host", CPUS, aggregates=["agg", "az"])
    assert refused([host, NFS], group(VCPU=1, DISK_GB=10, member_of=["az"])) == [Constraint.MEMBER_OF]
    assert refused([host, NFS], group(VCPU=1, DISK_GB=10, forbidden_aggregates=["az"])) == [
        Constraint.FORBIDDEN_AGGREGATE
    ]


def test_the_root_must_meet_root_required_and_root_forbidden():
    """The root provider must have each trait of root_required and no trait of root_forbidden."""
    wanted = {"root_required": frozenset({"CUSTOM_Z"}), "root_forbidden": frozenset({"CUSTOM_A"})}
    obstacles = asked([HOST], group(VCPU=1), **wanted).obstacles
    assert [(o.constraint, o.change) for o in obstacles] == [
        (Constraint.ROOT_TRAIT, "add trait CUSTOM_Z to host"),
        (Constraint.ROOT_TRAIT, "remove trait CUSTOM_A from host"),
    ]


def test_a_hardware_trait_is_advised_only_for_a_real_feature():
    """`stocktake why` says to add a hardware trait such as HW_CPU_X86_VMX only if the provider has the feature."""
    [obstacle] = asked([HOST], group("1", VCPU=1, required=["HW_CPU_X86_VMX"])).obstacles
    end = "if the provider really has this feature; otherwise leave the trait out of the request"
    assert obstacle.change == f"add trait HW_CPU_X86_VMX to host {end}"
    able = of("host", CPUS, traits=["HW_CPU_X86_VMX"])
    [obstacle] = asked([able], group(VCPU=1, forbidden=["HW_CPU_X86_VMX"])).obstacles
    assert obstacle.change.startswith(
        "remove trait HW_CPU_X86_VMX from host if the provider does not have this feature; otherwise allow"
    )


def test_the_advice_is_to_enable_a_disabled_service():
    """On a host with COMPUTE_STATUS_DISABLED, `stocktake why` advises the command that enables the compute service."""
    host = of("host", CPUS, traits=["COMPUTE_STATUS_DISABLED"])
    [obstacle] = asked([host], group(VCPU=1, forbidden=["COMPUTE_STATUS_DISABLED"])).obstacles
    assert obstacle.change == "enable the compute service of host (openstack compute service set --enable)"


def test_the_provider_with_the_smallest_shortage_is_shown():
    """If no provider has enough, `stocktake why` shows the provider that lacks the least."""
    fewest = of("pf2", stock("VF", 4), parent="host", root="host", used=(("VF", 2),))
    twice = of("pf3", stock("VF", 4), parent="host", root="host", used=(("VF", 2),), traits=["NET_A"])
    [obstacle] = asked([HOST, twice, fewest], group("1", VF=3, forbidden=["NET_A"])).obstacles
    assert (obstacle.provider_uuid, obstacle.available) == ("pf2", 2)
    least_short = [
        of(f"f{used}", stock("VF", 4), parent="host", root="host", used=(("VF", used),)) for used in (4, 1, 3)
    ]
    assert asked([HOST, *least_short], group("1", VF=4)).obstacles[0].provider_uuid == "f1"


def test_why_lists_fitting_trees_before_other_trees():
    """`stocktake why` lists the provider trees that fit the request before all other provider trees.

    A tree that lacks a requested resource class comes last.
    """
    world = OfferedProviders(
        providers=(of("a", MEMORY), of("b", CPUS, stock("MEMORY_MB", 8), aggregates=["x"]), of("c", CPUS, MEMORY))
    )
    order = [tree.root_name for tree in why(ResourceRequest(groups=(group(VCPU=64, MEMORY_MB=16),)), world).trees]
    assert order == ["c", "b", "a"]
    fits = why(ResourceRequest(groups=(group(VCPU=1),)), world)
    assert ([tree.root_name for tree in fits.trees], fits.fits) == (["b", "c", "a"], True)


def test_why_lists_nothing_if_placement_has_no_provider():
    """`stocktake why` lists no provider tree if Placement contains no provider."""
    assert why(ResourceRequest(groups=(group(VCPU=1),)), OfferedProviders(providers=())).trees == ()
