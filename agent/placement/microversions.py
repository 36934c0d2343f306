"""List the features of Placement's optional microversions, which are newer than the required one.

With an older server the agent works, but without these features. Source: Placement's REST API version history.
"""

from __future__ import annotations

OPTIONAL: tuple[tuple[tuple[int, int], str], ...] = (
    ((1, 37), "re-parent providers"),
    ((1, 38), "consumer types"),
    ((1, 39), "any-of traits"),
)


def spoken(microversion: tuple[int, int]) -> str:
    """Return the microversion as text: ``1.39``."""
    return ".".join(map(str, microversion))


def optional_features(newest: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the optional features that a server with this newest microversion has, and those that it lacks."""
    named = [(since <= newest, f"{what} ({spoken(since)})") for since, what in OPTIONAL]
    return tuple(text for has, text in named if has), tuple(text for has, text in named if not has)
