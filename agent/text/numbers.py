"""Decide what counts as a number in a document from Placement, nova or Ceph, or in an older report.

JSON has no largest integer, and Python also reads ``NaN``, ``Infinity`` and ``1e999``. An integer of 400 digits passes
every ``isinstance`` test and then fails far from its source, at the first calculation with a float. No server stores
more than 64 bits, so this module rejects larger numbers. The caller names the field in its error. Pure: no I/O.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

#: The largest signed 64-bit integer.
MOST = 2**63 - 1
#: The largest 32-bit float, which is Placement's upper limit for a ratio (16.0.0, schemas/inventory.py).
MOST_RATIO = 3.40282e38
_DIGITS = len(str(MOST))


def whole(value: object) -> int | None:
    """Return a 64-bit integer unchanged, and None for anything else. A Boolean is not an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -MOST <= value <= MOST else None


def whole_text(text: str) -> int | None:
    """Return the 64-bit integer that a text of decimal digits stands for; None for any other text, such as ``+1``."""
    digits = text.lstrip("0") or text[:1]
    return whole(int(digits)) if digits.isdecimal() and len(digits) <= _DIGITS else None


def finite(value: object) -> float | None:
    """Return a number as a finite float, and None if the value is not a number or too large for a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def unbounded(document: object) -> str | None:
    """Return the place of a number that this module rejects, such as ``inventory[2].used``; None if it rejects none."""
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
    if isinstance(value, int):
        return not isinstance(value, bool) and whole(value) is None
    return isinstance(value, float) and not math.isfinite(value)
