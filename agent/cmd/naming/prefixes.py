"""Find the known id that equals the typed text or begins with this text. Pure: no I/O.

Upper case and hyphens make no difference. A beginning needs at least 8 characters, so that a truncated or empty id from
a script matches no id by chance. The ids of journal entries are short, so 4 characters are enough for their beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent.usage_error import UsageError

LEAST = 8
LEAST_OF_ENTRY = 4
_HEX = re.compile(r"[0-9a-f]+")


def matches(typed: str, known: Iterable[str], least: int = LEAST) -> tuple[str, ...]:
    """Return the known ids that ``typed`` means, sorted.

    This is the id that equals ``typed``, or else every id that begins with ``typed``. A ``typed`` of fewer than
    ``least`` characters means only the id that equals it.
    """
    wanted = plain(typed)
    ids = sorted(set(known))
    exact = tuple(one for one in ids if plain(one) == wanted)
    if exact or len(wanted) < least:
        return exact
    return tuple(one for one in ids if plain(one).startswith(wanted))


def only_match(what: str, typed: str, known: Iterable[str], least: int = LEAST) -> str | None:
    """Return the known id that ``typed`` means, as in ``matches``; None if no id matches.

    Raises UsageError if several ids match, or if ``typed`` is the beginning of an id but too short.
    """
    ids = tuple(known)
    found = matches(typed, ids, least)
    if len(found) > 1:
        raise UsageError(ambiguous(what, typed, found))
    if not found and plain(typed) and len(plain(typed)) < least and matches(typed, ids, 1):
        raise UsageError(f"{what} {typed}: the beginning of an id needs at least {least} characters")
    return found[0] if found else None


def ambiguous(what: str, typed: str, found: Iterable[str]) -> str:
    """Return the error message for a text that matches several ids."""
    return f"{what} {typed} is ambiguous: {', '.join(found)}"


def could_be_beginning(typed: str) -> bool:
    """Return whether ``typed`` may be the beginning of a uuid: at least 8 hexadecimal digits."""
    return len(plain(typed)) >= LEAST and _HEX.fullmatch(plain(typed)) is not None


def plain(text: str) -> str:
    """Return the id in lower case without hyphens."""
    return text.lower().replace("-", "")
