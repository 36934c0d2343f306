"""Select the entries of the journal that the operator asked for."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from agent.host_files.journal import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the operator asked for; an empty filter selects every entry.

    ``since``: only entries from this time on. ``limit``: how many of the newest entries. ``codes``: finding codes.
    ``consumers``: consumers' uuids.
    """

    since: datetime.datetime | None = None
    limit: int | None = None
    codes: frozenset[str] = frozenset()
    consumers: frozenset[str] = frozenset()


def selected(entries: tuple[Entry, ...], asked: Selection) -> tuple[Entry, ...]:
    """Return the entries that match every filter, in the order of the journal, of these the ``limit`` newest."""
    found = tuple(entry for entry in entries if _matches(entry, asked))
    return found if asked.limit is None else found[max(0, len(found) - asked.limit) :]


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
        # An entry whose time cannot be read may be new: rather show an entry too many than hide a change.
        return True
    return (then if then.tzinfo else then.replace(tzinfo=datetime.UTC)) >= since
