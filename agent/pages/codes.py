"""Groups of finding codes that the pages treat alike. One more group, LEAKING, is in agent/model/finding.py.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

#: Findings about amounts that the cloud promised and Placement does not count.
MISSING = frozenset({"allocation-missing"})
#: Findings about amounts that are in use on the host but unknown to the cloud.
UNKNOWN_USE = frozenset(
    {
        "unmanaged-use-unplaced", "guest-unknown", "guest-running-deleted", "usage-unlisted", "volume-foreign",
        "volume-orphaned",
    }
)  # fmt: skip

#: Findings about former compute nodes and the providers of these nodes.
ORPHANS = frozenset({"compute-node-orphaned", "provider-orphaned"})
