"""Decide the health of the agent from the reports of its audits: one check per source, and checks of the agent itself.

The document has the form of nova's health checks (nova spec "per-process healthchecks"): an object with one object per
check, not the arrays of the draft for application/health+json. Findings never change the health, because a monitoring
system may restart an unhealthy agent, and a restart repairs no leak.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from agent.model.report import AuditReport, SourceStatus
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, PMEM, STATE

#: A check fails after this number of failed audits in a row; before that, the check warns.
FAIL_AFTER = 3
#: The seconds after which the check ``audit_loop`` warns about a running audit. The check fails if ``Loop.is_alive`` is
#: False.
LONG_AUDIT_S = 120.0
_MOST_OUTPUT = 300
_STORES = frozenset({LVM, FILESYSTEM, IMAGES, CEPH, PMEM})
_SINGLE = (PLACEMENT, STATE, LIBVIRT)


class Status(enum.Enum):
    """The state of a check, and of the whole agent; in the order from best to worst."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The state of one check, and when it was last updated: ``at`` in ISO 8601 UTC, ``seen`` in monotonic seconds."""

    status: Status
    at: str
    seen: float
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusState:
    """The connection to the message bus; ``failures`` counts the tries in a row that failed."""

    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthState:
    """Each check by its name, and in how many audits in a row the check has failed (``losses``).

    A reload of the configuration removes the checks but keeps ``losses``.
    """

    checks: Mapping[str, Check] = field(default_factory=dict)
    losses: Mapping[str, int] = field(default_factory=dict)
    service_id: str | None = None
    host: str = ""
    hostname: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """The state of the worker thread.

    ``is_alive``: whether the watchdog counts the thread as alive. ``running_s``: how many seconds its audit has run.
    """

    is_alive: bool
    running_s: float


class Moment(NamedTuple):
    """The present, as ISO 8601 UTC and in monotonic seconds."""

    at: str
    now: float


def after_audit(state: HealthState, report: AuditReport, moment: Moment) -> HealthState:
    """Return the state after one audit that ended at ``moment``."""
    results = {
        **{name: _source(report.sources, (name,)) for name in _SINGLE},
        "storage": _source(report.sources, _STORES),
        "write_lock": "another process has the lock, so nothing was written" if report.lock_missed else "",
    }
    checks, losses = dict(state.checks), dict(state.losses)
    for name, problem in results.items():
        if problem is None:
            if name in _SINGLE and name not in checks:
                checks[name] = _check(moment, Status.WARN, "not asked yet")
            continue
        losses[name] = losses.get(name, 0) + 1 if problem else 0
        is_denied = any(source.denied for source in report.sources if source.name == name)
        checks[name] = _check(moment, _status(losses[name], is_denied), problem)
    known = report.provider_uuid is not None
    output = "" if known else "the uuid of this host's resource provider is not known"
    checks["identity"] = _check(moment, Status.PASS if known else Status.WARN, output)
    return replace(
        state,
        checks=checks,
        losses=losses,
        service_id=report.provider_uuid,
        host=report.host,
        hostname=report.node or report.host,
    )


def without_checks(state: HealthState) -> HealthState:
    """Return the state for a reload: without check results, but with the counts of failed audits in a row."""
    return replace(state, checks={})


def document(
    state: HealthState, loop: Loop, bus: BusState | None, moment: Moment, expire_s: float | None
) -> tuple[Status, dict[str, Any]]:
    """Return the agent's status and the JSON document.

    A check gets the status "warn" if no audit updated the check for more than ``expire_s`` seconds. If ``expire_s`` is
    None, no check expires. ``bus`` is None if no message bus is configured.
    """
    checks = {"audit_loop": _loop(loop, moment), **state.checks}
    if bus is not None:
        checks["message_bus"] = _bus(bus, moment)
    ages = {name: moment.now - check.seen for name, check in checks.items()}
    expired = {name for name, age_s in ages.items() if expire_s is not None and age_s > expire_s}
    shown = {name: _expired(check, ages[name]) if name in expired else _shown(check) for name, check in checks.items()}
    statuses = [check.status for name, check in checks.items() if name not in expired]
    worst = max(statuses, key=list(Status).index, default=Status.FAIL)
    overall = Status.WARN if expired and worst is Status.PASS else worst
    return overall, {
        "status": overall.value,
        "version": "1.0",
        "serviceId": state.service_id,
        "description": "stocktake-agent",
        "notes": {"host": state.host, "hostname": state.hostname},
        "checks": dict(sorted(shown.items())),
    }


def _source(sources: Iterable[SourceStatus], names: Iterable[str]) -> str | None:
    """Return the error of the first source in ``names`` that the audit could not read.

    The result is "" if the audit read all of them, and None if it did not try to read any of them.
    """
    asked = [source for source in sources if source.name in names and source.asked]
    if not asked:
        return None
    return next((source.error or "not read" for source in asked if not source.ok), "")


def _check(moment: Moment, status: Status, output: str = "") -> Check:
    return Check(status=status, at=moment.at, seen=moment.now, output=output[:_MOST_OUTPUT])


def _status(losses: int, is_denied: bool) -> Status:  # noqa: FBT001 - a fact, no choice of behaviour
    if not losses:
        return Status.PASS
    return Status.FAIL if is_denied or losses >= FAIL_AFTER else Status.WARN


def _loop(loop: Loop, moment: Moment) -> Check:
    if not loop.is_alive:
        output = "no audit has made progress for 180 s, or libvirt does not answer; the watchdog restarts the agent"
        return _check(moment, Status.FAIL, output)
    if loop.running_s >= LONG_AUDIT_S:
        return _check(moment, Status.WARN, f"an audit has run for {loop.running_s:.0f} s")
    return _check(moment, Status.PASS)


def _bus(bus: BusState, moment: Moment) -> Check:
    output = f"messages failed {bus.failures} times in a row" if bus.failures else ""
    return _check(moment, _status(bus.failures, is_denied=False), output)


def _shown(check: Check) -> dict[str, str]:
    shown = {"status": check.status.value, "time": check.at}
    return {**shown, "output": check.output} if check.status is not Status.PASS else shown


def _expired(check: Check, age_s: float) -> dict[str, str]:
    output = f"no audit has updated this check for {age_s:.0f} s; the last status was {check.status.value}"
    return {"status": Status.WARN.value, "time": check.at, "output": output}
