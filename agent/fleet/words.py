"""Write times, durations and amounts for ``watch`` in few characters. Pure: no I/O.

An unknown value is never written as 0.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

from agent.fleet.host import HostSeen, RootAmount
from agent.text.amounts import number_text

UNKNOWN = "?"
ABSENT = "-"
#: The classes whose amounts a row shows: (class, divisor from Placement's unit to the shown unit, shown unit).
SHOWN = (("VCPU", 1, "VCPU"), ("MEMORY_MB", 1024, "GiB RAM"), ("DISK_GB", 1, "GiB disk"))

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
#: A sum of at least this many GiB is written in TiB.
_TIB = 8192


def duration(seconds: float) -> str:
    """Return a duration as ``12s``, ``6m``, ``2h`` or ``3d``: whole units, rounded down."""
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= unit:
            return f"{int(seconds // unit)}{letter}"
    return f"{int(seconds)}s"


def clock(at: datetime.datetime, now: datetime.datetime) -> str:
    """Return the time in UTC as ``03:05``, with the date (``11-21 03:05``) if the time is at least 18 hours ago."""
    recent = now - at < datetime.timedelta(hours=18)
    return at.astimezone(datetime.UTC).strftime("%H:%M" if recent else "%m-%d %H:%M")


def clock_of(text: str, now: datetime.datetime) -> str:
    """Convert an ISO 8601 time to the short form of ``clock``, such as ``03:05``. Return any other text unchanged."""
    try:
        return clock(datetime.datetime.fromisoformat(text).astimezone(datetime.UTC), now)
    except (ValueError, OverflowError):
        return text


def free_text(seen: HostSeen | None) -> str:
    """Return the free VCPU, GiB of RAM and GiB of disk of the host's root provider: ``-43/59/-7332``."""
    if seen is None or seen.amounts is None:
        return UNKNOWN
    return "/".join(_free(seen.amount(name), divisor) for name, divisor, _ in SHOWN)


def used_text(amount: RootAmount | None, divisor: int) -> str:
    """Return how much of a class is used in Placement: ``12``; ``?`` if unknown, ``-`` if the host lacks the class."""
    if amount is None:
        return ABSENT
    return UNKNOWN if amount.used is None else number_text(math.floor(amount.used / divisor))


def _free(amount: RootAmount | None, divisor: int) -> str:
    if amount is None:
        return ABSENT
    return UNKNOWN if amount.free is None else number_text(math.floor(amount.free / divisor))


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Return amounts as ``94 VCPU, 376 GiB RAM, 8.1 TiB disk``, then other classes; amounts of 0 are left out."""
    return ", ".join(amount_texts(amounts))


def amount_texts(amounts: Mapping[str, int]) -> list[str]:
    """Return each amount as text: VCPU, RAM and disk first, then the other classes by name; 0 is left out."""
    found = [_amount(amounts[name], divisor, unit) for name, divisor, unit in SHOWN if amounts.get(name)]
    names = {name for name, _, _ in SHOWN}
    return found + [f"{amount} {name}" for name, amount in sorted(amounts.items()) if amount and name not in names]


def _amount(amount: int, divisor: int, unit: str) -> str:
    if not unit.startswith("GiB"):
        return f"{amount} {unit}"
    gib = amount / divisor
    if gib >= _TIB:
        return f"{gib / 1024:.1f} {unit.replace('GiB', 'TiB')}"
    return f"{_rounded(gib)} {unit}"


def _rounded(gib: float) -> str:
    """Return the number of GiB as text.

    The text has one decimal if ``gib`` is below 10 and not a whole number. Any other amount is rounded to a whole
    number.

    An amount between 0 and 0.1 GiB is shown as ``<0.1``, never as 0.
    """
    if gib >= 10 or gib.is_integer():
        return f"{gib:.0f}"
    return f"{gib:.1f}" if gib >= 0.1 else "<0.1"
