"""Name the OpenStack release of a nova service, and the features that a cloud with old services lacks. Pure: no I/O.

nova's SERVICE_VERSION (nova/objects/service.py) counts changes, and each service writes this number into its row in
nova's database. ``_RELEASES`` has the number of each release that tools/matrix runs. A number between those of two
releases comes from a development version of the later release.
"""

from __future__ import annotations

from agent.model.report import NovaVersions

# The highest service version of each release, in ascending order (compare SERVICE_VERSION_ALIASES in nova).
_RELEASES: tuple[tuple[int, str], ...] = (
    (65, "older than OpenStack 2023.1, not tested"),
    (66, "OpenStack 2023.1 to 2024.1"),
    (67, "OpenStack 2024.1 or 2024.2"),
    (68, "OpenStack 2025.1"),
    (70, "OpenStack 2025.2"),
    (72, "OpenStack 2026.1"),
    (74, "OpenStack 2026.2"),
)
_NEWER = "newer than OpenStack 2026.2, not tested"
# The first service version with the indexes that ``_INDEXES`` names. nova's schema change ab450ba04102 adds them. The
# agent's SQL statements also work without these indexes.
_INDEXES_SINCE = 74
_INDEXES = "two indexes of nova's migrations table, for source_compute and dest_compute (OpenStack 2026.2)"


def with_release(version: int) -> str:
    """Return a service version with its release: ``74 (OpenStack 2026.2)``."""
    release = next((name for last, name in _RELEASES if version <= last), _NEWER)
    return f"{version} ({release})"


def missing_in(versions: NovaVersions) -> tuple[str, ...]:
    """Return the features that the cell lacks because of its oldest service; the agent works without these features."""
    known = (*versions.conductors, *(() if versions.compute is None else (versions.compute,)))
    return (_INDEXES,) if known and min(known) < _INDEXES_SINCE else ()
