"""Return the lines that ``watch`` prints if stdout is a pipe. Pure: no I/O.

There is a line for each message from a host, and a line for each host that sends no message.
"""

from __future__ import annotations

from agent.fleet.host import HostSeen
from agent.fleet.view import HostRow
from agent.fleet.words import ABSENT, UNKNOWN, amounts_text, used_text
from agent.text.amounts import beside_its_class

_SHOWN = (("vcpu", "VCPU"), ("memory", "MEMORY_MB"), ("disk", "DISK_GB"))


def line(seen: HostSeen, cell: str) -> str:
    """Return a host's message as one line, such as ``compute-17 findings guests=49 …``.

    ``cell`` is "" if there is only one cell.
    """
    findings = None if seen.findings is None else sum(number for _, number in seen.findings)
    values = [
        ("guests", _count(seen.guests)),
        *((name, _used_free(seen, resource_class)) for name, resource_class in _SHOWN),
        ("findings", _count(findings)),
        ("lost", ",".join(seen.sources_lost) or ABSENT),
        ("worst", seen.worst.code if seen.worst else ABSENT if findings == 0 else UNKNOWN),
        ("leaked", _leaked(seen)),
    ]
    if cell:
        values.append(("cell", cell))
    return f"{seen.host} {seen.outcome} " + " ".join(f"{name}={value}" for name, value in values)


def missing_line(row: HostRow) -> str:
    """Return the line for a host that has gone silent, or for an expected host that has sent no message in time."""
    if row.seen is None:
        return f"{row.host} has sent no message, but is expected{f' in {row.cell}' if row.cell else ''}"
    due = f"one was due every {row.seen.interval_s:g} s"
    return f"{row.host} is silent: no message for {row.age_s or 0.0:.0f} s, {due}"


def _leaked(seen: HostSeen) -> str:
    if seen.leaked is None:
        return UNKNOWN
    return amounts_text(dict(seen.leaked)).replace(" ", "") or ABSENT


def _used_free(seen: HostSeen, resource_class: str) -> str:
    if seen.amounts is None:
        return UNKNOWN
    amount = seen.amount(resource_class)
    if amount is None:
        return ABSENT
    used = used_text(amount, 1)
    free = UNKNOWN if amount.free is None else beside_its_class(resource_class, amount.free).replace(" ", "")
    return f"{used}/{free}"


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
