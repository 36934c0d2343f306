"""What the log says of a source that is away: when it is lost, for how long, what is frozen, what is not known.

The day is 1,700 audits: one a minute, and the retries of an outage. The clock is the test's.
"""

import logging

import pytest

from agent.model.finding import FindingState, GoneReason, Severity
from agent.model.report import Outcome
from agent.telemetry import events
from agent.telemetry.text_form import message, size_bytes
from tests.rigs.log_days import START, Day, gone, leak, outage, report_of, seen, unavailable

LEAKS = tuple(seen(leak(number)) for number in range(3))
UNKNOWN = tuple(seen(leak(number), FindingState.UNKNOWN, "placement") for number in range(3))
AUDITS, STEP_S = 1700, 86_400 / 1700


def of(lines, event):
    return [line for line in lines if line.event == event]


def fields(lines, event):
    """Return the fields of the only line of this event, without the audit's id."""
    (line,) = of(lines, event)
    return {name: value for name, value in line.fields.items() if name != "audit_id"}


def text_bytes(line):
    prefix = f"2026-11-22 03:11:07.123 4711 {logging.getLevelName(line.level)} {line.event.logger.value} [-] "
    shown = {("audit" if name == "audit_id" else name): value for name, value in line.fields.items()}
    text = line.event % line.words if line.words else line.event
    return size_bytes(prefix + message(text, shown)) + 1


@pytest.fixture
def day():
    day = Day()
    day.audit(report_of(*LEAKS))
    return day


def a_day(reports):
    """Return the lines of a day after a quiet start, and of the two audits after it."""
    day = Day()
    day.audit(report_of(*LEAKS))
    day.logged.clear()
    for report in reports:
        day.audit(report, STEP_S)
    for _ in range(2):
        day.audit(report_of(*LEAKS), STEP_S)
    return day.logged


@pytest.mark.parametrize("source", ["placement", "state", "libvirt", "lvm", "images"])
def test_a_source_outage_of_a_day_adds_at_most_25_log_lines(source, record_property):
    """If one source, for example Placement or libvirt, fails for a day, the agent logs at most 25 lines more."""
    quiet = a_day([report_of(*LEAKS)] * AUDITS)
    away = a_day(outage(source, AUDITS, STEP_S))
    more = len(away) - len(quiet)
    loud = [line for line in away if line.level >= logging.WARNING]
    added_bytes = sum(map(text_bytes, away)) - sum(map(text_bytes, quiet))
    record_property("lines_added", more)
    record_property("warnings_added", len(loud))
    record_property("bytes_added", added_bytes)
    print(f"{source}: {more} lines more, {len(loud)} of them warnings or errors, {added_bytes} bytes more")
    assert not [line for line in quiet if line.level >= logging.WARNING]
    assert more <= 25
    assert len(loud) <= 20
    assert added_bytes <= 40 * 1024


def test_a_day_without_changes_has_fewer_than_150_log_lines():
    """If the findings stay the same in all audits of a day, the agent logs fewer than 150 lines."""
    assert len(a_day([report_of(*LEAKS)] * AUDITS)) < 150


def test_a_lost_source_is_logged_with_the_resource_classes(day):
    """If Placement cannot be read, the agent logs the error and the resource classes that it no longer updates."""
    frozen = "nothing is written; MEMORY_MB, VCPU stay"
    error = "placement: GET /: no answer"
    finding = seen(unavailable("placement", error, frozen=frozen), FindingState.SEEN)
    logged = day.audit(report_of(*UNKNOWN, finding, lost="placement", error=error))
    assert fields(logged, events.SOURCE_LOST) == {
        "source": "placement", "error": error, "frozen": frozen, "times": 1, "age_s": 0,
    }  # fmt: skip


def test_an_outage_is_logged_with_the_time_of_its_start(day):
    """If Placement stays unreadable, the agent logs the time at which the outage began."""
    for _ in range(2):
        logged = day.audit(report_of(*UNKNOWN, lost="placement", error="no answer"), 135)
    assert fields(logged, events.SOURCE_STILL_LOST) == {
        "source": "placement", "error": "no answer", "since": START, "lost_for_s": 135, "times": 2,
    }  # fmt: skip


