"""``stocktake inventory``: the inventory that the agent wants; --diff adds the inventory that Placement records."""

from __future__ import annotations

import argparse
from types import MappingProxyType
from typing import TYPE_CHECKING

from agent.cmd.commands.base import ListCommand, Listing, Row, argument
from agent.cmd.commands.reporting import LAST, ReportingCommand

if TYPE_CHECKING:
    from agent.model.report import AuditReport
    from agent.render.documents import Document

# The sources that the command reads. A message names the unread sources in this order.
_TITLES = {"libvirt": "libvirt", "placement": "Placement"}
_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
_WANTED = ("provider", "provider_uuid", "resource_class", *_FIELDS, "used", "free")
_BESIDE = (*_WANTED, *(f"recorded_{field}" for field in _FIELDS), "differs")


class Inventory(ReportingCommand, ListCommand):
    """The inventory that the agent wants in Placement, with used and free amounts; free may be negative."""

    COLUMNS = _WANTED
    HEADINGS = MappingProxyType({"uuid": "provider_uuid", "class": "resource_class", "ratio": "allocation_ratio"})
    ARGUMENTS = (
        argument(
            "--diff",
            action="store_true",
            help='also show Placement\'s inventory (columns recorded_*), and a column "differs": the names of the'
            ' fields that differ, or "absent" (not in Placement), "unwanted" (only in Placement) or "unknown"'
            " (Placement was not read)",
        ),
        LAST,
    )

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """Return the columns of the list; --diff adds the recorded_* columns and the column ``differs``."""
        return _BESIDE if parsed_args.diff else _WANTED

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the list and the exit code. The rows are the wanted inventory; --diff adds what Placement records."""
        from agent.exit_codes import CLEAN, FINDINGS, answer_code, first_of
        from agent.render.documents import inventory_rows
        from agent.render.explain import unread
        from agent.render.inventory_grid import diff_foot, diff_grid, difference, inventory_grid

        report = self.report_of(parsed_args, "inventory")
        found = [{**row, "differs": difference(row)} for row in inventory_rows(report.inventory)]
        code = answer_code(report, unread(report))
        if parsed_args.diff and not found:
            return Listing(_BESIDE, (), diff_grid(()), (_nothing(report),)), code
        if parsed_args.diff:
            code = first_of(code, FINDINGS if any(row["differs"] for row in found) else CLEAN)
            return Listing(_BESIDE, _picked(found, _BESIDE), diff_grid(found), tuple(diff_foot(found))), code
        wanted = [row for row in found if row["total"] is not None]
        foot = () if wanted else (_nothing(report),)
        return Listing(_WANTED, _picked(wanted, _WANTED), inventory_grid(wanted), foot), code


def _nothing(report: AuditReport) -> str:
    """Return the reason why the list has no rows, in words."""
    failed = [source.name for source in report.sources if not source.ok]
    names = " and ".join(title for name, title in _TITLES.items() if name in failed)
    return f"inventory unknown: {names} could not be read" if names else "this host offers no inventory"


def _picked(rows: list[Document], columns: tuple[str, ...]) -> tuple[Row, ...]:
    return tuple(tuple(row[name] for name in columns) for row in rows)
