"""The sections of the report about a running daemon: queue, last audit, sources, findings, health, counters."""

from dataclasses import replace

from agent.model.finding import FindingState
from agent.telemetry.dump import Condition, fields_of, sections
from tests.rigs.log_days import START, leak, outage, report_of, seen

NOW = "2026-11-22T03:15:07+00:00"


def told(condition):
    return dict(sections(condition, NOW))


def test_a_sigusr2_report_before_the_first_audit_shows_none():
    """If SIGUSR2 comes before the first audit, the daemon reports "none" as its last audit."""
    found = told(Condition(waiting=("start-up",), report=None))
    assert found["Audit queue"] == "start-up"
    assert [found[name] for name in ("Last audit", "Sources", "Live findings")] == ["none"] * 3
    assert "audit loop: waits" in found["Health"]


def test_the_sigusr2_report_lists_findings_with_their_age():
    """The daemon writes a report when it gets the signal SIGUSR2.

    The report lists each finding with its severity, code, state, age and ID.
    """
    finding = seen(leak(), FindingState.UNKNOWN, "placement")
    found = told(Condition(waiting=(), report=report_of(finding)))
    assert found["Live findings"] == f"error allocation-stale-move unknown, 240 s old, id {finding.finding.id}"


def test_the_sigusr2_report_survives_an_invalid_date():
    """On the signal SIGUSR2 the daemon reports a finding "of unknown age" if the finding's date is invalid."""
    finding = replace(seen(leak()), first_seen_at="long ago")
    assert "of unknown age" in told(Condition(waiting=(), report=report_of(finding)))["Live findings"]


def test_the_sigusr2_report_says_whether_each_source_was_read():
    """On the signal SIGUSR2 the daemon reports which sources it read, which it lost and which it did not ask."""
    report = report_of(lost="placement", error="no answer")
    sources = tuple(
        replace(s, lost_since=START) if s.name == "placement"
        else replace(s, ok=False, asked=False, not_asked_because="libvirt is unread") if s.name == "state"
        else s
        for s in report.sources
    )  # fmt: skip
    found = told(Condition(waiting=(), report=replace(report, sources=sources)))["Sources"].splitlines()
    assert found[:3] == [
        f"placement: lost since {START}: no answer",
        "state: not asked: libvirt is unread",
        "libvirt: read in 1 ms",
    ]


def test_the_sigusr2_report_shows_what_a_long_audit_reads():
    """On the signal SIGUSR2 the daemon reports how long the running audit has taken and which source it is reading."""
    condition = Condition(
        waiting=(), report=None, running_s=151.2, reading="placement", is_healthy=False, misses=2, bus_failures=7
    )
    assert told(condition)["Health"].splitlines() == [
        "audit loop: the current audit has taken 151 s and is reading placement",
        "watchdog: not fed, systemd will restart the agent",
        "reads of libvirt that timed out in a row: 2",
        "messages in a row that the broker did not accept: 7",
    ]


def test_the_sigusr2_report_lists_the_counters():
    """On the signal SIGUSR2 the daemon reports its counters, for example the numbers of audits and writes."""
    found = told(Condition(waiting=(), report=None, counters={"audits": 61, "writes": 2}))
    assert found["Counters"].splitlines() == ["audits: 61", "writes: 2"]


def test_the_sigusr2_report_escapes_control_characters():
    """If an error text contains a control character, the daemon escapes it in its report on SIGUSR2."""
    (report,) = outage("placement", 1, 60.0)
    report = replace(report, error="answer \x1b[2J")
    assert "\x1b" not in told(Condition(waiting=(), report=report))["Last audit"]


def test_the_sigusr2_log_line_describes_the_audits():
    """On SIGUSR2 the daemon logs the reason of a waiting audit, the last audit's ID and its finding codes."""
    report = report_of(seen(leak()))
    fields = fields_of(Condition(waiting=("interval",), report=report))
    assert (fields["waiting"], fields["last_audit_id"]) == (("interval",), report.audit_id)
    assert fields["findings"] == ("allocation-stale-move",)
