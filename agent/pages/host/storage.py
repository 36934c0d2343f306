"""Section 4, the storage: who owns the bytes of each volume group, file system and Ceph cluster. Pure: no I/O."""

from __future__ import annotations

from agent.model.report import StorageRow
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LVM
from agent.pages.blocks import Block, Cell, Column, Meaning, Paragraph, Table
from agent.pages.host.facts import HostFacts
from agent.pages.host.pictures.storage import storage_picture
from agent.pages.host.stores import meaning_of, stores_of
from agent.pages.page import Section
from agent.pages.sizes import size_text
from agent.pages.tables import cut, text
from agent.text.amounts import number_text

_SOURCES = (LVM, FILESYSTEM, IMAGES, CEPH)
_STRANGE = frozenset({Meaning.FOREIGN, Meaning.WRONG})
MOST_STORES = 20
MOST_STRANGERS = 20


def storage(facts: HostFacts) -> Section:
    """Return the section."""
    rows = facts.report.storage
    stores, unread = stores_of(rows), facts.missing(*_SOURCES)
    if not stores and not unread:
        nothing = Paragraph(text="No store is configured, or no audit has reported a store.")
        return Section(id="storage", heading="Storage", blocks=(nothing,))
    blocks: list[Block] = [storage_picture(stores[:MOST_STORES], unread)]
    if len(stores) > MOST_STORES:
        blocks.append(Paragraph(text=f"and {len(stores) - MOST_STORES} more stores: stocktake ledger --storage"))
    if rows:
        blocks.append(_strangers(rows))
    return Section(id="storage", heading="Storage", blocks=tuple(blocks))


def _strangers(rows: tuple[StorageRow, ...]) -> Table | Paragraph:
    """Return a table of the largest volumes and files outside the cloud, or a sentence that there are none."""
    found = sorted(
        (row for row in rows if meaning_of(row.owner_kind) in _STRANGE),
        key=lambda row: (-row.size_bytes, row.store, row.owner, row.what),
    )
    if not found:
        return Paragraph(text="Everything in the stores that were read belongs to the cloud, or is reserved or free.")
    more = len(found) - MOST_STRANGERS
    return Table(
        id="strangers",
        caption="The largest parts of storage that do not belong to the cloud",
        columns=(
            Column(heading="size", is_number=True),
            Column(heading="bytes", is_number=True),
            Column(heading="kind", is_word=True),
            Column(heading="owner"),
            Column(heading="what"),
            Column(heading="store"),
        ),
        rows=tuple(_row(row) for row in found[:MOST_STRANGERS]),
        foot=f"and {more} more; stocktake ledger --storage shows all" if more > 0 else "",
    )


def _row(row: StorageRow) -> tuple[Cell, ...]:
    sizes = (Cell(text=size_text(row.size_bytes)), Cell(text=number_text(row.size_bytes)))
    kind = Cell(text=cut(row.owner_kind), meaning=meaning_of(row.owner_kind))
    return (*sizes, kind, text(row.owner), text(row.what), text(row.store))
