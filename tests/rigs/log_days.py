"""A day of audits for the log's state machine: their reports while a source is away, with a clock of their own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from agent.model.finding import Finding, FindingState, GoneFinding, SeenFinding, Severity
from agent.model.plan import HeldBack, Plan
from agent.model.report import AuditReport, HostSummary, Outcome, SourceStatus
from agent.telemetry.audit_log import LogState, lines
from agent.telemetry.event_log import Line

ROOT = "1c5b1bd4-1a0b-4f1a-9f0e-3f6c7a1f0001"
START = "2026-11-22T03:11:07.000Z"
SOURCES = ("placement", "state", "libvirt", "lvm", "images")
CLASSES = ("DISK_GB", "MEMORY_MB", "PCPU", "VCPU")


def view() -> HostSummary:
    """Return the numbers of nova's three lines."""
    return HostSummary(
        node="node-1", free_ram_mib=7000, free_disk_gib=90, free_vcpus=32, total_vcpus=48, used_vcpus=16,
        phys_ram_mib=65536, used_ram_mib=8704, phys_disk_gib=100, used_disk_gib=10,
    )  # fmt: skip


def report_of(*findings: SeenFinding, lost: str | None = None, error: str = "", **changes: object) -> AuditReport:
    """Return an audit's report with these findings, without the source ``lost``."""
    sources = tuple(
        SourceStatus(name=name, ok=name != lost, age_s=0, duration_ms=1, error=error if name == lost else None)
        for name in SOURCES
    )
    outcome = Outcome.PARTIAL if lost else Outcome.FINDINGS if findings else Outcome.CLEAN
    report = AuditReport(
        audit_id="0b5f9a52-7f0e-4c5e-9a39-1d9b8e1a8f60", host="host-1", node="node-1", provider_uuid=ROOT, role="owner",
        reasons=("interval",), started_at=START, duration_ms=412.0, outcome=outcome, sources=sources,
        findings=findings, summary=view(),
    )  # fmt: skip
    return replace(report, **changes)  # type: ignore[arg-type]


def leak(number: int = 0) -> Finding:
    """Return a finding about an instance that Placement still counts."""
    return Finding(
        code="allocation-stale-move", severity=Severity.ERROR, remedy="run heal", expected="nothing",
        actual="Placement counts 8 VCPU, 16384 MiB, 80 GiB here; the instance lives on compute-2",
        provider_uuid=ROOT, consumer_uuid=f"95a20332-20e6-52bf-aeae-{number:012}",
        rests_on=frozenset({"placement", "state"}),
    )  # fmt: skip


def seen(finding: Finding, state: FindingState = FindingState.CONFIRMED, *because: str) -> SeenFinding:
    """Return the finding in this state, unknown because these sources are unread."""
    return SeenFinding(
        finding=finding, confirmed=state is not FindingState.SEEN, first_seen_at=START, last_seen_at=START, state=state,
        unknown_because=because,
    )  # fmt: skip


def unavailable(source: str, error: str, severity: Severity = Severity.WARNING, frozen: str = "") -> Finding:
    """Return the finding about a source that cannot be read."""
    return Finding(
        code="source-unavailable", severity=severity, remedy="look", expected="an answer that can be read",
        actual=f"{error}; {frozen}", subject=source, provider_uuid=ROOT, facts=(("frozen", frozen),),
    )  # fmt: skip


@dataclass
class Day:
    """The log of a daemon; each audit is ``audit`` seconds after the one before."""

    summary_interval_s: float = 3600.0
    state: LogState = field(default_factory=LogState)
    now: float = 0.0
    logged: list[Line] = field(default_factory=list)

    def audit(self, report: AuditReport, after_s: float = 60.0) -> list[Line]:
        """Return the lines from INFO up that this audit logs."""
        self.now += after_s
        self.state, logged = lines(self.state, report, self.now, self.summary_interval_s)
        shown = [line for line in logged if line.level >= 20]
        self.logged += shown
        return shown


def outage(source: str, audits: int, step_s: float) -> list[AuditReport]:
    """Return the reports of an outage of ``source``: three findings are not known, and each error has a new id."""
    because = "libvirt could not be read"
    held = () if source == "placement" else tuple(HeldBack(provider_uuid=ROOT, what=n, why=because) for n in CLASSES)
    reports = []
    for number in range(audits):
        until = f"2026-11-22T{number % 24:02}:00:00Z"
        error = f"{source}: GET /: no answer [req-{number}]; the agent sends nothing before {until}"
        severity = Severity.ERROR if number >= 2 and number * step_s >= 300 else Severity.WARNING
        about = unavailable(source, error, severity, "nothing is written; DISK_GB, MEMORY_MB, VCPU stay")
        state = FindingState.SEEN if number == 0 else FindingState.CONFIRMED
        leaks = [seen(leak(n), FindingState.UNKNOWN, source) for n in range(3)]
        reports.append(report_of(*leaks, seen(about, state), lost=source, error=error, plan=Plan(held_back=held)))
    return reports


def gone(finding: SeenFinding, reason: object, words: str, **changes: object) -> GoneFinding:
    """Return the finding as gone."""
    return GoneFinding(seen=finding, reason=reason, words=words, **changes)  # type: ignore[arg-type]
