"""Section 11, the journal: who changed what in the last 30 days, and the command that undoes each change.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from agent.pages.blocks import Cell, Column, Meaning, Paragraph, Table
from agent.pages.host.facts import Change, HostFacts
from agent.pages.page import Section
from agent.pages.tables import text
from agent.pages.times import in_table, utc

MOST_ROWS = 100
_DIGITS = 8
_MEANINGS = {"done": Meaning.COUNTED, "refused": Meaning.FOREIGN, "unknown": Meaning.UNREAD, "open": Meaning.UNREAD}
_COLUMNS = (
    "time (UTC)", "entry", "kind", "undone", "result", "in the numbers", "who", "what", "in words", "to undo",
)  # fmt: skip


def journal(facts: HostFacts) -> Section:
    """Return the section."""
    changes = facts.changes
    if not changes:
        unread = f"The journal was not read: {'; '.join(facts.unread)}"
        nothing = unread if changes is None else "No heal, undo or adopt has changed anything in the last 30 days."
        return Section(id="journal", heading="Journal", blocks=(Paragraph(text=nothing),))
    newest = changes[::-1]
    more = len(newest) - MOST_ROWS
    table = Table(
        id="changes",
        caption=f"Changes of the last 30 days, the newest first. The other numbers on this page come from the "
        f"audit of {utc(facts.report.started_at)} and do not show later changes. The command in the last column "
        f"reverses the change in its row. A row of kind undo can be reversed, too. Ages are as of {utc(facts.now)}.",
        columns=tuple(
            Column(heading=name, is_code=name in {"entry", "to undo"}, is_word=name in {"time (UTC)", "kind", "result"})
            for name in _COLUMNS
        ),
        rows=tuple(_row(change, facts) for change in newest[:MOST_ROWS]),
        foot=f"and {more} more; stocktake journal shows all" if more > 0 else "",
    )
    return Section(id="journal", heading="Journal", blocks=(table,))


def _row(change: Change, facts: HostFacts) -> tuple[Cell, ...]:
    result = Cell(text=change.result, meaning=_MEANINGS.get(change.result, Meaning.UNREAD))
    return (
        Cell(text=in_table(change.at, facts.now)),
        text(change.id[:_DIGITS]),
        text(change.kind),
        _undone(change),
        result,
        text("no: later", Meaning.FOREIGN) if facts.is_later(change) else text("yes"),
        text(change.actor or "not recorded"),
        text(change.what),
        text(change.words),
        text(_undo(change)),
    )


def _undone(change: Change) -> Cell:
    """Return the cell that says whether the change was undone. For an undo, the cell names the undone change."""
    if change.undone_by:
        return text(f"yes, by {', '.join(entry[:_DIGITS] for entry in change.undone_by)}", Meaning.FOREIGN)
    return text(f"undoes {change.undoes[:_DIGITS]}" if change.undoes else "no")


def _undo(change: Change) -> str:
    return f"stocktake undo {change.id[:_DIGITS]}" if change.result == "done" and not change.undone_by else ""
