"""The audit log has a line for each change, and few lines in all."""

import logging
from dataclasses import replace

import pytest

from agent.errors import PlacementDenied
from agent.model.finding import Finding, FindingState, GoneFinding, GoneReason, SeenFinding, Severity
from agent.model.placement import Inventory
from agent.model.plan import HeldBack, Plan, PutInventories
from agent.model.report import AuditReport, HostSummary, NovaVersions, Outcome, SourceStatus
from agent.telemetry import events
from agent.telemetry.audit_log import LogState, lines
from agent.telemetry.event_log import emit
from agent.telemetry.events import FINAL_VIEW, HYPERVISOR_VIEW, USABLE_VCPUS
from agent.telemetry.lines import views

ROOT = "1c5b1bd4-1a0b-4f1a-9f0e-3f6c7a1f0001"
CONSUMER = "1c5b1bd4-1a0b-4f1a-9f0e-3f6c7a1f0002"
HOUR = 3600.0

SUMMARY = HostSummary(
    node="node-1", free_ram_mib=7000, free_disk_gib=90, free_vcpus=32, total_vcpus=48, used_vcpus=16,
    phys_ram_mib=65536, used_ram_mib=8704, phys_disk_gib=100, used_disk_gib=10,
    pci_devices=2, pci_stats=("8086:1515 x2 on 0000:81:00.0",),
)  # fmt: skip

REPORT = AuditReport(
    audit_id="a-1", host="host-1", node="node-1", provider_uuid=ROOT, role="owner", reasons=("interval",),
    started_at="2026-01-01T00:00:00.000Z", duration_ms=12.0, outcome=Outcome.CLEAN, requests=1, attempts=1,
    sources=(
        SourceStatus(name="placement", ok=True, age_s=0, duration_ms=1, error=None),
        SourceStatus(name="libvirt", ok=True, age_s=0, duration_ms=1, error=None),
    ),
    summary=SUMMARY,
)  # fmt: skip

LEAK = Finding(
    code="allocation-leaked", severity=Severity.WARNING, remedy="stocktake heal", expected="no allocation",
    actual="VCPU 4", provider_uuid=ROOT, consumer_uuid=CONSUMER, resource_class="VCPU",
)  # fmt: skip


def seen(finding: Finding = LEAK, *, confirmed: bool = False) -> SeenFinding:
    return SeenFinding(finding=finding, confirmed=confirmed, first_seen_at="2026-01-01T00:00:00.000Z")


def lost(report: AuditReport, name: str, error: str = "libvirt: refused", *, denied: bool = False) -> AuditReport:
    gone = {"ok": False, "error": error, "age_s": 60, "denied": denied}
    sources = tuple(replace(s, **gone) if s.name == name else s for s in report.sources)
    return replace(report, sources=sources, outcome=Outcome.PARTIAL)


def with_gone(report: AuditReport, state: LogState) -> AuditReport:
    """Return the report of an audit that checked all findings: those that it did not find are gone."""
    if report.outcome in {Outcome.CRASHED, Outcome.UNREADABLE, Outcome.CANCELLED}:
        return report
    found = {one.finding.id for one in report.findings}
    ended = [one.seen for finding_id, one in state.findings.items() if finding_id not in found]
    gone = tuple(GoneFinding(seen=one, reason=GoneReason.PLACEMENT_CHANGED, words="8 VCPU -> nothing") for one in ended)
    return replace(report, gone=gone)


class Log:
    """A log that receives audits a minute apart and returns the lines at INFO or above."""

    def __init__(self):
        self.state = LogState()
        self.now = 0.0

    def audit(self, report: AuditReport, *, after_s: float = 60.0) -> list[str]:
        self.now += after_s
        report = with_gone(report, self.state)
        self.state, told = lines(self.state, report, self.now, HOUR)
        assert all(line.fields["audit_id"] == report.audit_id for line in told)
        self.last = told
        return [line.event for line in told if line.level >= logging.INFO]


@pytest.fixture
def log() -> Log:
    log = Log()
    log.audit(REPORT)
    return log


def test_the_first_audit_logs_the_resource_views():
    """The agent's first audit logs its outcome and then the resource views that nova-compute logs as well."""
    assert Log().audit(REPORT) == [
        events.OUTCOME_CHANGED,
        events.FIRST_AUDIT_DONE,
        HYPERVISOR_VIEW,
        USABLE_VCPUS,
        FINAL_VIEW,
    ]


