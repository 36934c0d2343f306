"""What ``why`` advises about other hosts, whose allocations this host's audit does not check."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.placement import Inventory, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, RequestGroup, ResourceRequest
from agent.why.answer import why
from agent.why.model import RemedyKind, TreeAnswer
from agent.why.other_hosts import with_advice_for_others


def host(name: str, used: int, **changes: float) -> OfferedProvider:
    inventory = Inventory(resource_class="VCPU", total=10, max_unit=10, allocation_ratio=4.0)
    uuid = f"{name}-uuid"
    provider = Provider(
        uuid=uuid,
        name=name,
        parent_uuid=None,
        generation=1,
        inventories=(dataclasses.replace(inventory, **changes),),  # type: ignore[arg-type]
    )
    return OfferedProvider(provider=provider, root_uuid=uuid, used=(("VCPU", used),))


def trees(wanted: int, *hosts: OfferedProvider, own: str | None = "here-uuid") -> dict[str, TreeAnswer]:
    request = ResourceRequest(groups=(RequestGroup(resources=(("VCPU", wanted),)),))
    answer = with_advice_for_others(why(request, OfferedProviders(providers=hosts, is_whole=True)), own)
    return {tree.root_name: tree for tree in answer.trees}


NOT_CHECKED = 'run "stocktake why" on there: its allocations are not checked from here'


def test_a_higher_ratio_is_not_advised_for_other_hosts():
    """`stocktake why` advises a higher allocation ratio only for the host where the command runs."""
    found = trees(8, host("here", 37), host("there", 37))
    (there,) = found["there"].obstacles
    assert (
        there.change
        == f"ask for at most 3 VCPU in one request; 8 VCPU would be free with a ratio of 4.5; {NOT_CHECKED}"
    )
    assert [remedy.kind for remedy in there.remedies] == [RemedyKind.ASK]


def test_a_higher_ratio_for_this_host_is_advised():
    """`stocktake why` advises to raise cpu_allocation_ratio to 4.5 on the host where the command runs."""
    (here,) = trees(8, host("here", 37), host("there", 37))["here"].obstacles
    assert "raise cpu_allocation_ratio to at least 4.5" in here.change
    assert RemedyKind.RATIO in {remedy.kind for remedy in here.remedies}


@pytest.mark.parametrize("own", [None, "elsewhere-uuid"])
def test_providers_are_of_other_hosts_if_this_host_has_none(own):
    """If this host has no provider in Placement, `stocktake why` treats all providers as those of other hosts."""
    (there,) = trees(8, host("there", 37), own=own)["there"].obstacles
    assert there.change.endswith(NOT_CHECKED)


def test_a_smaller_request_is_not_advised_for_a_full_host():
    """`stocktake why` does not advise a smaller request for a host without free capacity."""
    (there,) = trees(8, host("there", 52))["there"].obstacles
    assert there.change == f"8 VCPU would be free with a ratio of 6; {NOT_CHECKED}"


def test_the_advice_says_that_a_ratio_cannot_raise_max_unit():
    """For a request above another host's max_unit, `stocktake why` says that a higher ratio does not help."""
    found = trees(10, host("there", 0), host("small", 0, max_unit=4))
    assert found["there"].fits
    (small,) = found["small"].obstacles
    assert small.change == "ask for at most 4 VCPU in one request (a higher ratio does not raise max_unit)"
