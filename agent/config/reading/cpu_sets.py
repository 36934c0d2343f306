"""Read the three CPU lists that say which CPUs count as VCPU or as PCPU. Some lists must not be set together.

nova-compute accepts a list that names a CPU twice, or that has numbers such as ``+1`` or ``1_0``. In Stocktake's own
files such a list is an error, because the operator probably meant another CPU. In nova.conf such a list only causes a
notice. Only the audit checks whether the CPUs exist and are online, so a missing CPU does not prevent the start of the
agent.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from agent.config.loaded import Loaded
from agent.config.problems import is_novas, novas_notices, refuse
from agent.model.host.cpuset import HIGHEST_CPU, parse_cpu_list, render_cpu_list

CpuSet = tuple[int, ...] | None

_NUMBER = re.compile(r"[^\s^-]+")
_LISTS = (("compute", "cpu_shared_set"), ("compute", "cpu_dedicated_set"), ("DEFAULT", "vcpu_pin_set"))


class CpuSets(NamedTuple):
    """The CPU ids of each list, ascending; None for a list whose option is not set."""

    shared: CpuSet
    dedicated: CpuSet
    pinned: CpuSet


def cpu_sets(loaded: Loaded) -> CpuSets:
    """Return cpu_shared_set, cpu_dedicated_set and vcpu_pin_set as CPU ids.

    Raises ConfigError if a list cannot be parsed, or if two lists conflict.
    """
    problems: list[str] = []
    sets = CpuSets(*(_cpu_set(loaded, group, option, problems) for group, option in _LISTS))
    shared = loaded.quote("compute", "cpu_shared_set")
    dedicated = loaded.quote("compute", "cpu_dedicated_set")
    if both := set(sets.shared or ()) & set(sets.dedicated or ()):
        problems.append(f"{dedicated} and {shared}: CPUs {render_cpu_list(both)} are in both lists")
    if loaded.value("DEFAULT", "reserved_host_cpus") and sets.pinned is None and (sets.shared or sets.dedicated):
        reserved = loaded.quote("DEFAULT", "reserved_host_cpus")
        problems.append(f"{reserved}: cannot be set together with {shared if sets.shared else dedicated}")
    if sets.pinned is not None and sets.dedicated is not None:
        problems.append(f"{loaded.quote('DEFAULT', 'vcpu_pin_set')}: cannot be set together with {dedicated}")
    refuse(problems)
    return sets


def _cpu_set(loaded: Loaded, group: str, option: str, problems: list[str]) -> CpuSet:
    text = loaded.value(group, option)
    if not text:
        return None
    try:
        chosen = parse_cpu_list(_written(loaded, group, option))
    except ValueError as error:
        problems.append(f"{loaded.quote(group, option)}: {error}")
        return None
    if not is_novas(loaded, (group, option)):
        problems += _named_twice(loaded, group, option)
    return chosen


def cpu_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice for each list in nova.conf that names a CPU twice, or whose numbers are not plain digits."""
    for group, option in _LISTS:
        with contextlib.suppress(ValueError):
            twice = tuple(_named_twice(loaded, group, option))
            yield from novas_notices(loaded, (group, option), twice, "the agent counts each CPU once")
        text, read = loaded.value(group, option) or "", _written(loaded, group, option)
        if text != read:
            odd = f"a number is not plain digits, or an exclusion such as ^4 names a CPU above {HIGHEST_CPU}"
            problem = f"{loaded.quote(group, option)}: {odd}"
            yield from novas_notices(loaded, (group, option), [problem], f"the agent reads the list as {read}")


def _named_twice(loaded: Loaded, group: str, option: str) -> Iterator[str]:
    """Yield a problem if a valid list names a CPU in several items. Exclusions such as ``^4`` do not count."""
    items = filter(None, (item.strip() for item in _written(loaded, group, option).split(",")))
    named = Counter(cpu for item in items if not item.startswith("^") for cpu in parse_cpu_list(item))
    if twice := [cpu for cpu, times in named.items() if times > 1]:
        cpus = f"CPU {twice[0]} is" if len(twice) == 1 else f"CPUs {render_cpu_list(twice)} are"
        yield f"{loaded.quote(group, option)}: {cpus} named twice"


def _written(loaded: Loaded, group: str, option: str) -> str:
    """Return the list's text. In a list from nova.conf, replace each number by its plain digits: "1_0" becomes "10".

    nova-compute reads such numbers with Python's int() (nova/virt/hardware.py:parse_cpu_spec).
    """
    text: str = loaded.value(group, option) or ""
    if not is_novas(loaded, (group, option)):
        return text
    return ",".join(_NUMBER.sub(_excluded_digits if "^" in item else _digits, item) for item in text.split(","))


def _digits(found: re.Match[str]) -> str:
    """Return the number in plain digits. Text that Python's int() rejects stays as it is."""
    try:
        return str(int(found[0]))
    except ValueError:
        return found[0]


def _excluded_digits(found: re.Match[str]) -> str:
    """Return the CPU number in an exclusion such as ``^4`` as plain digits.

    Replace a number above HIGHEST_CPU by HIGHEST_CPU, because no host has a CPU with such a number.
    """
    digits = _digits(found)
    return str(min(int(digits), HIGHEST_CPU)) if digits.isdecimal() else digits