def test_resource_views_have_the_format_of_nova_compute(log):
    """The agent logs the host's memory, disk and vCPUs in the format of nova-compute's resource views."""
    texts = [line.event % line.words for line in views(SUMMARY)]
    assert texts == [
        "Hypervisor/Node resource view: name=node-1 free_ram=7000MB free_disk=90GB free_vcpus=32 pci_devices=2",
        "Total usable vcpus: 48, total allocated vcpus: 16",
        "Final resource view: name=node-1 phys_ram=65536MB used_ram=8704MB phys_disk=100GB used_disk=10GB"
        " total_vcpus=48 used_vcpus=16 pci_stats=[8086:1515 x2 on 0000:81:00.0] stats={}",
    ]


def test_the_vcpus_line_is_omitted_on_a_host_without_vcpus():
    """The agent does not log the line "Total usable vcpus" if the host has no usable vCPUs."""
    texts = [line.event % line.words for line in views(replace(SUMMARY, free_vcpus=None, total_vcpus=0, used_vcpus=0))]
    assert [text.split(":")[0] for text in texts] == ["Hypervisor/Node resource view", "Final resource view"]
    assert "free_vcpus=unknown" in texts[0]


def test_a_change_of_only_free_memory_and_disk_is_not_logged(log):
    """The agent does not log its resource views again if only the free memory and disk change."""
    assert log.audit(replace(REPORT, summary=replace(SUMMARY, free_ram_mib=1, free_disk_gib=2))) == []
    assert len(log.audit(replace(REPORT, summary=replace(SUMMARY, used_vcpus=17)))) == 3


def test_an_audit_without_changes_logs_a_single_debug_line(log):
    assert log.audit(REPORT) == []
    (line,) = log.last
    assert (line.level, line.event) == (logging.DEBUG, events.AUDIT_DONE)
    assert line.fields["reasons"] == ("interval",)


def test_a_day_without_changes_logs_fewer_than_150_lines():
    """If each audit of a day finds the same state, the agent logs fewer than 150 lines at level INFO or above."""
    log = Log()
    told = [
        event
        for minute in range(1440)
        for event in log.audit(replace(REPORT, audit_id=f"a-{minute}", summary=replace(SUMMARY, free_ram_mib=minute)))
    ]
    assert told.count(events.SUMMARY) == 23
    assert len(told) < 150


def test_a_finding_is_logged_when_it_changes(log):
    """The agent logs a finding when it appears, is confirmed, gets another value, or is gone."""
    changed = seen(replace(LEAK, actual="VCPU 8"), confirmed=True)
    assert log.audit(replace(REPORT, findings=(seen(),))) == [events.FINDING_APPEARED]
    assert log.audit(replace(REPORT, findings=(seen(confirmed=True),)), after_s=0.1) == [events.FINDING_CONFIRMED]
    assert log.audit(replace(REPORT, findings=(seen(confirmed=True),))) == []
    assert log.audit(replace(REPORT, findings=(changed,)), after_s=200) == [events.FINDING_CHANGED]
    assert log.audit(REPORT) == [events.FINDING_GONE]


def test_the_log_line_of_a_finding_contains_its_fields(log):
    """The log line of a new finding contains its finding code, severity, subject and remedy."""
    log.audit(replace(REPORT, findings=(seen(replace(LEAK, facts=(("size_bytes", 7),))),)))
    fields = next(line.fields for line in log.last if line.event == events.FINDING_APPEARED)
    assert fields == {
        "audit_id": "a-1", "code": "allocation-leaked", "finding_id": LEAK.id, "severity": "warning",
        "state": "seen", "subject": f"consumer {CONSUMER}",
        "confirmed": False, "provider_uuid": ROOT, "consumer_uuid": CONSUMER, "resource_class": "VCPU",
        "expected": "no allocation", "actual": "VCPU 4", "remedy": "stocktake heal",
        "first_seen_at": "2026-01-01T00:00:00.000Z", "size_bytes": 7,
    }  # fmt: skip


