"""Parse the output of ``ceph df --format=json``: the cluster's size, and a pool's used and available bytes.

``total_bytes`` is the raw size, of which every replica of an object takes a part. ``max_avail`` is the number of bytes
that clients can still write, without the replicas. ``bytes_used`` includes the replicas only since Nautilus. The
cluster's manager provides all three figures. The figures are 0 before the manager's first report, so the parser refuses
a cluster of size 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn

from agent.errors import SourceInconsistent
from agent.model.host.storage import CephPool
from agent.model.snapshot import CEPH
from agent.text.numbers import whole


def parse_pool(text: str, pool: str) -> CephPool:
    """Return the pool's sizes in bytes. Raises SourceInconsistent, which names the missing or invalid item."""
    report = _document(text)
    pools = report.get("pools")
    if not isinstance(pools, list):
        _refuse("the report of ceph df has no list of pools")
    found = next((one for one in pools if isinstance(one, dict) and one.get("name") == pool), None)
    if found is None:
        names = ", ".join(sorted(str(one.get("name")) for one in pools if isinstance(one, dict)))
        _refuse(f"pool {pool} is not among the cluster's pools ({names or 'the cluster has no pool'})")
    cluster_bytes = _bytes(report, "total_bytes", "the cluster")
    if cluster_bytes == 0:
        _refuse("the cluster: total_bytes is 0, so the cluster's manager has no statistics yet")
    return CephPool(
        name=pool,
        cluster_bytes=cluster_bytes,
        available_bytes=_bytes(found, "max_avail", f"pool {pool}"),
        used_bytes=_bytes(found, "bytes_used", f"pool {pool}"),
    )


def _document(text: str) -> Mapping[str, object]:
    try:
        report = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceInconsistent(CEPH, f"the report of ceph df is not JSON: {error}") from error
    if not isinstance(report, dict):
        _refuse("the report of ceph df is not a JSON object")
    return report


def _bytes(holder: Mapping[str, object], key: str, owner: str) -> int:
    stats = holder.get("stats")
    found = stats.get(key) if isinstance(stats, dict) else None
    size_bytes = whole(found)
    if size_bytes is None or size_bytes < 0:
        _refuse(f"{owner}: {key} is {json.dumps(found):.80}, not a number of bytes")
    return size_bytes


def _refuse(message: str) -> NoReturn:
    raise SourceInconsistent(CEPH, message)
