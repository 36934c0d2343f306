"""Section 5, the ledger: each consumer's amounts in the books "promised", "held" and "recorded".

Rows with differences come first.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from dataclasses import replace

from agent.model.report import LedgerRow, Verdict
from agent.pages.blocks import Block, Cell, Meaning, Paragraph
from agent.pages.host.facts import HostFacts
from agent.pages.host.largest import largest
from agent.pages.page import Section
from agent.pages.tables import of_grid, was_unread
from agent.render.ledger_grid import is_differing, ledger_grid, reading_place

MOST_ROWS = 200
_WITHOUT = ("source", "provider")
# The colours of two kinds of rows: amounts that something outside the cloud uses, and reserved amounts.
_CALM = {
    Verdict.UNMANAGED: Meaning.FOREIGN,
    Verdict.OTHER_SERVICE: Meaning.FOREIGN,
    Verdict.RESERVED: Meaning.RESERVED,
}


def ledger(facts: HostFacts) -> Section:
    """Return the section."""
    rows = sorted(facts.report.ledger, key=reading_place)
    if not rows:
        unread = [source.name for source in facts.unread_sources]
        none = "No consumer of resources was found in nova's database, on the host or in Placement."
        nothing = Paragraph(text=f"No consumer is known, because {was_unread(unread)}." if unread else none)
        return Section(id="ledger", heading="Ledger", blocks=(nothing,))
    differing = sum(map(is_differing, rows))
    shown = rows[:MOST_ROWS]
    grid = ledger_grid(facts.report, shown)
    table = of_grid("ledger-rows", "Amounts by consumer and class", grid, _WITHOUT, "Search these rows")
    place = [column.name for column in grid.columns if column.name not in _WITHOUT].index("verdict")
    marked = [_marked(cells, place, row) for cells, row in zip(table.rows, shown, strict=True)]
    more = len(rows) - len(shown)
    foot = f"and {more} more; stocktake ledger shows all" if more else ""
    said = f"In {differing} of {len(rows)} rows the amounts differ or could not be compared; these rows are first."
    blocks: tuple[Block, ...] = (*largest(facts), Paragraph(text=said), replace(table, rows=tuple(marked), foot=foot))
    return Section(id="ledger", heading="Ledger", blocks=blocks)


def _marked(cells: tuple[Cell, ...], place: int, row: LedgerRow) -> tuple[Cell, ...]:
    """Return the cells of a row. The verdict's cell, ``cells[place]``, gets the colour of the row's verdict."""
    differs = Meaning.UNREAD if row.verdict is Verdict.UNKNOWN else Meaning.WRONG
    meaning = _CALM.get(row.verdict, Meaning.COUNTED if not is_differing(row) else differs)
    return (*cells[:place], replace(cells[place], meaning=meaning), *cells[place + 1 :])
