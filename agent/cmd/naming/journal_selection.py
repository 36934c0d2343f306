"""Select the journal entries that the operator asked for."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from agent.host_files.journal import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The filters that the operator asked for; an empty filter selects every entry.

    ``since``: only entries from this time on. ``limit``: at most this number of entries, the newest. ``codes``: only
    entries with these finding codes. ``consumers``: only entries about the consumers with these uuids.
    """

    since: datetime.datetime | None = None
    limit: int | None = None
    codes: frozenset[str] = frozenset()
    consumers: frozenset[str] = frozenset()


def selected(entries: tuple[Entry, ...], asked: Selection) -> tuple[Entry, ...]:
    """Return the entries that match every filter, at most the ``limit`` newest of them, in the journal's order."""
    found = tuple(entry for entry in entries if _matches(entry, asked))
    return found if asked.limit is None else found[max(0, len(found) - asked.limit) :]


def named_in(entries: tuple[Entry, ...], name: str) -> frozenset[str]:
    """Return the uuids of the consumers with this name. An entry's reason names its consumer as ``UUID (NAME)``."""
    return frozenset(
        entry.change.consumer_uuid
        for entry in entries
        if entry.change.consumer_uuid and f"{entry.change.consumer_uuid} ({name})" in entry.change.why
    )


def _matches(entry: Entry, asked: Selection) -> bool:
    return (
        (asked.since is None or _is_since(entry.at, asked.since))
        and (not asked.codes or entry.change.code in asked.codes)
        and (not asked.consumers or entry.change.consumer_uuid in asked.consumers)
    )


def _is_since(at: str, since: datetime.datetime) -> bool:
    try:
        then = datetime.datetime.fromisoformat(at)
    except ValueError:
        # An entry whose time cannot be parsed may be new. The command shows the entry, so that no change is hidden.
        return True
    return (then if then.tzinfo else then.replace(tzinfo=datetime.UTC)) >= since
