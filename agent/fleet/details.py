"""Describe one host in words: what ``watch`` knows about the host, and commands to run on it. Pure: no I/O."""

from __future__ import annotations

import datetime

from agent.fleet.conditions import Condition, Counts
from agent.fleet.host import HostSeen, RootAmount
from agent.fleet.table import LABELS, what
from agent.fleet.view import HostRow
from agent.fleet.words import ABSENT, UNKNOWN, amounts_text, clock_of, duration
from agent.text.amounts import number_text, unit_of

#: For each condition, the commands to run on the host, the most useful command first.
_COMMANDS = {
    Condition.NEVER: ("systemctl status stocktake-agent", "stocktake config check"),
    Condition.SILENT: ("systemctl status stocktake-agent", "journalctl -u stocktake-agent -n 50"),
    Condition.CRASHED: ("journalctl -u stocktake-agent -n 50", "stocktake status"),
    Condition.UNREADABLE: ("stocktake status", "stocktake config check"),
    Condition.PARTIAL: ("stocktake status", "stocktake config check"),
    Condition.AWAITED: ("systemctl status stocktake-agent",),
}
_OTHER_COMMANDS = ("stocktake status",)

#: The name (left column) of a line that shows a command.
RUN_THERE = "run there"

Line = tuple[str, str]


def details(row: HostRow, at: datetime.datetime) -> tuple[Line, ...]:
    """Return the lines that describe the host, each as (name, text).

    ``?`` stands for a value that the host's agent does not know or does not send.
    """
    names = [("host", row.host), ("cell", row.cell), ("group", row.group)]
    lines = [(name, text) for name, text in names if text]
    lines.append(("condition", f"{LABELS[row.condition]}: {what(row, at)}"))
    if row.disabled:
        lines.append(("nova", "the nova-compute service is disabled"))
    if row.is_expected is False:
        lines.append(("expected", "no: the list of expected hosts does not have this host"))
    if row.seen is not None:
        lines += _of_message(row, row.seen, at)
    return (*lines, *((RUN_THERE, command) for command in commands(row)))


def commands(row: HostRow) -> tuple[str, ...]:
    """Return commands that the operator can run on the host to learn more about it; the commands change nothing."""
    found = _COMMANDS.get(row.condition, _OTHER_COMMANDS)
    worst = row.seen.worst if row.seen else None
    return (*found, f"stocktake explain {worst.code}") if worst and is_code(worst.code) else found


def is_code(text: str) -> bool:
    """Return whether ``text`` has the form of a finding code, and so is safe in a command that ``watch`` shows.

    The text is from another host's message; any other text must not get into such a command.
    """
    return text.isascii() and text.replace("-", "").isalnum()


def _of_message(row: HostRow, seen: HostSeen, at: datetime.datetime) -> list[Line]:
    audited = clock_of(seen.audited_at, at) if seen.audited_at else UNKNOWN
    return [
        ("message", f"{duration(row.age_s or 0.0)} ago, due every {seen.interval_s:g} s; audit began at {audited}"),
        ("agent", f"version {seen.agent_version}, role {seen.role}"),
        ("outcome", seen.outcome + (f": {seen.error}" if seen.error else "")),
        ("not read", ", ".join(seen.sources_lost) or "nothing: all sources were read"),
        ("findings", _counts(seen.findings)),
        ("confirmed", _counts(seen.confirmed)),
        ("not known", _not_known(seen, at)),
        ("oldest", _oldest(row, seen)),
        ("leaked", UNKNOWN if seen.leaked is None else amounts_text(dict(seen.leaked)) or "nothing"),
        ("missing", UNKNOWN if seen.missing is None else amounts_text(dict(seen.missing)) or "nothing"),
        ("held back", UNKNOWN if seen.held_back is None else f"{seen.held_back} writes"),
        ("heal", _heal(seen)),
        ("guests", UNKNOWN if seen.guests is None else str(seen.guests)),
        *_amounts(seen),
    ]


def _counts(counts: Counts | None) -> str:
    if counts is None:
        return UNKNOWN
    return ", ".join(f"{number} {name}" for name, number in counts if number) or "none"


def _not_known(seen: HostSeen, at: datetime.datetime) -> str:
    since = f", last checked at {clock_of(seen.unknown_since, at)}" if seen.unknown_since else ""
    return _counts(seen.unknown) + since


def _oldest(row: HostRow, seen: HostSeen) -> str:
    if seen.oldest_age_s is None:
        return "no finding" if seen.findings == () else UNKNOWN
    return f"first seen {duration(seen.oldest_age_s + (row.age_s or 0.0))} ago"


def _heal(seen: HostSeen) -> str:
    if seen.heal_enabled is None:
        return UNKNOWN
    if not seen.heal_enabled:
        return "the daemon makes no repairs by itself"
    waiting = UNKNOWN if seen.heal_waiting is None else str(seen.heal_waiting)
    return f"the daemon makes repairs by itself; {waiting} findings wait for a repair"


def _amounts(seen: HostSeen) -> list[Line]:
    if seen.amounts is None:
        return [("resources", UNKNOWN)]
    return [(each.resource_class, _amount(each)) for each in seen.amounts]


def _amount(amount: RootAmount) -> str:
    parts = (
        ("free", amount.free), ("used", amount.used), ("total", amount.total), ("reserved", amount.reserved),
        ("ratio", amount.ratio),
    )  # fmt: skip
    words = ", ".join(f"{name} {UNKNOWN if value is None else number_text(value)}" for name, value in parts)
    return f"{words} ({unit_of(amount.resource_class)})" if words else ABSENT
