"""Units and the three roundings that the agent uses.

Sizes of the host are bytes or MiB, Placement's DISK_GB is GiB (2**30), libvirt
speaks KiB. Rounding is always named: nova truncates totals and rounds reserves up.
"""

from __future__ import annotations

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


def kib_to_mib(kib: int) -> int:
    """KiB as whole MiB, truncated (nova: hypervisor-audit 3)."""
    return kib // KIB


def bytes_to_gib_floor(size_bytes: int) -> int:
    """Bytes as whole GiB, rounded down: for totals."""
    return size_bytes // GIB


def bytes_to_gib_ceil(size_bytes: int) -> int:
    """Bytes as whole GiB, rounded up: for what is taken away."""
    return -(-size_bytes // GIB)


def mib_to_gib_ceil(size_mib: int) -> int:
    """MiB as whole GiB, rounded up (``reserved_host_disk_mb`` in Placement)."""
    return -(-size_mib // KIB)