def test_the_log_says_how_long_a_source_was_unreadable(day):
    """When Placement can be read again, the agent logs for how many seconds and audits it was unreadable."""
    for _ in range(3):
        day.audit(report_of(*UNKNOWN, lost="placement", error="no answer"))
    assert fields(day.audit(report_of(*LEAKS)), events.SOURCE_BACK) == {
        "source": "placement", "lost_for_s": 180, "audits": 3,
    }  # fmt: skip


def test_a_long_source_outage_is_logged_as_one_error(day):
    """In 40 audits without Placement, the agent logs the outage once as an error and otherwise as a warning."""
    levels = [
        line.level
        for report in outage("placement", 40, 60.0)
        for line in day.audit(report)
        if line.event in {events.SOURCE_LOST, events.SOURCE_STILL_LOST}
    ]
    assert levels.count(logging.ERROR) == 1
    assert set(levels) == {logging.WARNING, logging.ERROR}


def test_a_source_that_was_not_asked_is_not_logged(day):
    """If an audit does not ask Placement at all, the agent logs neither a loss nor a return of Placement."""
    sources = report_of(lost="placement").sources
    not_asked = tuple(
        type(s)(name=s.name, ok=s.ok, age_s=s.age_s, duration_ms=0, error=None, asked=s.name != "placement")
        for s in sources
    )
    assert not of(day.audit(report_of(*UNKNOWN, sources=not_asked)), events.SOURCE_LOST)
    day.audit(report_of(*UNKNOWN, lost="placement", error="no answer"))
    assert not of(day.audit(report_of(*UNKNOWN, sources=not_asked)), events.SOURCE_BACK)
    assert fields(day.audit(report_of(*LEAKS)), events.SOURCE_BACK)["audits"] == 1


def test_unchecked_findings_are_logged_once_per_outage(day):
    """During an outage of Placement, the agent logs only once how many findings it cannot check."""
    other = seen(leak(7), FindingState.UNKNOWN, "placement")
    logged = [
        *day.audit(report_of(*UNKNOWN, lost="placement")),
        *day.audit(report_of(*UNKNOWN, other, lost="placement")),
    ]
    assert fields(logged, events.FINDINGS_UNKNOWN) == {
        "source": "placement", "count": 3, "last_seen_at": START, "codes": ("allocation-stale-move",),
    }  # fmt: skip


def test_findings_are_counted_once_after_an_outage(day):
    """After an outage of Placement, the agent logs once how many findings remain and how many are gone."""
    day.audit(report_of(*UNKNOWN, lost="placement"))
    logged = day.audit(report_of(*LEAKS[:2]))
    assert fields(logged, events.FINDINGS_KNOWN_AGAIN) == {"source": "placement", "count": 2, "gone": 1}
    assert not of(day.audit(report_of(*LEAKS[:2])), events.FINDINGS_KNOWN_AGAIN)


def test_a_complete_audit_logs_the_number_of_findings(day):
    """After an outage of Placement, a complete audit logs the number of findings, and a crashed audit does not."""
    day.audit(report_of(*UNKNOWN, lost="placement"))
    logged = day.audit(report_of(outcome=Outcome.CRASHED, sources=()))
    assert not of(logged, events.FINDINGS_KNOWN_AGAIN)
    assert fields(day.audit(report_of(*LEAKS)), events.FINDINGS_KNOWN_AGAIN)["count"] == 3


def test_an_unstable_source_causes_few_warnings(day):
    """If Placement fails in every second audit of a day, the agent logs at most 18 warnings an hour on average."""
    logged = []
    for minute in range(1440):
        logged += day.audit(report_of(*UNKNOWN, lost="placement") if minute % 2 else report_of(*LEAKS))
    assert len([line for line in logged if line.level >= logging.WARNING]) <= 24 * 18


