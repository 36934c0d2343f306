"""The table that says what to do first: for each problem, the host on which to begin and the commands to run there.

A problem is a finding code, or a state in which hosts have no current figures: never seen, silent, crashed, unreadable.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from agent.fleet.conditions import Condition
from agent.fleet.details import commands, is_code
from agent.fleet.view import HostRow
from agent.model.finding import Severity
from agent.pages.blocks import Cell, Column, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.harm import by_harm
from agent.pages.fleet.looks import SEVERITIES, severity_cell, state_cell
from agent.pages.fleet.report_file import SPREAD_CODE
from agent.pages.fleet.shared_consumers import shared_of
from agent.pages.fleet.wording import host_cell, hosts, name
from agent.repairs import BY_CODE

#: The maximum number of rows. Each row is about one finding code, or about one state of hosts that have no current
#: figures, such as "silent".
MOST_STEPS = 30
#: The roles in which heal repairs findings.
HEALERS = frozenset({"owner", "companion"})
#: The order of the severities in the table. "" is the severity of a finding whose severity is not known.
_ORDER = {name: place for place, name in enumerate(("error", "", "warning", "info"))}
_COMMANDS = "commands to run on this host"
_ABSENT = (Condition.NEVER, Condition.SILENT, Condition.CRASHED, Condition.UNREADABLE)
_WHERE = 'only on the hosts in the column "repair" of the table "Consumers on several hosts"'
_CAPTION = (
    "What to do first. A row is about one kind of finding (errors first), or about hosts without current numbers. Run "
    "the commands on the named host, then on the other hosts with this finding. No command changes anything: heal "
    "prints a plan and its DIGEST. To carry out the plan, run the same heal command again with --plan DIGEST --yes."
)


class _Step(NamedTuple):
    """One row of the table. ``places`` are the numbers that sort the rows, the smallest first."""

    places: tuple[int, int]
    kind: Cell
    name: str
    rows: Sequence[HostRow]
    first: HostRow
    commands: tuple[str, ...]
    note: str = ""


def first_steps(facts: FleetFacts, places: Mapping[tuple[str, str], str]) -> tuple[Table, ...]:
    """Return the table of first steps; () if no host needs attention. ``places``: the HTML ids of the hosts' rows."""
    rows = by_harm(facts.view.rows)
    steps = sorted((*_of_codes(rows, facts), *_of_absent(rows)), key=lambda step: step.places)
    if not steps:
        return ()
    headings = ("severity", "finding or state", "hosts", "begin with", _COMMANDS, "note")
    table = Table(
        id="first-steps",
        caption=_CAPTION,
        columns=tuple(
            Column(
                heading=heading,
                is_number=heading == "hosts",
                is_word=heading in ("severity", "finding or state", "begin with"),
                is_command=heading == _COMMANDS,
            )
            for heading in headings
        ),
        rows=tuple(
            (
                step.kind,
                Cell(text=step.name),
                Cell(text=str(len(step.rows))),
                host_cell(step.first, places),
                Cell(text="; ".join(step.commands)),
                Cell(text=step.note),
            )
            for step in steps[:MOST_STEPS]
        ),
        foot=_results(rows, {step.name for step in steps}),
    )
    return (table,)


def severities(facts: FleetFacts) -> Mapping[str, str]:
    """Return the most severe known severity of each code.

    A host's message names only the severity of its worst finding. Other severities come from the details of the host.
    """
    found: dict[str, str] = {}
    for row in facts.view.rows:
        details = facts.details_of(row)
        pairs = [(each.code, each.severity) for each in details.codes] if details else []
        pairs += [(row.seen.worst.code, row.seen.worst.severity)] if row.seen and row.seen.worst else []
        for code, severity in pairs:
            if severity in SEVERITIES and _ORDER[severity] <= _ORDER[found.get(code, "info")]:
                found[code] = severity
    return found


