"""Decide what counts as a number in a document that others wrote: Placement, nova, Ceph, an older report.

What a newcomer would get wrong: JSON has no largest integer, and Python reads ``NaN``,
``Infinity`` and ``1e999`` as well. An integer of 400 digits passes every ``isinstance`` and
then fails far from its source, where it first meets a float. No server keeps more than 64
bits, so more is no number here. The caller names the field. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

#: The largest integer of 64 bits, sign included.
MOST = 2**63 - 1
#: What the largest float of 32 bits is, by which Placement bounds a ratio (16.0.0, schemas/inventory.py).
MOST_RATIO = 3.40282e38
_DIGITS = len(str(MOST))


def whole(value: object) -> int | None:
    """An integer of 64 bits; None for anything else. A truth value is no integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -MOST <= value <= MOST else None


def whole_text(text: str) -> int | None:
    """The same of its decimal digits, without a sign."""
    digits = text.lstrip("0") or text[:1]
    return whole(int(digits)) if digits.isdecimal() and len(digits) <= _DIGITS else None


def finite(value: object) -> float | None:
    """A number that a float can hold, as one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def unbounded(document: object) -> str | None:
    """Where in a JSON document the first number stands that is none of the above: ``inventory[2].used``."""
    waiting: list[tuple[str, object]] = [("", document)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend((f"{where}.{name}" if where else str(name), each) for name, each in value.items())
        elif isinstance(value, list):
            waiting.extend((f"{where}[{index}]", each) for index, each in enumerate(value))
        elif _is_unbounded(value):
            return where or "the document"
    return None


def _is_unbounded(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return whole(value) is None if isinstance(value, int) else finite(value) is None
