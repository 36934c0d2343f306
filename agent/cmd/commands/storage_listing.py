"""``stocktake ledger --storage``: the owner of every byte of each store, with the sums of the rows below the table."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from agent.cmd.commands.base import Listing

if TYPE_CHECKING:
    from agent.model.report import AuditReport, StorageRow

COLUMNS = ("store", "owner_kind", "owner", "what", "size_bytes", "source", "store_bytes")
_PEOPLE = ("store", "owner", "what", "GiB, bytes")
_GIB = 1 << 30


def storage_listing(report: AuditReport, owner: str | None) -> Listing:
    """Return the rows of all owners, or only the rows of ``owner`` if ``owner`` is not None.

    Raises UsageError if every source was read and the owner has nothing, NoDocument (2) if a source was not read.
    """
    from agent.render.documents import storage_rows

    shown = tuple(row for row in report.storage if owner is None or row.owner == owner)
    if owner is not None and not shown:
        _refuse(report, owner)
    rows = tuple(tuple(row[name] for name in COLUMNS) for row in storage_rows(shown))
    return Listing(COLUMNS, rows, _PEOPLE, tuple(_people(row) for row in shown), _feet(shown, owner))


def _refuse(report: AuditReport, owner: str) -> None:
    from agent.cmd.command_line.failures import FailureKind, NoDocument
    from agent.exit_codes import PARTIAL
    from agent.render.explain import unread
    from agent.usage_error import UsageError

    owns_nothing = f"{owner} owns nothing in the stores of {report.node or report.host}"
    if not unread(report):
        raise UsageError(f"{owns_nothing}; `stocktake ledger --storage` lists all owners")
    raise NoDocument(FailureKind.UNAVAILABLE, f"{owns_nothing}, as far as the stores could be read", PARTIAL)


def _people(row: StorageRow) -> tuple[str, ...]:
    from agent.text.wording import printable

    owner = f"{row.owner_kind}\n{printable(row.owner)}" if row.owner else row.owner_kind
    return (printable(row.store), owner, printable(row.what), f"{row.size_bytes / _GIB:.3f}\n{row.size_bytes}")


def _feet(rows: tuple[StorageRow, ...], owner: str | None) -> tuple[str, ...]:
    """Return one total per store, in the order of the rows. If ``owner`` is given, leave out the unaccounted bytes."""
    sums: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        sums[row.store, row.store_bytes] += row.size_bytes
    if owner is not None:
        return tuple(f"total {store}: {_size(found)} of {_size(size)}" for (store, size), found in sums.items())
    feet = tuple(
        f"total {store}: {_size(size)}, accounted for {_size(found)}, unaccounted {size - found} bytes"
        for (store, size), found in sums.items()
    )
    return feet or ("no store could be read, or no store is configured",)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.3f} GiB ({size_bytes} bytes)"
