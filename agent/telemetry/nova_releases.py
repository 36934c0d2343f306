"""Name the OpenStack release of a nova service, and what a cloud with old services lacks. Pure.

nova's SERVICE_VERSION (nova/objects/service.py) counts changes, and each service writes it into its row. The table has
the version of each release that tools/matrix runs; a version in between belongs to the development of the next release.
"""

from __future__ import annotations

from agent.model.report import NovaVersions

# The highest service version of each release, in ascending order (also nova's SERVICE_VERSION_ALIASES).
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
# nova's migration ab450ba04102 adds these indexes. The agent's statements work without them.
_INDEXES_SINCE = 74
_INDEXES = "indexes of migrations by source and by destination (OpenStack 2026.2)"


def with_release(version: int) -> str:
    """Return a service version with its release: ``74 (OpenStack 2026.2)``."""
    release = next((name for last, name in _RELEASES if version <= last), _NEWER)
    return f"{version} ({release})"


def missing_in(versions: NovaVersions) -> tuple[str, ...]:
    """Return what the cell lacks, as far as the oldest known service tells; the agent does without it."""
    known = (*versions.conductors, *(() if versions.compute is None else (versions.compute,)))
    return (_INDEXES,) if known and min(known) < _INDEXES_SINCE else ()
