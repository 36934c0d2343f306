"""Parse and render CPU lists as operators write them: ``1-4,^3,6``.

Exclusions always win, whatever their position, so ``^3,1-4`` and ``1-4,^3`` are the same set. An empty result is an
error and does not mean "no CPUs", because the operator cannot have intended it. This module reads nothing from the
host: its callers check whether the CPUs exist.
"""

from __future__ import annotations

from collections.abc import Iterable

# The highest CPU id that a list may contain. Linux supports at most 8,192 CPUs on x86. The limit keeps a typo like
# 0-99999999 from using up the memory.
HIGHEST_CPU = 65535


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return the CPU ids of a list, ascending.

    Items are ``N``, ``A-B``, ``^N`` or ``^A-B``, separated by commas; empty items are allowed.
    Raises ValueError if the result is empty, if A > B, or if A, B or N is not a number up to HIGHEST_CPU. For a bad
    item, the error names the item.
    """
    chosen: set[int] = set()
    excluded: set[int] = set()
    for item in filter(None, (part.strip() for part in text.split(","))):
        if item.startswith("^"):
            excluded.update(_span(item[1:], item))
        else:
            chosen.update(_span(item, item))
    if not chosen - excluded:
        raise ValueError("no CPU is left in this list")
    return tuple(sorted(chosen - excluded))


def render_cpu_list(cpus: Iterable[int]) -> str:
    """Return the shortest list that parses to these CPUs, e.g. ``1-4,6``."""
    spans: list[tuple[int, int]] = []
    for cpu in sorted(set(cpus)):
        if spans and spans[-1][1] == cpu - 1:
            spans[-1] = (spans[-1][0], cpu)
        else:
            spans.append((cpu, cpu))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _span(text: str, item: str) -> range:
    first_text, dash, last_text = text.partition("-")
    first = _number(first_text, item)
    last = _number(last_text, item) if dash else first
    if first > last:
        raise ValueError(f"range {item!r} ends before it begins")
    return range(first, last + 1)


def _number(text: str, item: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{item!r} is not a CPU number or range")
    if len(digits) > len(str(HIGHEST_CPU)) or int(digits) > HIGHEST_CPU:
        raise ValueError(f"{item!r} is above {HIGHEST_CPU}, the highest valid CPU number")
    return int(digits)
