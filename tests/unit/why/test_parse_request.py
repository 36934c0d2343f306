"""How a request is parsed from options and from Placement's own query string; errors name what is wrong."""

import dataclasses

import pytest

from agent.model.nova import Flavor
from agent.model.resource_request import RequestGroup, ResourceRequest
from agent.usage_error import UsageError
from agent.why.flavor import cells_and_page
from agent.why.parse_request import Words, request_of
from tests.rigs import facts

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"


def asked(**words):
    return request_of(Words(**words))


def of_query(query):
    return request_of(Words(query=query))


def test_amounts_of_the_command_line_form_one_request_group():
    """`VCPU=64` on the command line of `stocktake why` becomes a request with one unnumbered group."""
    assert asked(resources=("VCPU=64",)) == ResourceRequest(groups=(RequestGroup(resources=(("VCPU", 64),)),))


def test_a_request_may_be_given_by_options_or_by_a_query():
    """`stocktake why` makes the same request from its options as from an equal query string of Placement."""
    by_options = asked(
        resources=("VCPU=4", "MEMORY_MB:1024"),
        required=("HW_CPU_X86_VMX,CUSTOM_A", "in:CUSTOM_B,CUSTOM_C", "!CUSTOM_D"),
        forbidden=("CUSTOM_E",),
        member_of=(A, f"in:{A},{B}", f"!{B}"),
        in_tree=A.upper(),
    )
    by_query = of_query(
        "resources=VCPU:4,MEMORY_MB:1024&required=HW_CPU_X86_VMX,CUSTOM_A&required=in:CUSTOM_B,CUSTOM_C"
        f"&required=!CUSTOM_D,!CUSTOM_E&member_of={A}&member_of=in:{A},{B}&member_of=!{B}&in_tree={A}"
    )
    assert by_options == by_query
    (group,) = by_options.groups
    assert group.resources == (("MEMORY_MB", 1024), ("VCPU", 4))
    assert set(group.required) == {
        frozenset({"HW_CPU_X86_VMX"}), frozenset({"CUSTOM_A"}), frozenset({"CUSTOM_B", "CUSTOM_C"})
    }  # fmt: skip
    assert group.forbidden == {"CUSTOM_D", "CUSTOM_E"}
    assert set(group.member_of) == {frozenset({A}), frozenset({A, B})}
    assert group.forbidden_aggregates == {B}
    assert group.in_tree == A


@pytest.mark.parametrize(
    "pasted",
    [
        "GET /placement/allocation_candidates?limit=1000&resources=VCPU%3A4 HTTP/1.1",
        '10.0.0.1 "GET /placement/allocation_candidates?limit=1000&resources=VCPU%3A4" status: 200 len: 53',
        "GET call to placement for http://10.0.0.1/allocation_candidates?resources=VCPU:4 used request id req-1",
        '"resources=VCPU:4&limit=1000"',
    ],
)
def test_a_placement_query_is_found_in_a_pasted_log_line(pasted):
    """The operator may paste a log line into `stocktake why`, which finds the allocation_candidates query in it."""
    assert of_query(pasted) == asked(resources=("VCPU=4",))


def test_a_pasted_query_is_parsed_with_all_its_groups():
    """`stocktake why` reads all numbered groups, the group policy and the root traits from a pasted Placement query."""
    request = of_query(
        "/placement/allocation_candidates?group_policy=isolate&limit=1000&resources=VCPU%3A1&resources1=VGPU%3A1"
        "&required1=CUSTOM_X%2C%21CUSTOM_Y&resources_net-2=SRIOV_NET_VF:2&same_subtree=1,_net-2"
        "&root_required=COMPUTE_NODE,!COMPUTE_STATUS_DISABLED"
    )
    assert [(group.suffix, group.resources) for group in request.groups] == [
        ("", (("VCPU", 1),)),
        ("1", (("VGPU", 1),)),
        ("_net-2", (("SRIOV_NET_VF", 2),)),
    ]
    assert request.groups[1].required == (frozenset({"CUSTOM_X"}),)
    assert request.groups[1].forbidden == {"CUSTOM_Y"}
    assert request.group_policy == "isolate"
    assert request.same_subtree == (frozenset({"1", "_net-2"}),)
    assert (request.root_required, request.root_forbidden) == ({"COMPUTE_NODE"}, {"COMPUTE_STATUS_DISABLED"})