def test_a_repaired_finding_is_logged_with_its_repairer(day):
    """If an operator repaired a finding with `stocktake heal`, the agent logs who did it and the journal's entry ID."""
    healed = gone(
        LEAKS[0], GoneReason.HEALED, "changed as planned", entry_id="3f9c", actor="alice (sudo), stocktake heal"
    )
    logged = day.audit(report_of(*LEAKS[1:], gone=(healed,)))
    told = fields(logged, events.FINDING_GONE)
    assert (told["reason"], told["actor"], told["entry_id"]) == ("healed", "alice (sudo), stocktake heal", "3f9c")
    assert (told["words"], told["state"]) == ("changed as planned", "gone")


@pytest.mark.parametrize(
    ("severity", "state", "level"),
    [
        (Severity.ERROR, FindingState.SEEN, logging.WARNING),
        (Severity.ERROR, FindingState.CONFIRMED, logging.ERROR),
        (Severity.WARNING, FindingState.CONFIRMED, logging.WARNING),
        (Severity.INFO, FindingState.CONFIRMED, logging.INFO),
    ],
)
def test_an_unconfirmed_finding_is_not_logged_as_an_error(severity, state, level):
    """The agent logs a finding of severity error first as a warning, and as an error only if it is confirmed."""
    finding = seen(unavailable("lvm", "no answer", severity), state)
    (line,) = of(Day().audit(report_of(finding)), events.FINDING_APPEARED)
    assert line.level == level


@pytest.mark.parametrize(
    ("outcome", "level"),
    [
        (Outcome.CLEAN, logging.INFO),
        (Outcome.FINDINGS, logging.INFO),
        (Outcome.PARTIAL, logging.WARNING),
        (Outcome.REFUSED, logging.WARNING),
        (Outcome.UNREADABLE, logging.ERROR),
        (Outcome.CRASHED, logging.ERROR),
    ],
)
def test_a_complete_audit_is_logged_at_level_info(outcome, level):
    """The agent logs a complete audit at INFO, with or without findings, and other audits at a higher level."""
    (line,) = of(Day().audit(report_of(outcome=outcome)), events.OUTCOME_CHANGED)
    assert line.level == level


def test_the_first_audit_is_logged_with_its_numbers():
    """The agent logs its first audit once, with the numbers of findings, errors, warnings and writes."""
    day = Day()
    symptom = seen(leak(1))
    caused = type(symptom)(
        finding=symptom.finding, confirmed=True, first_seen_at=START, caused_by=(LEAKS[0].finding.id,)
    )
    logged = [*day.audit(report_of(LEAKS[0], caused, writes_done=2)), *day.audit(report_of(LEAKS[0]))]
    assert fields(logged, events.FIRST_AUDIT_DONE) == {
        "outcome": "findings", "findings": 2, "causes": 1, "errors": 2, "warnings": 0, "not_known": 0, "unread": (),
        "role": "owner", "duration_ms": 412, "writes": 2,
    }  # fmt: skip


def test_one_log_line_lists_all_writes_that_an_outage_stops(day):
    """If libvirt cannot be read, one warning lists all resource classes that the agent does not write to Placement."""
    (report,) = outage("libvirt", 1, 60.0)
    (line,) = of(day.audit(report), events.WRITE_HELD_BACK)
    assert (line.level, line.fields["what"]) == (logging.WARNING, "DISK_GB, MEMORY_MB, PCPU, VCPU")
    assert line.fields["why"] == "libvirt could not be read"


def test_an_observer_logs_skipped_writes_at_level_info():
    """An agent of role observer never writes to Placement, so it logs skipped writes at INFO and not as a warning."""
    (report,) = outage("libvirt", 1, 60.0)
    observer = type(report)(**{name: getattr(report, name) for name in report.__slots__} | {"role": "observer"})
    (line,) = of(Day().audit(observer), events.WRITE_HELD_BACK)
    assert line.level == logging.INFO
