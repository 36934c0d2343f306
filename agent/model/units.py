"""Units, and the functions with which the agent rounds.

The host's sizes are in bytes or MiB, Placement's DISK_GB is in GiB (2**30 bytes), and libvirt reports KiB. The name of
each function says how it rounds: like nova, the agent truncates totals and rounds reserves up.
"""

from __future__ import annotations

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


def bytes_to_gib_floor(size_bytes: int) -> int:
    """Return bytes as whole GiB, rounded down. Use it for totals."""
    return size_bytes // GIB


def bytes_to_gib_ceil(size_bytes: int) -> int:
    """Return bytes as whole GiB, rounded up. Use it for amounts that are subtracted."""
    return -(-size_bytes // GIB)


def mib_to_gib_ceil(size_mib: int) -> int:
    """Return MiB as whole GiB, rounded up. Use it for ``reserved_host_disk_mb``."""
    return -(-size_mib // KIB)
