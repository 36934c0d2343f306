"""Make parts of headlines: the consumer's name, amounts with short units, and sizes in readable units."""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.compared import Row
from agent.text.amounts import number_text, with_unit
from agent.text.headline import short_name

_STEP = 1024
_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def short_amounts(amounts: Iterable[tuple[str, int | None]]) -> str:
    """Return (resource class, amount) pairs as "8 VCPU, 16384 MiB, 80 GiB", or "nothing" if there are no amounts."""
    found = sorted((each for each in amounts if each[1] is not None), key=_by_importance)
    return ", ".join(with_unit(name, amount) for name, amount in found if amount is not None) or "nothing"


def recorded(rows: Iterable[Row]) -> str:
    """Return as text what one consumer has in Placement. Each row is about one resource class."""
    return short_amounts((row.resource_class, row.recorded) for row in rows)


def promised(rows: Iterable[Row]) -> str:
    """Return as text what one consumer should have according to nova's database."""
    return short_amounts((row.resource_class, row.promised) for row in rows)


def held(rows: Iterable[Row]) -> str:
    """Return as text what one consumer uses according to libvirt and storage."""
    return short_amounts((row.resource_class, row.held) for row in rows)


# The order in which operators read amounts: CPUs, memory, disk, then other classes by name.
_FIRST = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")


def _by_importance(amount: tuple[str, int | None]) -> tuple[int, str]:
    name = amount[0]
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def who(rows: tuple[Row, ...]) -> str:
    """Return the name of the consumer for a headline; its uuid if it has no name."""
    first = rows[0]
    name = short_name(first.consumer_name or first.key)
    return f"a migration of {name}" if first.migration is not None else name


def size_text(size_bytes: int) -> str:
    """Return the size in a suitable unit: "7.5 GiB". The finding's text ``actual`` has the exact number of bytes."""
    size, unit = float(size_bytes), 0
    while size >= _STEP and unit < len(_SIZES) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{number_text(round(size, 1))} {_SIZES[unit]}"
