"""The values from which the page of one host is made.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.model.report import AuditReport, SourceStatus
from agent.pages.tables import cut
from agent.pages.times import age_s

_MOST_CHARACTERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the journal.

    ``at`` is ISO 8601 UTC. ``undone_by`` are the ids of the entries that undid this entry. ``code`` is the code of the
    finding that the change repairs, "" if the entry has no code. ``about`` is the uuid of the consumer or provider, ""
    if the entry has no uuid.
    """

    id: str
    at: str
    what: str
    actor: str
    result: str
    words: str
    code: str = ""
    about: str = ""
    undoes: str = ""
    undone_by: tuple[str, ...] = ()
    is_adoption: bool = False

    @property
    def kind(self) -> str:
        """What made the change: ``undo``, ``adopt`` or ``heal``."""
        return "undo" if self.undoes else "adopt" if self.is_adoption else "heal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option in a configuration file; secrets are masked. ``value`` is None if the option has no value.

    ``default`` is the value that would apply if no file had the option, None if there is no default.
    """

    group: str
    name: str
    value: str | None
    origin: str
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Everything that the page of one host shows.

    ``now`` is ISO 8601. ``view`` (the host's resource view) and ``cell_usages`` come from the report's document; None
    if the document lacks them. ``changes`` and ``options`` are None if they could not be read; ``unread`` says why.
    ``problems`` has a sentence for each row of the report that could not be read. ``impacts`` maps each finding code to
    the text of its impact. ``stale`` is a sentence that the report is old, "" if it is not.
    """

    report: AuditReport
    now: str
    view: Mapping[str, Any] | None = None
    cell_usages: tuple[Mapping[str, Any], ...] | None = None
    changes: tuple[Change, ...] | None = ()
    options: tuple[Option, ...] | None = ()
    unread: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    impacts: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    stale: str = ""

    @property
    def name(self) -> str:
        """The host's name as Placement and the operator know it, cut if it is very long."""
        return cut(self.report.node or self.report.host, _MOST_CHARACTERS)

    @property
    def unread_sources(self) -> tuple[SourceStatus, ...]:
        """The sources that the audit could not read."""
        return tuple(source for source in self.report.sources if not source.ok)

    @property
    def later_changes(self) -> tuple[Change, ...]:
        """The changes that were made after the audit began. The page's numbers do not include these changes."""
        return tuple(change for change in self.changes or () if self.is_later(change))

    def is_later(self, change: Change) -> bool:
        """Return whether the change was made after the audit began."""
        return (age_s(self.report.started_at, change.at) or 0.0) > 0

    def missing(self, *names: str) -> tuple[str, ...]:
        """Return the names of those sources in ``names`` that the audit could not read."""
        return tuple(source.name for source in self.unread_sources if source.name in names)
