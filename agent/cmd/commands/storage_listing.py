"""``stocktake ledger --storage``: a table of who owns the bytes of each store. Sums follow below the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cmd.commands.base import Listing

if TYPE_CHECKING:
    from agent.model.report import AuditReport

COLUMNS = ("store", "owner_kind", "owner", "what", "size_bytes", "source", "store_bytes")


def storage_listing(report: AuditReport, owner: str | None) -> Listing:
    """Return the rows of all owners, or only the rows of ``owner`` if ``owner`` is not None.

    If ``owner`` owns no storage, the function raises UsageError. But if a source was not read, ``owner`` may own
    storage there, so the function raises NoDocument (exit code 2) instead.
    """
    from agent.render.documents import storage_rows
    from agent.render.storage_grid import storage_foot, storage_grid

    shown = tuple(row for row in report.storage if owner is None or row.owner == owner)
    if owner is not None and not shown:
        _refuse(report, owner)
    rows = tuple(tuple(row[name] for name in COLUMNS) for row in storage_rows(shown))
    return Listing(COLUMNS, rows, storage_grid(shown), tuple(storage_foot(shown, owner)))


def _refuse(report: AuditReport, owner: str) -> None:
    from agent.cmd.command_line.failures import FailureKind, NoDocument
    from agent.exit_codes import PARTIAL
    from agent.render.explain import unread
    from agent.usage_error import UsageError

    owns_nothing = f"{owner} owns nothing in the stores of {report.node or report.host}"
    if not unread(report):
        raise UsageError(f"{owns_nothing}; `stocktake ledger --storage` lists all owners")
    raise NoDocument(FailureKind.UNAVAILABLE, f"{owns_nothing}, as far as the stores could be read", PARTIAL)
