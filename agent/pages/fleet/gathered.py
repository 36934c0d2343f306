"""Gather the facts of the fleet from one report after another; the caller passes an iterator of reports.

Of each report, only the part that report_file.py extracts stays in memory. If a host has several reports, the latest
report counts.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from agent.errors import SourceError
from agent.fleet.host import SLACK_S
from agent.fleet.view import CellSeen, ExpectedHosts, Moment, fleet_view
from agent.pages.fleet.facts import FleetFacts, Unreadable
from agent.pages.fleet.report_file import Document, HostReport, host_report

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Facts about the folder of reports.

    ``expected``: the hosts that should have a report, None if there is no such list.
    """

    source: str
    made: datetime.datetime
    version: str = ""
    expected: ExpectedHosts | None = None


def gathered(files: Iterable[tuple[str, Document | SourceError]], folder: Folder) -> FleetFacts:
    """Return the facts of all reports.

    The page's time is the time of the newest audit. It is never later than ``folder.made``, the time of this call,
    because the clock of a host may be wrong.

    ``files`` has the name of each file, and its document or the error of reading the file.
    """
    latest: dict[str, tuple[HostReport, str]] = {}
    unreadable: list[Unreadable] = []
    number = 0
    for name, document in files:
        try:
            report = _report(document)
        except SourceError as error:
            unreadable.append(Unreadable(file=name, why=error.message))
            continue
        number += 1
        known = latest.get(report.seen.host)
        if known is None or (known[0].audited_s, known[1]) < (report.audited_s, name):
            latest[report.seen.host] = report, name
    reports = [report for report, _ in latest.values()]
    newest = min(max((each.audited_s for each in reports), default=folder.made.timestamp()), folder.made.timestamp())
    cell = CellSeen(
        name="",
        broker="",
        hosts=tuple(_not_later(each, newest).seen for each in reports),
        began_at=newest,
        began=_EPOCH + datetime.timedelta(seconds=newest),
    )
    moment = Moment(now=newest, at=cell.began, waited=True)
    return FleetFacts(
        view=fleet_view((cell,), folder.expected, moment),
        source=folder.source,
        made=folder.made.isoformat(),
        version=folder.version,
        details={each.seen.host: each.details for each in reports},
        unreadable=tuple(sorted(unreadable, key=lambda each: each.file)),
        older=number - len(latest),
    )


def _report(document: Document | SourceError) -> HostReport:
    if isinstance(document, SourceError):
        raise document
    return host_report(document)


def _not_later(report: HostReport, newest: float) -> HostReport:
    """Return the report. If its audit time is later than ``newest`` (a wrong clock), use ``newest`` as its time."""
    if report.audited_s <= newest + SLACK_S:
        return report
    return dataclasses.replace(report, seen=dataclasses.replace(report.seen, received_at=newest, outcome_since=newest))
