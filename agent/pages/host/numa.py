"""Section 8, NUMA cells, huge pages and free PCI devices.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from agent.pages.blocks import Block, Cell, Column, Meaning, Note, Paragraph, Table
from agent.pages.host.cells import Pool, cells_of, pools_of
from agent.pages.host.facts import HostFacts
from agent.pages.host.pictures.numa import numa_picture
from agent.pages.page import Section
from agent.pages.tables import cut

MOST_POOLS = 60


def numa(facts: HostFacts) -> Section:
    """Return the section."""
    cells, pools = cells_of(facts), pools_of(facts)
    blocks: list[Block] = []
    if cells is None:
        blocks.append(Note(text="NUMA cells are not known: the report does not contain them.", meaning=Meaning.UNREAD))
    elif cells:
        blocks.append(numa_picture(cells))
    else:
        blocks.append(Paragraph(text="The host has no NUMA topology that Nova uses."))
    if pools is None:
        blocks.append(Note(text="PCI devices are not known: the report does not contain them.", meaning=Meaning.UNREAD))
    else:
        blocks.append(
            _table(pools) if pools else Paragraph(text="No PCI device for guests is free, or none is configured.")
        )
    return Section(id="numa", heading="NUMA, huge pages, PCI", blocks=tuple(blocks))


def _table(pools: tuple[Pool, ...]) -> Table:
    more = len(pools) - MOST_POOLS
    names = ("address", "vendor:product", "type", "NUMA cell", "free devices")
    return Table(
        id="pci-pools",
        caption="Free PCI devices for guests",
        columns=tuple(Column(heading=name, is_number=name == "free devices") for name in names),
        rows=tuple(
            tuple(
                Cell(text=cut(text)) for text in (pool.address, pool.ids, pool.kind, pool.cell or "?", str(pool.count))
            )
            for pool in pools[:MOST_POOLS]
        ),
        foot=f"and {more} more" if more > 0 else "",
    )
