"""What Placement's microversions above the needed one let us do; older servers go without.

Source: Placement's REST API version history.
"""

from __future__ import annotations

OPTIONAL: tuple[tuple[tuple[int, int], str], ...] = (
    ((1, 37), "re-parent providers"),
    ((1, 38), "consumer types"),
    ((1, 39), "any-of traits"),
)


def spoken(microversion: tuple[int, int]) -> str:
    """``1.39``."""
    return ".".join(map(str, microversion))


def optional_features(newest: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a server whose newest microversion this is has of the optional ones, and what it lacks."""
    named = [(since <= newest, f"{what} ({spoken(since)})") for since, what in OPTIONAL]
    return tuple(text for has, text in named if has), tuple(text for has, text in named if not has)
