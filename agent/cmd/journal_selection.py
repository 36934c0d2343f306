"""Select the entries of the journal that the operator asked for."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from agent.host_files.journal import Entry

#: The fewest characters that may stand for a whole uuid.
SHORTEST = 8


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


def consumers_of(entries: tuple[Entry, ...], typed: str) -> tuple[str, ...]:
    """Return the uuids of the journal that ``typed`` may mean: the uuid itself, or all that begin with it."""
    known = {entry.change.consumer_uuid for entry in entries if entry.change.consumer_uuid}
    start = typed.lower()
    if start in known or len(start) < SHORTEST:
        return (start,)
    return tuple(sorted(uuid for uuid in known if uuid.startswith(start)))


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