def _of_codes(rows: Sequence[HostRow], facts: FleetFacts) -> Iterator[_Step]:
    known = severities(facts)
    by_code: dict[str, list[HostRow]] = defaultdict(list)
    for row in rows:
        for code, number in _causes(row):
            if number and is_code(code):
                by_code[code].append(row)
    places = {row.key: place for place, row in enumerate(rows)}
    for code, affected in by_code.items():
        severity = known.get(code, "")
        at_fault = _at_fault(code, affected, rows, facts)
        if severity == Severity.INFO.value or not at_fault:
            continue
        # Begin with a host on which heal can repair the finding, even if another host does more harm. On a host with
        # role observer, heal repairs nothing.
        first = next((row for row in at_fault if _heals(code, row)), at_fault[0])
        yield _Step(
            (_ORDER[severity], places[first.key]),
            severity_cell(severity),
            code,
            at_fault,
            first,
            (f"stocktake explain {code}", *((f"stocktake heal --code {code}",) if _heals(code, first) else ())),
            _note(code, at_fault),
        )


def _of_absent(rows: Sequence[HostRow]) -> Iterator[_Step]:
    """Yield a row for each state in which hosts have no current figures. In the table, these rows follow the errors."""
    for place, condition in enumerate(_ABSENT):
        affected = [row for row in rows if row.condition is condition]
        if affected:
            places = (_ORDER["error"], len(rows) + place)
            kind = state_cell(condition)
            yield _Step(places, kind, "no current numbers", affected, affected[0], commands(affected[0]))


def _causes(row: HostRow) -> Sequence[tuple[str, int]]:
    """Return the number of findings of each code.

    If the host's message says which findings are caused by another finding, these findings are not counted.
    """
    if row.seen is None:
        return ()
    return row.seen.findings or () if row.seen.causes is None else row.seen.causes


def _at_fault(code: str, affected: Sequence[HostRow], rows: Sequence[HostRow], facts: FleetFacts) -> Sequence[HostRow]:
    """Return the hosts on which a repair of the finding helps: usually all affected hosts.

    If a consumer has allocations on several hosts (SPREAD_CODE), the result has the hosts where the consumer does not
    run. A host that reports its allocation of the consumer as wasted is left out: the operator repairs the finding
    about the wasted allocation instead.
    """
    shared = shared_of(facts) if code == SPREAD_CODE else []
    if not shared or not all(each.home for each in shared):
        return affected
    names = {host for each in shared for host in each.surplus if host not in each.wasted_by}
    return [row for row in rows if row.host in names]


def _heals(code: str, row: HostRow) -> bool:
    return code in BY_CODE and row.seen is not None and row.seen.role in HEALERS


def _note(code: str, rows: Sequence[HostRow]) -> str:
    """Return what the operator must know before heal repairs these hosts; "" if heal repairs them all."""
    if code not in BY_CODE:
        return ""
    where = [_WHERE] if code == SPREAD_CODE else []
    others = Counter(row.seen.role for row in rows if row.seen and row.seen.role not in HEALERS)
    if others:
        found = ", ".join(f"{hosts(number)} with role {name(role)}" for role, number in sorted(others.items()))
        where.append(
            f"heal repairs nothing on {found}: set [agent] role to {' or '.join(sorted(HEALERS))} there, then run "
            f"stocktake heal --code {code}"
        )
    return "; ".join(where)


def _results(rows: Sequence[HostRow], named: set[str]) -> str:
    """Return a sentence that lists the symptoms of the findings in the table; "" if there are no symptoms."""
    found: Counter[str] = Counter()
    for row in rows:
        if row.seen and row.seen.causes is not None:
            found.update(code for code, number in row.seen.findings or () if number and code not in named)
            found.subtract(code for code, number in row.seen.causes if number and code not in {*named, SPREAD_CODE})
    results = sorted(code for code, number in found.items() if number > 0)
    return (
        f"These findings are only results of the findings above, and go away with them: {', '.join(results)}."
        if results
        else ""
    )