def test_an_unreadable_source_does_not_end_a_finding(log):
    """An audit that cannot read Placement does not log a finding about Placement as gone."""
    log.audit(replace(REPORT, findings=(seen(),)))
    unknown = replace(seen(), state=FindingState.UNKNOWN, unknown_because=("placement",))
    assert events.FINDING_GONE not in log.audit(lost(replace(REPORT, findings=(unknown,)), "placement"))
    back = log.audit(replace(REPORT, findings=(seen(),)))
    assert back == [events.SOURCE_BACK, events.OUTCOME_CHANGED, events.FINDINGS_KNOWN_AGAIN]
    assert events.FINDING_GONE in log.audit(REPORT)


def test_a_finding_can_end_if_an_unrelated_source_is_unread(log):
    """The agent logs a finding as gone even if an unrelated source could not be read."""
    log.audit(lost(replace(REPORT, findings=(seen(),)), "libvirt"))
    assert events.FINDING_GONE in log.audit(lost(REPORT, "libvirt"))


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.UNREADABLE, Outcome.CANCELLED])
def test_a_failed_audit_does_not_end_a_finding(log, outcome):
    """The agent does not log a finding as gone after an audit that crashed, was cancelled or could read nothing."""
    log.audit(replace(REPORT, findings=(seen(),)))
    assert events.FINDING_GONE not in log.audit(replace(REPORT, outcome=outcome, sources=()))
    assert log.audit(replace(REPORT, findings=(seen(),))) in ([], [events.OUTCOME_CHANGED])


def test_a_finding_that_keeps_changing_is_logged_rarely(log):
    """If a finding's value changes in every audit of a day, the agent logs at most 60 of the changes."""
    told = sum(
        len(log.audit(replace(REPORT, summary=None, findings=(seen(replace(LEAK, actual=f"VCPU {minute}")),))))
        for minute in range(24 * 60)
    )
    assert 20 <= told - 23 <= 60
    for _ in range(61):
        log.audit(replace(REPORT, findings=(seen(replace(LEAK, actual="VCPU last")),)))
    assert log.state.findings[LEAK.id].seen.finding.actual == "VCPU last"


def test_a_finding_that_comes_and_goes_is_logged_rarely(log):
    """If a finding appears and ends all day long, the agent logs at most six appearances an hour on average."""
    told = [
        event
        for minute in range(1440)
        for event in log.audit(replace(REPORT, findings=(seen(),) if minute % 2 else ()))
    ]
    assert told.count(events.FINDING_APPEARED) <= 24 * 6
    assert abs(told.count(events.FINDING_APPEARED) - told.count(events.FINDING_GONE)) <= 1


def test_a_lost_source_is_logged_less_and_less_often(log):
    """In 16 audits without libvirt, the agent logs the loss of libvirt once, and then only four reminders."""
    told = [event for _ in range(16) for event in log.audit(lost(REPORT, "libvirt"))]
    assert told == [events.SOURCE_LOST, events.OUTCOME_CHANGED, *[events.SOURCE_STILL_LOST] * 4]
    assert log.audit(REPORT) == [events.SOURCE_BACK, events.OUTCOME_CHANGED]


def test_the_log_line_of_a_lost_source_has_error_and_age(log):
    """If libvirt cannot be read, the agent logs the error and the age of the last data from libvirt."""
    log.audit(lost(REPORT, "libvirt"))
    line = next(line for line in log.last if line.event == events.SOURCE_LOST)
    assert line.fields == {
        "audit_id": "a-1", "source": "libvirt", "error": "libvirt: refused", "times": 1, "age_s": 60
    }  # fmt: skip


def test_an_often_unreadable_libvirt_causes_few_log_lines(log):
    """If every second audit cannot read libvirt, the agent logs "source lost" at most six times an hour."""
    told = [event for minute in range(1440) for event in log.audit(lost(REPORT, "libvirt") if minute % 2 else REPORT)]
    assert told.count(events.SOURCE_LOST) <= 24 * 6
    assert told.count(events.SOURCE_LOST) == told.count(events.SOURCE_BACK)


def test_a_write_to_placement_is_logged_with_its_values(log):
    """The log line about a write to Placement contains the new values of the inventory."""
    vcpu = Inventory(
        resource_class="VCPU", total=48, reserved=0, min_unit=1, max_unit=48, step_size=1, allocation_ratio=4.0
    )
    plan = Plan(writes=(PutInventories(provider_uuid=ROOT, inventories=(vcpu,)),))
    assert log.audit(replace(REPORT, plan=plan, writes_done=1, requests=2)) == [events.PLACEMENT_WRITTEN]
    fields = next(line.fields for line in log.last if line.event == events.PLACEMENT_WRITTEN)
    amounts = "total=48 VCPU reserved=0 VCPU max_unit=48 VCPU"
    assert fields["what"] == (f"{ROOT}: inventories VCPU {amounts} allocation_ratio=4.0",)
    assert (fields["writes"], fields["requests"], fields["conflicts"]) == (1, 2, 0)


