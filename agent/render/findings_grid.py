"""Show findings as a list: its columns and rows, its order, and the short form for people. Pure: no I/O.

The functions take the JSON documents of findings (documents.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.model.finding import FindingState, RemedyKind, Severity
from agent.render.cells import NOT_KNOWN
from agent.render.documents import Document
from agent.render.finding_text import age_s, short_id, state_of, who
from agent.render.layout import Column, Grid, Kind
from agent.text.amounts import age_text

COLUMNS = (
    *("id", "severity", "code", "state", "confirmed", "subject", "consumer_uuid", "resource_class", "provider_uuid"),
    *("first_seen_at", "last_seen_at", "caused_by", "headline", "fix"),
    *("inspect", "hand"),
)
_COMMANDS = {"fix": RemedyKind.HEAL, "inspect": RemedyKind.INSPECT, "hand": RemedyKind.HAND}
_PEOPLE = (
    Column("severity", "SEV", toned=True),
    Column("code", "CODE"),
    Column("subject", "WHO", Kind.NAME, readable=16),
    Column("state", "STATE", toned=True),
    Column("first_seen_at", "AGE", Kind.NUMBER),
    Column("id", "ID"),
)
_SEVERITIES = {severity.value: rank for rank, severity in enumerate(Severity)}
_STATES = {
    state.value: rank for rank, state in enumerate((FindingState.CONFIRMED, FindingState.SEEN, FindingState.UNKNOWN))
}


def in_list_order(findings: Iterable[Document], names: Mapping[str, str]) -> list[Document]:
    """Sort the findings by severity (most urgent first), state, age (oldest first), code and name."""
    return sorted(
        findings,
        key=lambda finding: (
            _SEVERITIES.get(finding["severity"], len(_SEVERITIES)),
            _STATES.get(state_of(finding), len(_STATES)),
            finding["first_seen_at"],
            finding["code"],
            who(finding, names),
            finding["id"],
        ),
    )


def finding_row(finding: Document) -> tuple[Any, ...]:
    """Return one row of the list of findings: the finding's value for each column.

    The value of three columns is a command, or None if the finding has no such command. ``fix`` is ``stocktake heal``
    for the finding. ``inspect`` is the first command that changes nothing. ``hand`` is the first command that the
    operator runs after checking a condition.
    """
    commands = {column: _first_command(finding, kind) for column, kind in _COMMANDS.items()}
    values = {**finding, "state": state_of(finding), **commands}
    return tuple(values.get(name) for name in COLUMNS)


def _first_command(finding: Document, kind: RemedyKind) -> str | None:
    commands = (each["command"] for each in finding.get("remedies", ()) if each["kind"] == kind.value)
    return next((command for command in commands if command), None)


def findings_grid(findings: Sequence[Document], names: Mapping[str, str], now: str) -> Grid:
    """Return the findings as a short table for a terminal.

    ``names`` maps consumers' uuids to names, ``now`` is ISO 8601.
    """
    return Grid(
        columns=_PEOPLE,
        rows=tuple(_cells(finding, names, now) for finding in findings),
        leave_out=("first_seen_at", "state"),
    )


def _cells(finding: Document, names: Mapping[str, str], now: str) -> tuple[str, ...]:
    age = age_s(finding, now)
    return (
        str(finding["severity"]).upper(),
        finding["code"],
        names.get(finding["consumer_uuid"] or "") or who(finding, names),
        state_of(finding),
        NOT_KNOWN if age is None else age_text(age) if age >= 1 else "new",
        short_id(finding),
    )
