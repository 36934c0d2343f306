"""Compute the host's used memory from /proc/meminfo by nova's formula, which ignores MemAvailable and huge pages."""

from __future__ import annotations

import re
from pathlib import Path

from agent.model.units import KIB

_LINE = re.compile(r"^(MemFree|Buffers|Cached):\s+([0-9]{1,18}) kB$", re.MULTILINE | re.ASCII)


def used_mib(proc_root: Path, memory_mib: int) -> int | None:
    """Return ``memory_mib`` − (MemFree + Buffers + Cached), in MiB; None if meminfo is unreadable or wrong."""
    try:
        text = (proc_root / "meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return parse_used_mib(text, memory_mib)


def parse_used_mib(text: str, memory_mib: int) -> int | None:
    """Return the used memory in MiB, computed from the text of /proc/meminfo; None if the text cannot be right."""
    found = dict(_LINE.findall(text))
    if len(found) != 3:
        return None
    used = memory_mib - sum(map(int, found.values())) // KIB
    return used if used >= 0 else None