def test_classes_and_traits_are_accepted_in_lower_case():
    typed = Words(resources=("vcpu=1",), required=("in:hw_cpu_x86_avx,CUSTOM_a",), forbidden=("custom_b",))
    (group,) = request_of(typed).groups
    assert group.resources == (("VCPU", 1),)
    assert (group.required, group.forbidden) == ((frozenset({"HW_CPU_X86_AVX", "CUSTOM_A"}),), {"CUSTOM_B"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "nothing is asked for"),
        ({"resources": ("VCPU",)}, "does not have the form CLASS=AMOUNT"),
        ({"resources": ("VCPU=",)}, "VCPU=: the amount must be a whole number between"),
        ({"resources": ("VCPU=0",)}, "VCPU=0: the amount must be between 1 and 2147483647"),
        ({"resources": ("VCPU=-3",)}, "VCPU=-3: the amount must be a whole number between"),
        ({"resources": ("VCPU=2147483648",)}, "VCPU=2147483648: the amount must be between"),
        ({"resources": ("VCPU=" + "9" * 5000,)}, "the amount must be between"),
        ({"resources": ("VCPU=1.5",)}, "VCPU=1.5: the amount must be a whole number"),
        ({"resources": ("VCPU=many",)}, "VCPU=many: the amount must be a whole number"),
        ({"resources": ("VCPU=٣",)}, "VCPU=٣: the amount must be a whole number"),
        ({"resources": ("VCPU=1", "VCPU=2")}, "VCPU is given twice"),
        ({"resources": ("vcpu=1", "VCPU=2")}, "VCPU is given twice"),
        ({"resources": ("custom-a=1",)}, "digits and _): did you mean CUSTOM_A?"),
        ({"resources": ("=1",)}, "an empty text is not a name of a resource class"),
        ({"resources": ("VCPU=1",), "required": ("",)}, "contains an empty name"),
        ({"resources": ("VCPU=1",), "required": ("in:CUSTOM_A,!CUSTOM_B",)}, "!CUSTOM_B is not a name of a trait"),
        ({"resources": ("VCPU=1",), "required": ("custom-a",)}, "did you mean CUSTOM_A?"),
        ({"resources": ("VCPU=1",), "required": ("CUSTOM_A",), "forbidden": ("CUSTOM_A",)}, "forbids CUSTOM_A"),
        ({"resources": ("VCPU=1",), "forbidden": ("in:COMPUTE_NODE",)}, "--forbidden in:COMPUTE_NODE: leave out"),
        ({"resources": ("VCPU=1",), "member_of": ("rack-7",)}, "member_of: rack-7 is not a uuid"),
        ({"resources": ("VCPU=1",), "member_of": (f"{A},{B}",)}, "in:A,B"),
        ({"resources": ("VCPU=1",), "in_tree": "host-1"}, "in_tree: host-1 is not a uuid"),
        ({"resources": ("VCPU=1",), "query": "resources=VCPU:1"}, "leave out the other options of the request"),
        ({"query": "resources"}, "is not a query string"),
        ({"query": "resource=VCPU:1"}, "unknown key resource in --query: did you mean resources?"),
        ({"query": "group_policy=none"}, "no group has resources"),
        ({"query": "resources=VCPU:1&required1=CUSTOM_A"}, "group 1 asks for no resources"),
        ({"query": "resources=VCPU:1&same_subtree=1"}, "same_subtree refers to 1"),
        ({"query": "resources1=VGPU:1&resources2=VGPU:1"}, "group_policy=none or group_policy=isolate is needed"),
        ({"query": "resources=VCPU:1&group_policy=maybe"}, "not maybe"),
        ({"query": "resources=VCPU:1&resources=VCPU:2"}, "resources is given 2 times, but may"),
        ({"query": "resources=VCPU:1,VCPU:2"}, "VCPU is asked for twice"),
        ({"query": "resources=VCPU:1&root_required=in:A,B"}, 'root_required does not accept the prefix "in:"'),
        ({"query": "resources=VCPU:1&root_required=A,!A"}, "both asks for and forbids A"),
        ({"query": "resources=VCPU:1&limit=0"}, "limit: 0 is not a limit: use a whole number from 1"),
        ({"query": "resources=VCPU:1&limit=1000&limit="}, "limit: an empty text is not a limit"),
        ({"query": f"resources=VCPU:1&in_tree={A.upper()}"}, f"in_tree: use {A}, because Placement stores this form"),
        ({"query": f"resources1=VCPU:1&member_of1=!in:{B},{A.replace('-', '')}"}, f"use {A}"),
    ],
)  # fmt: skip
def test_a_usage_error_shows_the_invalid_input(words, said):
    """A wrong option of `stocktake why`, such as `VCPU=many`, ends in a usage error that shows what is wrong."""
    with pytest.raises(UsageError) as caught:
        asked(**words)
    assert said in str(caught.value)


