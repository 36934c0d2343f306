"""What the kernel says in small files: parameters of modules and keys for TDX under /sys, uptime and load under /proc.

A module that is not loaded, or a parameter that this kernel does not have, is no
error: its text is None. Any other failure (no file descriptor left, no right, a bad
disk) says nothing about the module, so the text is Unread then. A figure that
cannot be read or understood is None: nothing rests on it.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path

from agent.model.host.facts import Unread

# What says whether KVM on AMD encrypts guests' memory (hypervisor-audit 6).
PARAMETERS = ("kvm_amd/sev", "kvm_amd/sev_es", "kvm_amd/sev_snp")

# The root of the unified hierarchy alone has this file; a kind that the platform lacks has no line in it.
TDX_CAPACITY = Path("fs/cgroup/misc.capacity")

_TDX = re.compile(r"^tdx ([0-9]{1,9})$", re.ASCII | re.MULTILINE)
_FIGURE = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?", re.ASCII)


def module_parameters(sys_root: Path) -> tuple[tuple[str, str | Unread | None], ...]:
    """(``module/parameter``, its text without the line's end, None where it is not there, or Unread) of PARAMETERS."""
    return tuple((name, _parameter(sys_root, name)) for name in PARAMETERS)


def tdx_capacity(sys_root: Path) -> int | None:
    """How many guests with Intel TDX there are keys for, from the misc cgroup; None where that is not known.

    A platform without TDX has no line for it, so None is never "none": that is for libvirt to say.
    """
    found = _TDX.search(_words(sys_root / TDX_CAPACITY))
    return int(found[1]) if found else None


def uptime_s(proc_root: Path) -> float | None:
    """Seconds since the host started, from /proc/uptime."""
    figures = _figures(proc_root / "uptime", 1)
    return figures[0] if figures else None


def load(proc_root: Path) -> tuple[float, float, float] | None:
    """The load of the last 1, 5 and 15 minutes, from /proc/loadavg."""
    figures = _figures(proc_root / "loadavg", 3)
    return (figures[0], figures[1], figures[2]) if figures else None


def _parameter(sys_root: Path, name: str) -> str | Unread | None:
    module, _, parameter = name.partition("/")
    text = _text(sys_root / "module" / module / "parameters" / parameter)
    return text.strip() if isinstance(text, str) else text


def _figures(path: Path, count: int) -> list[float] | None:
    """The first ``count`` words of the file as numbers; None where one of them is missing or is none."""
    words = _words(path).split()[:count]
    if len(words) != count or not all(_FIGURE.fullmatch(word) for word in words):
        return None
    return [float(word) for word in words]


def _words(path: Path) -> str:
    text = _text(path)
    return text if isinstance(text, str) else ""


def _text(path: Path) -> str | Unread | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Unread(f"{errno.errorcode.get(error.errno or 0, 'error')}: {error.strerror or error}")
