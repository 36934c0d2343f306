"""Gather what a host's page shows besides the audit's report.

For example: the journal, the options with other values than the defaults, and the impact of each finding.
"""

from __future__ import annotations

import argparse
import datetime
from typing import Any

from agent.cmd.daemon_report import DaemonReport
from agent.cmd.naming.explain_code import page_of
from agent.config.agent_options import agent_options_from
from agent.config.load import load
from agent.config.loaded import DEFAULT_ORIGIN, Loaded
from agent.errors import AgentError
from agent.host_files.installed import installed_version
from agent.host_files.journal import Entry, FileJournal
from agent.model.report import AuditReport
from agent.pages.host.facts import Change, HostFacts, Option
from agent.pages.times import moment_of
from agent.render.documents import Document

#: The page shows the journal's entries of this many days.
DAYS = 30
_IMPACT = "## Impact"


def facts_of(
    options: argparse.Namespace, report: AuditReport, document: Document, now: str, last: DaemonReport | None = None
) -> HostFacts:
    """Return everything that the page shows.

    ``last`` is the daemon's file from which ``report`` was read; None if ``report`` is from a new audit.
    Raises ConfigError if the configuration cannot be read.
    """
    loaded = load(options.config_file, options.config_dir)
    changes, unread = _changes(loaded, now)
    view, usages = document.get("resource_view"), document.get("cell_usages")
    return HostFacts(
        report=report,
        now=now,
        view=view if isinstance(view, dict) else None,
        cell_usages=tuple(usages) if isinstance(usages, list) else None,
        changes=changes,
        options=_options(loaded),
        unread=unread,
        problems=last.problems if last else (),
        stale=last.stale if last else "",
        impacts={code: impact_of(code) for code in {seen.finding.code for seen in report.findings}},
        version=installed_version(),
    )


def impact_of(code: str) -> str:
    """Return the section "Impact" of a finding code's runbook as one paragraph; "" if the code has no runbook."""
    page = page_of(code) or ""
    return " ".join(page.partition(f"\n{_IMPACT}\n")[2].partition("\n## ")[0].split())


def _changes(loaded: Loaded, now: str) -> tuple[tuple[Change, ...] | None, tuple[str, ...]]:
    """Return the journal's entries of the last DAYS days (None if unreadable), and a sentence for each problem."""
    try:
        read = FileJournal(agent_options_from(loaded).state_dir, now=str).read()
    except AgentError as error:
        return None, (str(error),)
    moment = moment_of(now)
    since = None if moment is None else moment - datetime.timedelta(days=DAYS)
    entries = [entry for entry in read.entries if since is None or _is_since(entry, since)]
    return tuple(map(_change, entries)), tuple(f"journal: {problem}" for problem in read.problems)


def _is_since(entry: Entry, since: datetime.datetime) -> bool:
    at = moment_of(entry.at)
    return at is None or at >= since


def _change(entry: Entry) -> Change:
    change = entry.change
    about = change.consumer_uuid or change.provider_uuid or ""
    return Change(
        id=entry.id,
        at=entry.at,
        what=" ".join(part for part in (change.kind, change.code, about) if part),
        actor=entry.actor.words if entry.actor else "",
        result=entry.result.value,
        words=entry.words or change.why,
        code=change.code or "",
        about=about,
        undoes=change.undoes or "",
        undone_by=entry.undone_by,
        is_adoption=entry.actor is not None and entry.actor.program.endswith("adopt"),
    )


def _options(loaded: Loaded) -> tuple[Option, ...]:
    rows: list[Any] = [row for row in loaded.rows() if row.origin != DEFAULT_ORIGIN]
    return tuple(
        Option(
            group=row.group,
            name=row.option,
            value=row.value,
            origin=row.origin,
            default=loaded.shown_default(row.group, row.option),
        )
        for row in rows
    )