def test_a_write_that_stays_impossible_is_logged_only_once(log):
    """The agent cannot write an amount to Placement in two audits, and logs this only in the first audit."""
    held = replace(REPORT, plan=Plan(held_back=(HeldBack(provider_uuid=ROOT, what="DISK_GB", why="lvm unread"),)))
    assert log.audit(held) == [events.WRITE_HELD_BACK]
    assert log.audit(held) == []


def test_a_repeated_error_is_logged_less_and_less_often(log):
    """The agent logs a repeated error of its audits at the occurrences 1, 2, 4, 8 and so on."""
    failing = replace(REPORT, error="placement: denied (HTTP 403)")
    assert sum(events.AUDIT_ERROR in log.audit(failing) for _ in range(1024)) == 11
    log.audit(REPORT)
    assert events.AUDIT_ERROR in log.audit(failing)


def test_an_error_with_another_request_id_is_the_same_error(log):
    """Errors that differ only in a time or a request ID count as one repeated error, so the agent logs them rarely."""

    def failing(number: int) -> AuditReport:
        until = f"the agent sends nothing before 2026-11-22T02:{number:02}:00Z: HTTP 503"
        error = PlacementDenied(f"PUT /x: {until}", status=403, request_id=f"req-{number}")
        return replace(REPORT, error=str(error))

    assert sum(events.AUDIT_ERROR in log.audit(failing(number)) for number in range(32)) == 6
    assert events.AUDIT_ERROR in log.audit(replace(REPORT, error="placement: PUT /y: denied"))


def test_the_hourly_summary_counts_audits_and_conflicts(log):
    """Once an hour the agent logs the numbers of its audits, outcomes, requests, conflicts and findings."""
    for number in range(59):
        kinds = (("no-room", 1), ("provider-generation", 2)) if number % 2 else ()
        log.audit(
            replace(
                REPORT,
                conflicts=3 * (number % 2),
                conflict_kinds=kinds,
                writes_done=0,
                findings=(seen(confirmed=True),),
            )
        )
    assert log.audit(replace(REPORT, findings=(seen(confirmed=True),)))[0] == events.SUMMARY
    fields = next(line.fields for line in log.last if line.event == events.SUMMARY)
    assert fields == {
        "audit_id": "a-1", "audits": 61, "outcomes": ("clean:61",), "requests": 61, "conflicts": 87, "writes": 0,
        "conflict_kinds": ("no-room:29", "provider-generation:58"), "findings": 1, "confirmed": 1, "outcome": "clean",
        "causes": 1, "errors": 0, "warnings": 1, "not_known": 0, "unread": (), "role": "owner",
    }  # fmt: skip


def test_the_placement_microversion_is_logged_on_change(log):
    """The agent logs Placement's newest microversion in its first audit and again if the microversion changes."""
    asked = [(1, 36), (1, 36), None, (1, 36), (1, 39), (1, 39)]
    told = [events.PLACEMENT_SPEAKS in log.audit(replace(REPORT, microversion=newest)) for newest in asked]
    assert told == [True, False, False, False, True, False]


def test_the_log_lists_features_that_placement_has_or_lacks(log):
    """The agent logs which optional features Placement's newest microversion has and which it lacks."""
    log.audit(replace(REPORT, microversion=(1, 37)))
    (line,) = [line for line in log.last if line.event == events.PLACEMENT_SPEAKS]
    assert (line.level, line.fields) == (
        logging.INFO,
        {
            "audit_id": "a-1",
            "microversions_up_to": "1.37",
            "uses": ("re-parent providers (1.37)",),
            "lacks": ("consumer types (1.38)", "any-of traits (1.39)"),
        },
    )


def test_nova_versions_are_logged_at_start_and_on_change(log):
    """The agent logs the versions of nova's services in its first audit and again if one of them changes."""
    old, new = versions(67, 74), versions(74, 74)
    told = [events.NOVA_SPEAKS in log.audit(replace(REPORT, nova_versions=each)) for each in (old, old, None, old, new)]
    assert told == [True, False, False, False, True]


