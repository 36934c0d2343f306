"""Decide what ``stocktake watch`` shows: one row per host from the host's last message, and which hosts are silent.

Pure. Any client of the broker may send messages, and so may agents of other versions. A message that is not a host's
state is rejected as a whole, and control characters in names are escaped. A message's age counts from its arrival, not
from the sender's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.bus.host_state import SCHEMA_VERSION
from agent.errors import SourceInconsistent
from agent.text.amounts import beside_its_class
from agent.text.numbers import finite, whole
from agent.text.wording import printable

#: Intervals without a message after which a host counts as silent.
PATIENCE = 3
#: Seconds by which a message may be late before its host counts as silent: the broker and both machines cause delays.
SLACK_S = 5.0

SHOWN = ("VCPU", "MEMORY_MB", "DISK_GB")
HEAD = ("HOST", "AGE", "OUTCOME", "GUESTS", "VCPU used/free", "MEMORY used/free", "DISK used/free", "FINDINGS", "LOST")
UNKNOWN = "?"
ABSENT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSeen:
    """The last message of one host.

    ``amounts`` has (used, free) for each class of the host's root provider. ``amounts``, ``guests`` and ``findings``
    are None if unknown. ``received_at`` is in monotonic seconds.
    """

    host: str
    received_at: float
    interval_s: float
    outcome: str
    guests: int | None
    findings: int | None
    sources_lost: tuple[str, ...]
    amounts: Mapping[str, tuple[float | None, float | None]] | None

    def age_s(self, now: float) -> float:
        """Return the seconds since the message arrived."""
        return max(0.0, now - self.received_at)

    def is_silent(self, now: float) -> bool:
        """Return whether no message of the host has arrived for more than three intervals."""
        return self.age_s(now) > PATIENCE * self.interval_s + SLACK_S


def host_seen(document: object, received_at: float) -> HostSeen:
    """Return what ``watch`` shows of a message. Raises SourceInconsistent if the message is not a host's state."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or version != SCHEMA_VERSION:
        problem = f"a message has schema_version {version!r}, but this program reads {SCHEMA_VERSION}"
        raise SourceInconsistent("fleet", problem)
    try:
        return _seen(document, received_at)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SourceInconsistent("fleet", f"a message does not contain a host's state: {error!r}") from error


def table(fleet: Iterable[HostSeen], now: float) -> tuple[str, ...]:
    """Return the table's head and one line per host in columns, sorted by name."""
    rows = [HEAD, *(cells(seen, now) for seen in sorted(fleet, key=lambda seen: seen.host))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return tuple(line.rstrip() for line in lines)


def cells(seen: HostSeen, now: float) -> tuple[str, ...]:
    """Return one row of the table."""
    age = f"{seen.age_s(now):.0f} s"
    return (
        seen.host,
        f"{age}, silent" if seen.is_silent(now) else age,
        seen.outcome,
        _count(seen.guests),
        *(_used_free(seen, name) for name in SHOWN),
        _count(seen.findings),
        ",".join(seen.sources_lost) or ABSENT,
    )


def line(seen: HostSeen) -> str:
    """Return one message as one line, for a pipe."""
    names = ("guests", "vcpu", "memory", "disk", "findings", "lost")
    values = zip(names, cells(seen, seen.received_at)[3:], strict=True)
    return f"{seen.host} {seen.outcome} " + " ".join(f"{name}={cell.replace(' ', '')}" for name, cell in values)


def silence_line(seen: HostSeen, now: float) -> str:
    """Return the line that is printed once when a host goes silent."""
    return f"{seen.host} is silent: no message for {seen.age_s(now):.0f} s, one was due every {seen.interval_s:g} s"


def _seen(document: Mapping[str, Any], received_at: float) -> HostSeen:
    findings, guests = document["findings"], document["guests"]
    return HostSeen(
        host=printable(_text(document["host"])),
        received_at=received_at,
        interval_s=_finite(document, "interval_s"),
        outcome=printable(_text(document["outcome"])),
        guests=None if guests is None else int(_finite(document, "guests")),
        findings=None if findings is None else sum(int(_finite(findings, code)) for code, _ in findings.items()),
        sources_lost=tuple(printable(_text(name)) for name in document["sources_lost"]),
        amounts=None if document["resources"] is None else _amounts(document),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _amounts(document: Mapping[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """Return the amounts of the host's own provider; its child providers have other classes."""
    rows = [row for row in document["resources"] if row["provider_uuid"] == document["provider_uuid"]]
    return {_text(row["resource_class"]): (_number(row, "used"), _number(row, "free")) for row in rows}


def _number(row: Mapping[str, Any], name: str) -> float | None:
    """Return the number in the field ``name``; None if it is null. Integers stay int: ``watch`` shows no fraction."""
    value: float | None = row[name]
    return value if value is None else whole(value) or _finite(row, name)


def _finite(row: Mapping[str, Any], name: str) -> float:
    number = finite(row[name])
    if number is None:
        raise TypeError(f"{name} is not a number: {row[name]!r:.60}")
    return number


def _used_free(seen: HostSeen, name: str) -> str:
    if seen.amounts is None:
        return UNKNOWN
    if name not in seen.amounts:
        return ABSENT
    used, free = seen.amounts[name]
    # Only the free amount shows its unit: the cell must stay narrow.
    return f"{_amount(name, used).split()[0]}/{_amount(name, free)}"


def _amount(name: str, value: float | None) -> str:
    return UNKNOWN if value is None else beside_its_class(name, value)


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
