"""Read small files of the kernel: module parameters and TDX key counts under /sys, uptime and load under /proc.

If a module is not loaded, or this kernel does not have a parameter, the parameter's text is None. Any other failure (no
file descriptor left, no permission, a bad disk) says nothing about the module, so the text is Unread. The other values
(TDX keys, uptime, load) are None if they cannot be read or parsed: no decision of the agent depends on them.
"""

from __future__ import annotations

import re
from pathlib import Path

from agent.host_files.system_errors import with_errno
from agent.model.host.facts import Unread

# These parameters say whether KVM on AMD encrypts guests' memory.
PARAMETERS = ("kvm_amd/sev", "kvm_amd/sev_es", "kvm_amd/sev_snp")

# Only the root of the unified cgroup hierarchy has this file, with a line for each resource of the platform.
TDX_CAPACITY = Path("fs/cgroup/misc.capacity")

_TDX = re.compile(r"^tdx ([0-9]{1,9})$", re.ASCII | re.MULTILINE)
_FIGURE = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?", re.ASCII)


def module_parameters(sys_root: Path) -> tuple[tuple[str, str | Unread | None], ...]:
    """Return (``module/parameter``, text) for each of PARAMETERS; this file's docstring explains None and Unread."""
    return tuple((name, _parameter(sys_root, name)) for name in PARAMETERS)


def tdx_capacity(sys_root: Path) -> int | None:
    """Return the number of Intel TDX guests for which the platform has keys, from the misc cgroup; None if unknown.

    On a platform without TDX the result is None too. So None does not mean that TDX is missing: only libvirt reports
    whether TDX is available.
    """
    found = _TDX.search(_words(sys_root / TDX_CAPACITY))
    return int(found[1]) if found else None


def uptime_s(proc_root: Path) -> float | None:
    """Return the seconds since the host started, from /proc/uptime; None if unreadable."""
    figures = _figures(proc_root / "uptime", 1)
    return figures[0] if figures else None


def load(proc_root: Path) -> tuple[float, float, float] | None:
    """Return the load of the last 1, 5 and 15 minutes, from /proc/loadavg; None if unreadable."""
    figures = _figures(proc_root / "loadavg", 3)
    return (figures[0], figures[1], figures[2]) if figures else None


def _parameter(sys_root: Path, name: str) -> str | Unread | None:
    module, _, parameter = name.partition("/")
    text = _text(sys_root / "module" / module / "parameters" / parameter)
    return text.strip() if isinstance(text, str) else text


def _figures(path: Path, count: int) -> list[float] | None:
    """Return the file's first ``count`` words as numbers; None if such a word is missing or is not a number."""
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
        return Unread(with_errno(error))
