"""What the kernel says in small files: parameters of modules and keys for TDX under /sys, uptime and load under /proc.

A module that is not loaded, or a parameter that this kernel does not have, is no
error: its text is None. So is a figure that cannot be read or understood.
"""

from __future__ import annotations

import re
from pathlib import Path

# What says whether KVM on AMD encrypts guests' memory (hypervisor-audit 6).
PARAMETERS = ("kvm_amd/sev", "kvm_amd/sev_es", "kvm_amd/sev_snp")

# The root of the unified hierarchy alone has this file; a kind that the platform lacks has no line in it.
TDX_CAPACITY = Path("fs/cgroup/misc.capacity")

_TDX = re.compile(r"^tdx ([0-9]{1,9})$", re.ASCII | re.MULTILINE)
_FIGURE = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?", re.ASCII)


def module_parameters(sys_root: Path) -> tuple[tuple[str, str | None], ...]:
    """(``module/parameter``, its text without the line's end, or None) for each of PARAMETERS."""
    return tuple((name, _parameter(sys_root, name)) for name in PARAMETERS)


def tdx_capacity(sys_root: Path) -> int | None:
    """How many guests with Intel TDX there are keys for, from the misc cgroup; None where it does not say."""
    found = _TDX.search(_text(sys_root / TDX_CAPACITY) or "")
    return int(found[1]) if found else None


def uptime_s(proc_root: Path) -> float | None:
    """Seconds since the host started, from /proc/uptime."""
    figures = _figures(proc_root / "uptime", 1)
    return figures[0] if figures else None


def load(proc_root: Path) -> tuple[float, float, float] | None:
    """The load of the last 1, 5 and 15 minutes, from /proc/loadavg."""
    figures = _figures(proc_root / "loadavg", 3)
    return (figures[0], figures[1], figures[2]) if figures else None


def _parameter(sys_root: Path, name: str) -> str | None:
    module, _, parameter = name.partition("/")
    text = _text(sys_root / "module" / module / "parameters" / parameter)
    return None if text is None else text.strip()


def _figures(path: Path, count: int) -> list[float] | None:
    """The first ``count`` words of the file as numbers; None where one of them is missing or is none."""
    words = (_text(path) or "").split()[:count]
    if len(words) != count or not all(_FIGURE.fullmatch(word) for word in words):
        return None
    return [float(word) for word in words]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
