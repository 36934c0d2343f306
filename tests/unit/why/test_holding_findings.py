"""Findings of the same audit whose amounts explain a short capacity, each amount counted once."""

import dataclasses

import pytest

from agent.model.claim import Cause
from agent.model.finding import Finding, SeenFinding, Severity
from agent.model.own_consumers import OWN_KIND
from agent.model.report import InventoryRow, Verdict
from agent.repairs import BY_CODE
from agent.why.holding_findings import holding
from agent.why.model import Constraint, Obstacle, TreeAnswer
from agent.why.report import HoldingFinding
from tests.rigs.reports import DISK, PROVIDER, REPORT

ROW = REPORT.ledger[0]
SHORT = Obstacle(
    constraint=Constraint.CAPACITY, words="w", change="c", resource_class="DISK_GB", provider_uuid=PROVIDER
)
TERMS = InventoryRow(
    provider="p", provider_uuid=PROVIDER, wanted=DISK, recorded=DISK, used=0, terms=(("foreign-volume", 120),)
)


def row(key, verdict, *, promised=None, held=None, recorded=None, **changes):
    wanted = {"resource_class": "DISK_GB", "consumer_uuid": key, "consumer_key": key, "verdict": verdict, **changes}
    return dataclasses.replace(ROW, promised=promised, held=held, recorded=recorded, **wanted)


def found(code, consumer=None, *, subject="", confirmed=True, resource_class=None):
    finding = Finding(
        code=code, severity=Severity.ERROR, remedy="r", expected="e", actual="a", consumer_uuid=consumer,
        subject=subject, resource_class=resource_class,
    )  # fmt: skip
    return SeenFinding(finding=finding, confirmed=confirmed, first_seen_at="2026-11-21T09:00:00.000Z")


MOVED = row("moved", Verdict.ALLOCATION_STALE_MOVE, recorded=80)
VOLUME = row("vg/backup", Verdict.UNMANAGED, held=120, cause=Cause.FOREIGN_VOLUME.value)


def held_by(rows, findings, first=SHORT, **changes):
    report = dataclasses.replace(REPORT, ledger=tuple(rows), findings=tuple(findings), **{"inventory": (), **changes})
    return holding(report, TreeAnswer(root_uuid=PROVIDER, root_name="h", obstacles=(first,)), BY_CODE.keys())


def amounts(*arguments, **changes):
    return [(held.code, held.amount, held.healable) for held in held_by(*arguments, **changes)]


def test_why_shows_blocked_capacity_for_each_kind_of_finding():
    """`stocktake why` shows how much disk space each kind of finding blocks."""
    rows = (VOLUME, row("web", Verdict.AGREED, promised=40, held=40, recorded=40), MOVED)
    findings = (found("volume-foreign", subject="vg/backup"), found("allocation-stale-move", "moved", confirmed=False))
    volume = HoldingFinding(
        code="volume-foreign", resource_class="DISK_GB", amount=120, findings=1, confirmed=True, healable=False
    )
    moved = dataclasses.replace(volume, code="allocation-stale-move", amount=80, confirmed=False, healable=True)
    assert held_by(rows, findings, inventory=(TERMS,)) == (moved, volume)


def test_why_adds_up_findings_of_the_same_kind():
    """`stocktake why` adds up two `allocation-leaked` findings of 3 GiB and 4 GiB to 7 GiB."""
    rows = (row("one", Verdict.ALLOCATION_LEAKED, recorded=3), row("two", Verdict.ALLOCATION_LEAKED, recorded=4))
    (held,) = held_by(rows, [found("allocation-leaked", "one"), found("allocation-leaked", "two")])
    assert (held.amount, held.findings) == (7, 2)


def test_why_counts_a_consumer_with_two_findings_once():
    """`stocktake why` counts a consumer's 80 GiB once, even if two findings are about this consumer."""
    spread = found("consumer-on-several-providers", "moved")
    assert amounts((MOVED,), (found("allocation-stale-move", "moved"), spread)) == [("allocation-stale-move", 80, True)]
    assert amounts((MOVED,), (spread,)) == [("consumer-on-several-providers", 80, True)]


def test_why_counts_only_the_surplus_of_an_allocation():
    """If an allocation has 50 GiB instead of 40 GiB, `stocktake why` counts 10 GiB as lost capacity."""
    more = row("web", Verdict.ALLOCATION_DIFFERS, promised=40, held=40, recorded=50)
    less = row("db", Verdict.ALLOCATION_DIFFERS, promised=40, held=40, recorded=30)
    findings = [found("allocation-differs", key, resource_class="DISK_GB") for key in ("web", "db")]
    assert amounts((more, less), findings) == [("allocation-differs", 10, True)]


def test_why_ignores_an_unknown_volume_that_is_not_reserved():
    """`stocktake why` ignores a volume unknown to nova if the agent reserves nothing for it."""
    finding = found("volume-foreign", subject="vg/backup", resource_class="DISK_GB")
    assert amounts((VOLUME,), (finding,)) == []


def test_a_volume_unknown_to_nova_is_counted_once():
    """`stocktake why` counts a volume unknown to nova once, even if the volume has an allocation in Placement."""
    ours = row("ours", Verdict.AGREED, recorded=120, consumer_kind=OWN_KIND, cause=Cause.FOREIGN_VOLUME.value)
    finding = found("volume-foreign", subject="vg/backup")
    assert amounts((ours, VOLUME), (finding, found("companion-leftover", "ours"))) == [("volume-foreign", 120, False)]


@pytest.mark.parametrize(
    "changes", [{"resource_class": "VCPU"}, {"provider_uuid": "another"}], ids=["class", "provider"]
)
def test_why_ignores_findings_about_another_class_or_provider(changes):
    """If a provider lacks DISK_GB, `stocktake why` ignores findings about VCPU or about another provider."""
    assert amounts((dataclasses.replace(MOVED, **changes),), (found("allocation-stale-move", "moved"),)) == []


def test_why_shows_no_sharing_provider_findings_for_a_host():
    """If a host itself lacks capacity, `stocktake why` shows no finding about a sharing provider."""
    anywhere = dataclasses.replace(SHORT, provider_uuid=None)
    child = row("child", Verdict.ALLOCATION_LEAKED, recorded=1, provider_uuid="child")
    outside = row("out", Verdict.ALLOCATION_LEAKED, recorded=9, provider_uuid="shared", outside_tree=True)
    findings = [found("allocation-leaked", "child"), found("allocation-leaked", "out")]
    assert amounts((child, outside), findings, anywhere) == [("allocation-leaked", 1, True)]
    # heal removes allocations from this host's own tree only.
    shared = dataclasses.replace(SHORT, provider_uuid="shared")
    assert amounts((child, outside), findings, shared) == [("allocation-leaked", 9, False)]


def test_why_lists_no_findings_if_max_unit_is_the_limit():
    """If max_unit refuses a request, `stocktake why` lists no findings about capacity."""
    findings = (found("allocation-stale-move", "moved"),)
    assert amounts((MOVED,), findings, dataclasses.replace(SHORT, constraint=Constraint.MAX_UNIT)) == []
    report = dataclasses.replace(REPORT, ledger=(MOVED,), findings=findings)
    assert holding(report, TreeAnswer(root_uuid=PROVIDER, root_name="h"), BY_CODE.keys()) == ()
    assert holding(report, None, BY_CODE.keys()) == ()
