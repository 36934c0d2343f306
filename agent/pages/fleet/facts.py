"""The values from which the page of the fleet is made.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from agent.fleet.conditions import Counts
from agent.fleet.view import FleetView, HostRow

#: The value of ``Spread.home`` if nova deleted the instance. Any other value is a host's name or "".
DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A consumer with allocations on several hosts, as one host's report describes the consumer.

    ``amounts`` are the consumer's allocations on this host. ``elsewhere`` has the allocations on other providers, as
    pairs of a provider's uuid and the amounts. ``home`` is the instance's host according to nova. ``home`` is DELETED
    if nova deleted the instance, and "" if the report does not say. ``wasted_by`` is the code of the finding that
    counts the allocations on this host as wasted, "" if there is no such finding. ``since`` is when an audit first
    found the allocations on several hosts (ISO 8601).
    """

    consumer_uuid: str
    name: str
    amounts: Counts
    elsewhere: tuple[tuple[str, Counts], ...]
    home: str
    since: str
    wasted_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSeen:
    """The findings with one code on one host. ``severity`` is the highest severity of these findings.

    ``began`` is when the oldest of these faults began according to nova's database (ISO 8601), "" if the database does
    not say.
    """

    code: str
    severity: str
    began: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFinding:
    """One of the newest findings of a host. ``first_seen`` is when an audit first saw the finding (ISO 8601)."""

    first_seen: str
    code: str
    severity: str
    headline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One of the consumers with the most VCPU on a host. ``amounts`` are its allocations on this host, by class."""

    consumer_uuid: str
    name: str
    amounts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """An orphaned provider or compute node of one host: the finding's code, the orphan's name and uuid.

    ``offers`` is the inventory or the resources that the orphan claims to have. ``holds`` is the orphan's allocations.
    Each of the two is "" if the report does not have it. ``since`` is when an audit first saw the orphan (ISO 8601).
    """

    code: str
    what: str
    uuid: str
    offers: str
    holds: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A volume or file in a host's storage that does not belong to the cloud, or whose owner is not known."""

    store: str
    kind: str
    owner: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDetails:
    """The facts of a report that an agent's message on the bus does not contain.

    ``strangers``: the largest volumes and files that do not belong to the cloud.
    ``strangers_left_out``: the number of smaller volumes and files of this kind.
    ``stranger_bytes``: the bytes of all these volumes and files, by kind of owner.
    ``stores_unread``: the storage sources that the audit could not read.
    ``rows_left_out``: how many rows of the report this program could not read.
    ``codes``: for each finding code, the highest severity of its findings, and when the oldest finding began.
    ``newest``: only the newest findings.
    ``largest``: only the consumers with the most VCPU.
    """

    provider_uuid: str | None = None
    spread: tuple[Spread, ...] = ()
    spread_left_out: int = 0
    orphans: tuple[Orphan, ...] = ()
    orphans_left_out: int = 0
    strangers: tuple[Stranger, ...] = ()
    strangers_left_out: int = 0
    stranger_bytes: Counts = ()
    stores_unread: tuple[str, ...] = ()
    rows_left_out: int = 0
    codes: tuple[CodeSeen, ...] = ()
    newest: tuple[NewFinding, ...] = ()
    largest: tuple[Owner, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file that is not a readable report, and the reason."""

    file: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFacts:
    """Everything that the page of the fleet shows.

    ``view`` has a row for each host. ``details`` maps each host to its details; None if the page is made from messages
    on the bus, which have no details. ``unreadable`` lists the files that could not be read as reports. ``older`` is
    the number of reports that the page leaves out because a later report of the same host was read. ``source`` says
    from what the page is made. ``made`` is when the page was made, ISO 8601 UTC.
    """

    view: FleetView
    source: str
    made: str
    version: str = ""
    details: Mapping[str, HostDetails] | None = None
    unreadable: tuple[Unreadable, ...] = ()
    older: int = 0

    @property
    def at(self) -> datetime.datetime:
        """The moment for which the page shows the state of the fleet."""
        return self.view.moment.at

    def details_of(self, row: HostRow) -> HostDetails | None:
        """Return the details from the host's report; None if there is no report."""
        return None if self.details is None else self.details.get(row.host)
