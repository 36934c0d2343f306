"""Show the rows of ``stocktake ledger --storage`` to people, with the sums of each store below the table.

Pure: no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from agent.model.report import StorageRow
from agent.render.layout import Column, Grid, Kind, Line, line

_GIB = 1 << 30
_COLUMNS = (
    Column("store", "STORE"),
    Column("owner_kind", "KIND"),
    Column("owner", "OWNER", Kind.UUID),
    # Only the table for people has this column. The other formats have the exact size in size_bytes.
    Column("size_gib", "GIB", Kind.NUMBER),
    Column("size_bytes", "BYTES", Kind.NUMBER),
    Column("what", "WHAT", Kind.TEXT),
    Column("source", "SOURCE", Kind.TEXT),
)
# The name of the store is also in the sums below the table, so a narrow table may leave out the column ``store`` too.
_LEAVE_OUT = ("source", "what", "size_bytes", "store")


def storage_grid(rows: Sequence[StorageRow]) -> Grid:
    """Return the rows as a table for a terminal."""
    return Grid(columns=_COLUMNS, rows=tuple(_cells(row) for row in rows), leave_out=_LEAVE_OUT)


def storage_foot(rows: Sequence[StorageRow], owner: str | None) -> Iterator[Line]:
    """Yield a line for each store, with the sum of its rows. If ``owner`` is not None, all rows are this owner's."""
    sums: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        sums[row.store, row.store_bytes] += row.size_bytes
    for (store, size), found in sums.items():
        rest = f"{_size(size)}, accounted for {_size(found)}, unaccounted {size - found} bytes"
        yield line(
            f"total {store}: {rest}" if owner is None else f"total {store}: {_size(found)} of {_size(size)}", hang=2
        )
    if not sums and owner is None:
        yield line("no store could be read, or no store is configured", hang=2)


def _cells(row: StorageRow) -> tuple[str, ...]:
    return (
        row.store,
        row.owner_kind,
        row.owner,
        f"{row.size_bytes / _GIB:.3f}",
        str(row.size_bytes),
        row.what,
        row.source,
    )


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.3f} GiB ({size_bytes} bytes)"
