"""Section 6, the provider tree: what Placement has, and what the agent would change there.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from agent.pages.blocks import Block, Cell, Column, Meaning, Paragraph, Table
from agent.pages.host.facts import HostFacts
from agent.pages.host.pictures.tree import tree_picture
from agent.pages.host.tree import nodes_of
from agent.pages.page import Section
from agent.pages.tables import cut, of_grid
from agent.render.documents import inventory_rows
from agent.render.inventory_grid import diff_grid, difference

MOST_ROWS = 100
_READ_SO = (
    "Each class has two amounts from Placement, used/total, and the allocation ratio, for example x4. A ratio of 1 is "
    "not shown. The used amount does not include the reserved amount. The capacity is (total - reserved) x ratio."
)


def providers(facts: HostFacts) -> Section:
    """Return the section."""
    nodes = nodes_of(facts.report)
    if not nodes:
        nothing = Paragraph(text="No provider is known, because neither Placement nor libvirt was read.")
        return Section(id="providers", heading="Provider tree", blocks=(nothing,))
    blocks: tuple[Block, ...] = (Paragraph(text=_READ_SO), tree_picture(nodes), _inventories(facts), _traits(facts))
    return Section(id="providers", heading="Provider tree", blocks=blocks)


def _inventories(facts: HostFacts) -> Table | Paragraph:
    """Return the inventories that the agent would change."""
    if facts.missing("placement"):
        return Paragraph(text="Inventories were not compared, because Placement was not read.")
    rows = [{**row, "differs": difference(row)} for row in inventory_rows(facts.report.inventory)]
    differing = [row for row in rows if row["differs"]]
    if not differing:
        return Paragraph(text="Every inventory in Placement is as the agent wants it.")
    more = len(differing) - MOST_ROWS
    table = of_grid("inventory-diff", "Inventories that differ: recorded -> wanted", diff_grid(differing[:MOST_ROWS]))
    foot = f"and {more} more; stocktake inventory --diff shows all" if more > 0 else ""
    return Table(id=table.id, caption=table.caption, columns=table.columns, rows=table.rows, foot=foot)


def _traits(facts: HostFacts) -> Table | Paragraph:
    """Return the traits that the agent would add or remove."""
    if facts.missing("placement"):
        return Paragraph(text="Traits were not compared, because Placement was not read.")
    differing = [row for row in facts.report.traits if row.wanted != row.recorded]
    if not differing:
        return Paragraph(text="Every trait in Placement is as the agent wants it.")
    more = len(differing) - MOST_ROWS
    return Table(
        id="trait-diff",
        caption="Traits that differ",
        columns=(
            Column(heading="provider"),
            Column(heading="trait", is_code=True),
            Column(heading="change", is_word=True),
        ),
        rows=tuple(
            (
                Cell(text=cut(row.provider)),
                Cell(text=cut(row.trait)),
                Cell(text="to add" if row.wanted else "to remove", meaning=Meaning.WRONG),
            )
            for row in differing[:MOST_ROWS]
        ),
        foot=f"and {more} more; stocktake traits --diff shows all" if more > 0 else "",
    )
