"""usage-unlisted: what Placement counts beyond its list, by provider and class; nothing if the sums are equal."""

from agent.model.finding import Severity
from agent.model.placement import UnlistedUsage
from agent.model.report import Verdict
from agent.placement.unlisted import difference
from tests.rigs.facts import ROOT_UUID, allocations, findings, snapshot, uuid, view

CODE = "usage-unlisted"
HELD = allocations(uuid("i1"), VCPU=2, DISK_GB=5)
HIDDEN = UnlistedUsage(provider_uuid=ROOT_UUID, resource_class="VCPU", amount=4)


def told(*unlisted: UnlistedUsage):
    return list(findings(snapshot(placement=view(HELD, unlisted=unlisted)), CODE))


def test_usage_beyond_the_allocations_is_reported():
    """If Placement shows more usage than allocations, the finding shows the difference and how to repair it."""
    (found,) = told(HIDDEN)
    assert (found.provider_uuid, found.resource_class, found.severity) == (ROOT_UUID, "VCPU", Severity.WARNING)
    assert dict(found.facts) == {"used": 6, "listed": 2, "unlisted": 4}
    assert (found.expected, found.actual) == (
        "the allocations that Placement lists add up to Placement's usage: 6 VCPU",
        "the listed allocations add up to 2 VCPU; no listed consumer has the other 4 VCPU",
    )
    assert "placement-manage db online_data_migrations" in found.remedy
    assert [claim.amount for claim in found.evidence] == [4]
    assert found.rests_on_recorded


def test_usage_that_equals_the_allocations_is_not_reported():
    """If Placement shows as much usage as allocations, the agent reports nothing."""
    assert told() == []


def test_unlisted_usage_is_the_usage_minus_allocations():
    """For each resource class, the agent subtracts the allocations that Placement lists from Placement's usage."""
    held = HELD + allocations(uuid("i2"), VCPU=8)
    assert list(difference(ROOT_UUID, (("DISK_GB", 5), ("VCPU", 2)), held)) == []
    (more,) = difference(ROOT_UUID, (("DISK_GB", 5), ("VCPU", 14)), held)
    assert (more.resource_class, more.amount) == ("VCPU", 4)
    assert [each.amount for each in difference(ROOT_UUID, (("VGPU", 1),), held)] == [1]
    assert Verdict.USAGE_UNLISTED.value == CODE
