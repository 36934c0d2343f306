"""The health that follows from the audits' reports."""

from dataclasses import replace

import pytest

from agent.model.report import SourceStatus
from agent.monitoring.health import BusState, HealthState, Loop, Moment, Status, after_audit, document, without_checks
from tests.rigs.reports import PROVIDER, REPORT

ALIVE = Loop(is_alive=True, running_s=0.0)


def source(name, ok=True, **more):
    return SourceStatus(name=name, ok=ok, age_s=0.0, duration_ms=1.0, error=None if ok else f"{name}: gone", **more)


def report(*sources, **more):
    read = {s.name: s for s in (source("placement"), source("state"), source("libvirt"), source("lvm"), *sources)}
    return replace(REPORT, sources=tuple(read.values()), **more)


def after(*reports, state=None):
    state = state or HealthState()
    for number, one in enumerate(reports):
        state = after_audit(state, one, Moment("2026-11-25T00:00:00Z", 60.0 * number))
    return state


def checks(state, loop=ALIVE, bus=None, now=0.0, expire_s=None):
    overall, found = document(state, loop, bus, Moment("2026-11-25T01:00:00Z", now), expire_s)
    return overall.value, {name: check["status"] for name, check in found["checks"].items()}


def test_all_checks_pass_after_an_audit_that_read_every_source():
    overall, found = checks(after(report()))
    assert overall == "pass"
    names = {"audit_loop", "placement", "state", "libvirt", "storage", "write_lock", "identity"}
    assert found == dict.fromkeys(names, "pass")


def test_the_health_document_names_the_provider_and_the_host():
    _, found = document(after(report()), ALIVE, None, Moment("2026-11-25T01:00:00Z", 0.0), None)
    assert (found["version"], found["serviceId"], found["description"]) == ("1.0", PROVIDER, "stocktake-agent")
    assert found["notes"] == {"host": "compute-17", "hostname": "compute-17.example.org"}


def test_the_health_report_checks_only_the_audit_loop_before_the_first_audit():
    assert checks(HealthState()) == ("pass", {"audit_loop": "pass"})


@pytest.mark.parametrize(
    ("lost", "name"), [("placement", "placement"), ("state", "state"), ("libvirt", "libvirt"), ("lvm", "storage")]
)
def test_a_source_check_warns_after_one_failed_read_and_fails_after_three(lost, name):
    gone = report(source(lost, ok=False))
    found = [checks(after(report(), *[gone] * times))[1][name] for times in (0, 1, 2, 3)]
    assert found == ["pass", "warn", "warn", "fail"]
    assert checks(after(gone, gone, gone, report())) == checks(after(report()))


def test_a_source_check_fails_at_once_if_the_source_refuses_the_credentials():
    assert checks(after(report(source("placement", ok=False, denied=True))))[1]["placement"] == "fail"


def test_a_source_check_keeps_its_state_if_an_audit_does_not_read_the_source():
    not_asked = report(source("placement", ok=False, asked=False))
    assert checks(after(not_asked))[1]["placement"] == "warn"
    assert checks(after(report(), not_asked))[1]["placement"] == "pass"
    gone = report(source("placement", ok=False))
    assert checks(after(gone, gone, not_asked, gone))[1]["placement"] == "fail"


def test_the_write_lock_check_fails_after_three_audits_without_the_lock():
    missed = report(lock_missed=True)
    assert [checks(after(*[missed] * times))[1]["write_lock"] for times in (1, 2, 3)] == ["warn", "warn", "fail"]


def test_the_identity_check_warns_while_the_provider_uuid_is_unknown():
    assert checks(after(report(provider_uuid=None))) == ("warn", checks(after(report()))[1] | {"identity": "warn"})


@pytest.mark.parametrize(("failures", "status"), [(0, "pass"), (1, "warn"), (2, "warn"), (3, "fail"), (9, "fail")])
def test_the_message_bus_check_warns_and_later_fails_while_the_broker_is_lost(failures, status):
    assert checks(after(report()), bus=BusState(failures=failures))[1]["message_bus"] == status


@pytest.mark.parametrize(
    ("loop", "status"),
    [
        (Loop(is_alive=True, running_s=119.9), "pass"),
        (Loop(is_alive=True, running_s=120.0), "warn"),
        (Loop(is_alive=False, running_s=1.0), "fail"),
    ],
)
def test_the_audit_loop_check_warns_in_a_long_audit_and_fails_if_the_loop_died(loop, status):
    overall, found = checks(after(report()), loop=loop)
    assert (overall, found["audit_loop"]) == (status, status)


def test_a_check_warns_if_its_last_result_is_too_old():
    """The overall status warns too."""
    state = after(report())
    assert checks(state, now=300.0, expire_s=300.0)[0] == "pass"
    overall, found = checks(state, now=300.1, expire_s=300.0)
    assert (overall, found["placement"], found["audit_loop"]) == ("warn", "warn", "pass")
    assert checks(state, now=1e9, expire_s=None)[0] == "pass"


def test_a_reload_drops_the_check_results_but_keeps_the_failure_counts():
    """So a single failed read after the reload may fail the check of a source."""
    gone = report(source("placement", ok=False))
    state = without_checks(after(gone, gone))
    assert checks(state) == ("pass", {"audit_loop": "pass"})
    assert checks(after(gone, state=state))[1]["placement"] == "fail"


def test_a_check_that_does_not_pass_gives_the_reason_in_at_most_300_characters():
    gone = report(replace(source("placement", ok=False), error="x" * 5000))
    _, found = document(after(gone), ALIVE, None, Moment("2026-11-25T01:00:00Z", 0.0), None)
    assert found["checks"]["placement"]["output"] == "x" * 300
    assert "output" not in found["checks"]["libvirt"]


def test_findings_do_not_change_the_health_status():
    """The agent's health status is still `pass` after an audit that reported findings."""
    assert REPORT.findings
    assert checks(after(report()))[0] == Status.PASS.value
