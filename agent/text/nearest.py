"""The nearest known name for a name that is probably misspelt. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``; None if no known name is similar."""
    # Import late: a daemon whose configuration has no misspelt name does not need difflib.
    import difflib

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
