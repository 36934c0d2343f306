"""Builders of a fleet for the tests of ``watch``: host state messages, what is kept of them, and views."""

import datetime
from typing import Any

from agent.bus.host_state import Sending, host_state
from agent.fleet.expected import ExpectedHost
from agent.fleet.host import HostSeen, host_seen
from agent.fleet.view import CellSeen, ExpectedHosts, FleetView, Moment, fleet_view
from tests.rigs.reports import PROVIDER, REPORT

#: The time of the views, and the monotonic seconds that belong to the time.
AT = datetime.datetime(2026, 11, 22, 3, 11, 7, tzinfo=datetime.UTC)
NOW = 10_000.0
SENT_AT = "2026-11-22T03:11:07.000Z"


def amounts(vcpu: float | None = 12, memory_mib: float | None = 40_960, disk_gib: float | None = 211) -> list[Any]:
    """Return the key ``resources`` of a message with these free amounts."""
    free = {"VCPU": vcpu, "MEMORY_MB": memory_mib, "DISK_GB": disk_gib}
    return [
        {"provider_uuid": PROVIDER, "resource_class": name, "used": 4, "free": value, "total": 48, "reserved": 0,
         "allocation_ratio": 4.0}
        for name, value in free.items()
    ]  # fmt: skip


DOCUMENT = host_state(REPORT, Sending(at=SENT_AT, interval_s=60.0, agent_version="1.2.3"))
#: The values of a host on which nothing is wrong, over the whole message of DOCUMENT.
CLEAN = {
    "outcome": "clean", "sources_lost": [], "findings": {}, "severities": {}, "confirmed": {}, "unknown": {},
    "causes_by_code": {}, "leaked": {}, "missing": {}, "uncovered": {}, "oldest_at": None,
    "oldest_by_code": {}, "worst": None, "held_back": 0,
    "resources": amounts(),
}  # fmt: skip


def clean(host: str = "compute-1", **changes: Any) -> dict[str, Any]:
    """Return the message of a clean host, with changes."""
    return {**DOCUMENT, **CLEAN, "host": host, **changes}


def broken(
    host: str = "compute-1", code: str = "allocation-leaked", severity: str = "error", number: int = 1, **changes: Any
) -> dict[str, Any]:
    """Return the message of a host with ``number`` findings of one code, the first one seen 12 minutes ago."""
    found = {code: number}
    made = {
        "outcome": "findings", "findings": found, "severities": {severity: number}, "causes_by_code": found,
        "oldest_at": "2026-11-22T02:59:07.000Z", "oldest_by_code": {code: "2026-11-22T02:59:07.000Z"},
        "worst": {"code": code, "severity": severity, "headline": "billing: deleted, and 8 VCPU are counted",
                  "first_seen_at": "2026-11-22T02:59:07.000Z"},
    }  # fmt: skip
    return clean(host, **{**made, **changes})


def seen(document: dict[str, Any], age_s: float = 0.0) -> HostSeen:
    """Return what is kept of a message that arrived ``age_s`` before NOW."""
    return host_seen(document, NOW - age_s)


def cell(*hosts: HostSeen, **changes: Any) -> CellSeen:
    """Return a cell that is watched since 13 minutes."""
    made = {"name": "", "broker": "rabbit://rabbit.example.org:5672/", "began_at": NOW - 780}
    began = AT - datetime.timedelta(seconds=780)
    return CellSeen(**{**made, "began": began, "hosts": hosts, **changes})


def expected(*hosts: str | ExpectedHost) -> ExpectedHosts:
    """Return a list of expected hosts that was read."""
    return ExpectedHosts(hosts=tuple(ExpectedHost(host=each) if isinstance(each, str) else each for each in hosts))


def view(*cells: CellSeen, everywhere: ExpectedHosts | None = None, **moment: Any) -> FleetView:
    """Return the view of these cells at NOW."""
    return fleet_view(cells, everywhere, Moment(**{"now": NOW, "at": AT, **moment}))
