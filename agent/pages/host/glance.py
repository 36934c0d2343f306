"""A short table for the section Verdict: each cause, its amounts, since when, and the command to run first.

A cause is a finding that is not the effect of another finding.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.model.finding import FindingState, RemedyKind, SeenFinding
from agent.pages.blocks import Cell, Column, Meaning, Table
from agent.pages.host.amounts import amounts_of_finding
from agent.pages.host.facts import HostFacts
from agent.pages.host.findings import ID_DIGITS, MEANINGS, MOST_BLOCKS, block_id, causes_of, groups_of, who
from agent.pages.sizes import listed
from agent.pages.tables import NOT_KNOWN, cut, was_unread
from agent.pages.times import in_table, utc, with_age
from agent.render.reading_order import names_of

#: The maximum number of causes in the section Verdict. The section Findings shows the others.
MOST_ROWS = 12
_COLUMNS = (
    "severity", "finding", "about", "amounts", "began (UTC)", "first seen (UTC)", "known", "first command",
)  # fmt: skip
_WORDS = frozenset({"severity", "began (UTC)", "first seen (UTC)"})
#: The kinds of remedies whose command the table shows, the preferred kind first. The table shows no command of kind
#: HAND, because such a command may destroy data.
_FIRST = (RemedyKind.HEAL, RemedyKind.INSPECT)


def glance(facts: HostFacts) -> Table | None:
    """Return the table of causes; None if there are no findings."""
    names = names_of(facts.report)
    causes = causes_of(facts.report.findings, names)
    if not causes:
        return None
    more = len(causes) - MOST_ROWS
    places = {seen.finding.id: f"#{block_id(group)}" for group in groups_of(facts)[:MOST_BLOCKS] for seen in group}
    has_unknown = any(seen.state is FindingState.UNKNOWN for seen in causes[:MOST_ROWS])
    columns = [name for name in _COLUMNS if has_unknown or name != "known"]
    return Table(
        id="causes",
        caption='Causes at a glance, the most urgent first. "Began" is when the fault began according to nova\'s '
        'database ("?" if not known). "First seen" is when an audit first found the fault, which is often '
        'later. The commands in the column "first command" change nothing: stocktake heal only prints a plan. '
        f"Ages are as of {utc(facts.now)}.",
        columns=tuple(
            Column(heading=name, is_word=name in _WORDS, is_command=name == "first command") for name in columns
        ),
        rows=tuple(_row(seen, names, places, facts, columns) for seen in causes[:MOST_ROWS]),
        foot=f"and {more} more, in the section Findings" if more > 0 else "",
    )


def _command(seen: SeenFinding) -> str:
    """Return the command to run first: the preview of the repair if heal can repair, else a command that only reads."""
    finding = seen.finding
    found = (each.command for kind in _FIRST for each in finding.remedies if each.kind is kind and each.command)
    return next(found, f"stocktake explain {finding.id[:ID_DIGITS]}")


def _when(time: str | None, now: str) -> str:
    return in_table(time, now) if time else NOT_KNOWN


def _about(seen: SeenFinding, names: Mapping[str, str]) -> str:
    """Return what the finding is about. The text has only the first digits of a consumer's uuid."""
    uuid = seen.finding.consumer_uuid
    return f"{names.get(uuid, '')} {uuid[:ID_DIGITS]}".strip() if uuid else who(seen, names)


def _row(
    seen: SeenFinding, names: Mapping[str, str], places: Mapping[str, str], facts: HostFacts, columns: Sequence[str]
) -> tuple[Cell, ...]:
    finding = seen.finding
    known = Cell(text="checked by this audit")
    if seen.state is FindingState.UNKNOWN:
        last = f"; last checked {with_age(seen.last_seen_at, facts.now)}" if seen.last_seen_at else ""
        known = Cell(
            text=f"not known now whether the fault still exists: {was_unread(seen.unknown_because)}{last}",
            meaning=Meaning.UNREAD,
        )
    cells = {
        "severity": Cell(text=finding.severity.value, meaning=MEANINGS[finding.severity]),
        "finding": Cell(text=finding.code, href=places.get(finding.id, "")),
        "about": Cell(text=cut(_about(seen, names))),
        "amounts": Cell(text=", ".join(listed(amounts_of_finding(facts.report, seen))) or "-"),
        "began (UTC)": Cell(text=_when(finding.began_at, facts.now)),
        "first seen (UTC)": Cell(text=_when(seen.first_seen_at, facts.now)),
        "known": known,
        "first command": Cell(text=_command(seen)),
    }
    return tuple(cells[name] for name in columns)
