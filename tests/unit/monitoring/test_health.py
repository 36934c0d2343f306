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


def test_all_health_checks_pass_if_every_source_was_read():
    """All checks of the health page pass after an audit that read Placement, nova's database, libvirt and LVM."""
    overall, found = checks(after(report()))
    assert overall == "pass"
    names = {"audit_loop", "placement", "state", "libvirt", "storage", "write_lock", "identity"}
    assert found == dict.fromkeys(names, "pass")


def test_the_health_page_shows_the_provider_and_the_host():
    """The agent's health page contains the uuid of the root provider and the host's name."""
    _, found = document(after(report()), ALIVE, None, Moment("2026-11-25T01:00:00Z", 0.0), None)
    assert (found["version"], found["serviceId"], found["description"]) == ("1.0", PROVIDER, "stocktake-agent")
    assert found["notes"] == {"host": "compute-17", "hostname": "compute-17.example.org"}


def test_only_the_audit_loop_is_checked_before_an_audit():
    """Before the first audit ends, the agent's health page contains only the check audit_loop."""
    assert checks(HealthState()) == ("pass", {"audit_loop": "pass"})


@pytest.mark.parametrize(
    ("lost", "name"), [("placement", "placement"), ("state", "state"), ("libvirt", "libvirt"), ("lvm", "storage")]
)
def test_a_health_check_fails_after_three_failed_reads(lost, name):
    """If a source such as libvirt is unreadable, its health check warns for two audits and fails at the third."""
    gone = report(source(lost, ok=False))
    found = [checks(after(report(), *[gone] * times))[1][name] for times in (0, 1, 2, 3)]
    assert found == ["pass", "warn", "warn", "fail"]
    assert checks(after(gone, gone, gone, report())) == checks(after(report()))


def test_a_health_check_fails_at_once_for_bad_credentials():
    """If Placement refuses the agent's credentials, the health check of Placement fails after the first audit."""
    assert checks(after(report(source("placement", ok=False, denied=True))))[1]["placement"] == "fail"


def test_a_health_check_is_kept_if_its_source_is_not_read():
    """If an audit does not try to read a source, an earlier health check of the source keeps its status."""
    not_asked = report(source("placement", ok=False, asked=False))
    assert checks(after(not_asked))[1]["placement"] == "warn"
    assert checks(after(report(), not_asked))[1]["placement"] == "pass"
    gone = report(source("placement", ok=False))
    assert checks(after(gone, gone, not_asked, gone))[1]["placement"] == "fail"


def test_the_lock_check_fails_after_three_audits():
    """The health check write_lock warns after one and two audits without the write lock, and fails after three."""
    missed = report(lock_missed=True)
    assert [checks(after(*[missed] * times))[1]["write_lock"] for times in (1, 2, 3)] == ["warn", "warn", "fail"]


def test_the_identity_check_warns_without_a_provider_uuid():
    """The health check identity warns if the agent does not know the uuid of the host's root provider."""
    assert checks(after(report(provider_uuid=None))) == ("warn", checks(after(report()))[1] | {"identity": "warn"})


@pytest.mark.parametrize(("failures", "status"), [(0, "pass"), (1, "warn"), (2, "warn"), (3, "fail"), (9, "fail")])
def test_the_message_bus_check_fails_after_three_failures(failures, status):
    """The health check message_bus warns after one failure of the message bus, and fails after three."""
    assert checks(after(report()), bus=BusState(failures=failures))[1]["message_bus"] == status


@pytest.mark.parametrize(
    ("loop", "status"),
    [
        (Loop(is_alive=True, running_s=119.9), "pass"),
        (Loop(is_alive=True, running_s=120.0), "warn"),
        (Loop(is_alive=False, running_s=1.0), "fail"),
    ],
)
def test_the_audit_loop_check_fails_if_the_loop_has_ended(loop, status):
    """The health check audit_loop fails if the agent's audit loop has ended."""
    overall, found = checks(after(report()), loop=loop)
    assert (overall, found["audit_loop"]) == (status, status)


def test_health_checks_warn_if_the_last_audit_is_too_old():
    """If the last audit is older than the expiry time, the health checks of the sources warn."""
    state = after(report())
    assert checks(state, now=300.0, expire_s=300.0)[0] == "pass"
    overall, found = checks(state, now=300.1, expire_s=300.0)
    assert (overall, found["placement"], found["audit_loop"]) == ("warn", "warn", "pass")
    assert checks(state, now=1e9, expire_s=None)[0] == "pass"


def test_a_reload_keeps_the_failure_count_of_a_health_check():
    """A health check fails after its source was unreadable three times, even if a reload came in between."""
    gone = report(source("placement", ok=False))
    state = without_checks(after(gone, gone))
    assert checks(state) == ("pass", {"audit_loop": "pass"})
    assert checks(after(gone, state=state))[1]["placement"] == "fail"


def test_a_failed_health_check_shows_a_short_reason():
    """A health check that does not pass shows the error in its field output, shortened to 300 characters."""
    gone = report(replace(source("placement", ok=False), error="x" * 5000))
    _, found = document(after(gone), ALIVE, None, Moment("2026-11-25T01:00:00Z", 0.0), None)
    assert found["checks"]["placement"]["output"] == "x" * 300
    assert "output" not in found["checks"]["libvirt"]


def test_findings_do_not_change_the_health_status():
    """The agent's health status is still "pass" after an audit that reported findings."""
    assert REPORT.findings
    assert checks(after(report()))[0] == Status.PASS.value
