"""Detect whether other hosts may store guests in ``instances_path``.

If other hosts store guests there too, a folder without a guest on this host may belong to a guest on another host, so
it is not a leftover. One of two signs is enough: several hosts can mount the file system, or several hosts ran nova's
image cache in the last day. nova writes the time of each host's last run into the file ``compute_nodes`` in the folder.
The absence of both signs proves nothing, so an operator must check before removing anything.
"""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

from agent.sources.storage.mounts import MOUNTS, filesystem_type
from agent.text.numbers import finite

# A day in seconds. A host counts as a user of the instances folder if its nova-compute checked the image cache in the
# folder within the last day. nova has the same limit (nova.virt.storage_users).
_DAY_S = 86400.0
_REGISTER = "compute_nodes"
_REGISTER_MAX_BYTES = 1 << 20
_SHARED_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "gfs2", "ocfs2", "lustre", "gpfs", "beegfs", "afs", "9p"}
    | {"virtiofs", "orangefs"}
)


def shared_because(root: str) -> str:
    """Return a text that says why the folder ``root`` is probably shared; "" if there is no sign of sharing."""
    kind = filesystem_type(MOUNTS, os.stat(root).st_dev)
    # A file system in user space is nearly always a network file system (GlusterFS, Quobyte, MooseFS).
    if kind in _SHARED_TYPES or kind.startswith("fuse."):
        return f"the folder's file system is {kind}"
    hosts = registered_hosts(root, time.time())
    return f"nova's file {_REGISTER} in the folder lists several hosts: {', '.join(hosts)}" if len(hosts) > 1 else ""


def registered_hosts(root: str, now_s: float) -> tuple[str, ...]:
    """Return the hosts whose nova-compute checked the image cache in this folder within the last day.

    nova writes them into the file ``compute_nodes`` in the folder. Return () if the file cannot be read.
    """
    path = os.path.join(root, _REGISTER)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _REGISTER_MAX_BYTES:
            return ()
        seen = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return ()
    if not isinstance(seen, dict):
        return ()
    runs = ((str(host), finite(run_s)) for host, run_s in seen.items())
    return tuple(sorted(host for host, run_s in runs if run_s is not None and now_s - run_s < _DAY_S))
