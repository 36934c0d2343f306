"""The sums of findings in a host's state: numbers, amounts per class, the oldest and the worst finding."""

from dataclasses import replace

import pytest

from agent.bus.finding_sums import no_sums, sums_of
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.finding import Finding, FindingState, SeenFinding, Severity
from agent.model.placement import ROOT

RECORDED = Origin("placement", "allocations", "x")
PROMISED = Origin("nova", "instances", "x")
HELD = Origin("libvirt", "domain", "x")


def claim(resource_class: str, amount: int, source: Origin = RECORDED, key: str = "guest") -> Claim:
    return Claim(
        consumer=Consumer(key=key, kind="instance", uuid=key),
        cause=Cause.INSTANCE,
        resource_class=resource_class,
        amount=amount,
        provider_key=ROOT,
        source=source,
    )


def seen(code: str = "allocation-leaked", severity: Severity = Severity.ERROR, **changes: object) -> SeenFinding:
    about = {name: changes.pop(name) for name in ("subject", "evidence", "headline", "actual") if name in changes}
    finding = Finding(code=code, severity=severity, remedy="", expected="", **{"actual": "8 VCPU", **about})
    made = SeenFinding(finding=finding, confirmed=False, first_seen_at="2026-11-21T09:00:00.000Z")
    return replace(made, **changes)


def sums(*findings: SeenFinding, books_read: bool = True) -> dict:
    return sums_of(findings, books_read=books_read)


def test_unconfirmed_findings_are_counted_only_by_severity():
    """A message about the host counts all findings by severity, and only confirmed findings by code."""
    found = sums(
        seen(subject="a", confirmed=True),
        seen(subject="b"),
        seen("cpu-offline", Severity.INFO, confirmed=True),
    )
    assert found["severities"] == {"error": 2, "info": 1}
    assert found["confirmed"] == {"allocation-leaked": 1, "cpu-offline": 1}


def test_findings_that_cannot_be_checked_are_counted_by_code():
    """The field `unknown` has the number of findings of each code that the agent cannot check now."""
    lost = {"state": FindingState.UNKNOWN, "confirmed": True}
    found = sums(
        seen(subject="a", last_seen_at="2026-11-21T10:00:00.000Z", **lost),
        seen(subject="b", last_seen_at="2026-11-21T09:30:00.000Z", **lost),
        seen(subject="c", last_seen_at="2026-11-21T08:00:00.000Z"),
    )
    assert found["unknown"] == {"allocation-leaked": 2}
    assert found["unknown_since"] == "2026-11-21T09:30:00.000Z"
    assert found["confirmed"] == {"allocation-leaked": 2}


def test_the_field_causes_by_code_counts_only_causes():
    """A stale allocation causes the finding `over-capacity`; `causes_by_code` counts only the stale allocation."""
    root = seen("allocation-stale-move")
    symptom = seen("over-capacity", caused_by=(root.finding.id,))
    found = sums(root, symptom)
    assert found["causes_by_code"] == {"allocation-stale-move": 1}
    assert found["severities"] == {"error": 2}


def test_leaked_and_stale_allocations_are_added_up():
    """A host's message shows the sum of leaked and stale allocations for each resource class."""
    evidence = (claim("VCPU", 8), claim("MEMORY_MB", 4096), claim("VCPU", 99, HELD))
    found = sums(
        seen(evidence=evidence),
        seen("allocation-stale-move", evidence=(claim("VCPU", 2, key="moved"),)),
        seen("guest-unknown", evidence=(claim("VCPU", 500),)),
    )
    assert found["leaked"] == {"MEMORY_MB": 4096, "VCPU": 10}
    assert found["missing"] == {}


def test_the_missing_amount_is_what_placement_lacks():
    """Nova counts 4 VCPU that are not allocated in Placement; the field `missing` shows 4 VCPU."""
    evidence = (claim("VCPU", 4, PROMISED), claim("VCPU", 4, HELD))
    found = sums(seen("allocation-missing", evidence=evidence))
    assert (found["missing"], found["leaked"]) == ({"VCPU": 4}, {})


def test_a_leak_in_two_findings_is_counted_once():
    """Two findings report the same 8 VCPU in leaked allocations; the field `leaked` shows 8 VCPU, not 16."""
    evidence = (claim("VCPU", 8),)
    assert sums(seen(evidence=evidence), seen(subject="again", evidence=evidence))["leaked"] == {"VCPU": 8}


def test_an_unknown_leaked_amount_is_null_and_not_zero():
    """If the agent does not know whether allocations are leaked, the field `leaked` is null and not zero."""
    found = sums(books_read=False)
    assert (found["leaked"], found["missing"]) == (None, None)


def test_the_leaked_amount_includes_unchecked_old_leaks():
    """An earlier audit found a leak of 8 VCPU.

    The field `leaked` still shows 8 VCPU if the agent cannot check the leak now.
    """
    remembered = seen(evidence=(claim("VCPU", 8),), state=FindingState.UNKNOWN)
    assert sums(remembered, books_read=False)["leaked"] == {"VCPU": 8}


def test_the_worst_finding_is_the_oldest_of_the_severest():
    """A host's message shows one finding as the worst: the oldest among those of the highest severity."""
    older = "2026-11-20T00:00:00.000Z"
    found = sums(
        seen("cpu-offline", Severity.INFO, first_seen_at="2026-11-01T00:00:00.000Z"),
        seen("rival-writer", headline="nova-compute is alive", first_seen_at=older),
        seen("allocation-leaked"),
    )
    assert found["worst"] == {
        "code": "rival-writer",
        "severity": "error",
        "headline": "nova-compute is alive",
        "first_seen_at": older,
    }
    assert found["oldest_at"] == "2026-11-01T00:00:00.000Z"


def test_the_worst_finding_is_never_a_symptom():
    """A finding that another finding caused is not shown as the worst, even if its severity is higher."""
    root = seen("guest-unknown", Severity.WARNING)
    symptom = seen("over-capacity", caused_by=(root.finding.id,))
    assert sums(root, symptom)["worst"]["code"] == "guest-unknown"


def test_the_headline_of_the_worst_finding_is_short():
    """A host's message shows at most 160 characters of the worst finding's text."""
    assert sums(seen())["worst"]["headline"] == "8 VCPU"
    assert len(sums(seen(actual="x" * 9000))["worst"]["headline"]) == 160


@pytest.mark.parametrize("name", ["oldest_at", "worst", "unknown_since"])
def test_a_host_without_findings_has_no_worst_finding(name):
    """The fields `worst`, `oldest_at` and `unknown_since` of a host's message are null if the host has no finding."""
    assert sums()[name] is None


def test_fields_about_findings_are_null_after_a_failed_audit():
    """If an audit could not look for findings, every field about findings in the host's message is null."""
    assert no_sums().keys() == sums().keys()
    assert set(no_sums().values()) == {None}
