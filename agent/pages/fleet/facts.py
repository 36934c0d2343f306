"""The values from which the page of the fleet is made. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from agent.fleet.conditions import Counts
from agent.fleet.view import FleetView, HostRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A consumer with allocations on several hosts, as one host reports the consumer.

    ``amounts`` are what the consumer has on this host, ``others`` the uuids of the other providers. ``since`` is ISO
    8601.
    """

    consumer_uuid: str
    name: str
    amounts: Counts
    others: tuple[str, ...]
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """An orphaned provider or compute node of one host: the finding's code, its subject, a sentence and its time."""

    code: str
    what: str
    words: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """Something in a store that is not the cloud's, or whose owner is not known."""

    store: str
    kind: str
    owner: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDetails:
    """What a report says beyond a message on the bus.

    ``strangers`` are the largest ones; ``stranger_bytes`` are all their bytes by kind, and ``strangers_left_out`` how
    many are not in the list. ``stores_unread`` are the storage sources that the audit could not read. ``rows_left_out``
    is the number of the report's rows that this program cannot read.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file that is no report, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFacts:
    """Everything that the page of the fleet shows.

    ``view`` has a row for each host. ``details`` are by host; None if the page is made from messages, which do not have
    them. ``unreadable`` are files that are no report, ``older`` the number of reports that a later one of the same host
    replaced. ``source`` says in words from what the page is made. ``made`` is when, ISO 8601 UTC.
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
        """The moment of the state that the page shows."""
        return self.view.moment.at

    def details_of(self, row: HostRow) -> HostDetails | None:
        """Return what the host's report says beyond its row; None if there is no report."""
        return None if self.details is None else self.details.get(row.host)