def test_a_resource_class_with_umlauts_gets_no_suggestion():
    """`stocktake why` refuses the resource class `CUSTOM_FÖÖ` and suggests no similar name."""
    with pytest.raises(UsageError) as caught:
        asked(resources=("CUSTOM_FÖÖ=1",))
    assert str(caught.value) == "CUSTOM_FÖÖ is not a name of a resource class (use only upper case, digits and _)"


FLAVOR = Flavor(
    id=1, name="m", vcpus=8, memory_mib=2048, root_gib=10, ephemeral_gib=0, swap_mib=1,
    extra_specs=(
        ("resources:VGPU", "1"), ("trait:CUSTOM_A", "required"), ("trait:CUSTOM_B", "forbidden"),
        ("trait1:CUSTOM_C", "required"),
    ),
)  # fmt: skip


def test_a_flavor_becomes_a_request():
    """`stocktake why` requests the resources of an instance's flavor and the traits in the flavor's extra specs."""
    (group,) = request_of(Words(), facts.instance("one", flavor=FLAVOR)).groups
    assert group.resources == (("DISK_GB", 11), ("MEMORY_MB", 2048), ("VCPU", 8), ("VGPU", 1))
    assert group.required == (frozenset({"CUSTOM_A"}),)
    assert group.forbidden == {"CUSTOM_B"}


def test_an_amount_on_the_command_line_overrides_the_flavor():
    """With `VCPU=2` on the command line, `stocktake why` requests 2 VCPU and the flavor's other amounts."""
    (group,) = request_of(Words(resources=("VCPU=2",)), facts.instance("one", flavor=FLAVOR)).groups
    assert dict(group.resources)["VCPU"] == 2
    assert dict(group.resources)["MEMORY_MB"] == 2048


def test_an_unreadable_flavor_raises_a_usage_error():
    """`stocktake why` ends in a usage error if the flavor of the given instance cannot be read."""
    broken = facts.instance("one", flavor=None, problem="no JSON")
    with pytest.raises(UsageError, match="cannot be read: no JSON"):
        request_of(Words(), broken)


@pytest.mark.parametrize(
    ("specs", "wanted"),
    [
        ((), (None, None)),
        ((("hw:numa_nodes", "2"),), (2, None)),
        ((("hw:mem_page_size", "2048"),), (1, 2048)),
        ((("hw:mem_page_size", "1GB"),), (1, 1048576)),
        ((("hw:mem_page_size", "2MB"), ("hw:numa_nodes", "4")), (4, 2048)),
        ((("hw:mem_page_size", "large"),), (1, "large")),
        ((("hw:mem_page_size", "any"),), (1, None)),
        ((("hw:cpu_policy", "dedicated"),), (1, None)),
        ((("hw:cpu_policy", "shared"),), (None, None)),
        ((("hw:numa_nodes", "many"),), (None, None)),
    ],
)
def test_numa_cells_and_page_size_come_from_extra_specs(specs, wanted):
    """`stocktake why` takes a guest's NUMA cells and page size from extra specs such as hw:numa_nodes."""
    assert cells_and_page(dataclasses.replace(FLAVOR, extra_specs=specs)) == wanted