@pytest.mark.parametrize(
    ("version", "release"),
    [
        (65, "older than OpenStack 2023.1, not tested"),
        (67, "OpenStack 2024.1 or 2024.2"),
        (69, "OpenStack 2025.2"),
        (74, "OpenStack 2026.2"),
        (75, "newer than OpenStack 2026.2, not tested"),
    ],
)
def test_nova_versions_are_logged_with_their_release(log, version, release):
    """The agent logs the service version of nova-compute with its release, for example 69 (OpenStack 2025.2)."""
    log.audit(replace(REPORT, nova_versions=versions(version, 74)))
    (line,) = [line for line in log.last if line.event == events.NOVA_SPEAKS]
    assert line.fields["nova_compute"] == f"{version} ({release})"
    assert line.fields["nova_conductors"] == ("74 (OpenStack 2026.2)",)


@pytest.mark.parametrize(
    ("compute", "conductors", "lacks"), [(74, (73, 74), 1), (72, (), 1), (74, (74,), 0), (None, (), 0)]
)
def test_the_log_says_that_an_old_nova_lacks_two_indexes(log, compute, conductors, lacks):
    """If a nova service is older than version 74, the agent logs that nova's database lacks two indexes."""
    log.audit(replace(REPORT, nova_versions=versions(compute, *conductors)))
    (line,) = [line for line in log.last if line.event == events.NOVA_SPEAKS]
    assert len(line.fields["lacks"]) == lacks
    assert ("nova_compute" in line.fields) == (compute is not None)


def versions(compute: int | None, *conductors: int) -> NovaVersions:
    return NovaVersions(state_source="conductor", compute=compute, conductors=conductors)


def test_a_cancelled_audit_logs_nothing(log):
    """A cancelled audit logs nothing at level INFO or above and does not affect later log lines."""
    before = log.state
    assert log.audit(replace(REPORT, outcome=Outcome.CANCELLED, sources=())) == []
    assert log.state is before


def test_a_reserved_log_field_name_gets_an_underscore(log, caplog):
    """Python's logging reserves names like message. The agent logs a finding's field of that name as message_."""
    facts = (("name", "vg/lv"), ("message", "m"), ("size_bytes", 7))
    log.audit(replace(REPORT, findings=(seen(replace(LEAK, facts=facts)),)))
    with caplog.at_level(logging.DEBUG):
        emit(log.last)
    record = next(record for record in caplog.records if record.msg == events.FINDING_APPEARED)
    assert (record.name_, record.message_, record.size_bytes) == ("vg/lv", "m", 7)


DENIED = lost(REPORT, "placement", "placement: GET /: refused (HTTP 401)", denied=True)
DOWN = lost(REPORT, "placement", "placement: GET /: no answer")


def levels_of(log: Log, *reports: AuditReport) -> list[tuple[str, int]]:
    told = []
    for report in reports:
        log.audit(report)
        told += [(line.event, line.level) for line in log.last if "source" in line.event]
    return told


def test_refused_credentials_are_logged_as_one_error(log):
    """If Placement refuses the agent's credentials, the agent logs one error and after that only warnings."""
    assert levels_of(log, DENIED, DENIED, DENIED, REPORT) == [
        (events.SOURCE_LOST, logging.ERROR),
        (events.SOURCE_STILL_LOST, logging.WARNING),
        (events.SOURCE_BACK, logging.INFO),
    ]


def test_refused_credentials_after_an_outage_are_logged_as_error(log):
    """If Placement is down and then refuses the credentials, the agent logs the first refusal as an error."""
    assert levels_of(log, DOWN, DOWN, DENIED, DENIED) == [
        (events.SOURCE_LOST, logging.WARNING),
        (events.SOURCE_STILL_LOST, logging.WARNING),
        (events.SOURCE_STILL_LOST, logging.ERROR),
        (events.SOURCE_STILL_LOST, logging.WARNING),
    ]


def test_repeated_refusals_are_logged_as_few_errors(log):
    """Placement refuses the agent's credentials in 16 of 32 audits, and the agent logs only five errors."""
    errors = [level for _, level in levels_of(log, *[DENIED, DOWN] * 16) if level == logging.ERROR]
    assert len(errors) == 5
