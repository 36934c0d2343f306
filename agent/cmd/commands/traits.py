"""``stocktake traits``: the wanted and the recorded traits of this host's providers; --diff lists only differences."""

from __future__ import annotations

import argparse
from types import MappingProxyType

from agent.cmd.commands.base import ListCommand, Listing, argument
from agent.cmd.commands.reporting import LAST, ReportingCommand


class Traits(ReportingCommand, ListCommand):
    """The traits of this host's providers: which the agent wants, which Placement has, and who owns each."""

    COLUMNS = ("provider", "provider_uuid", "trait", "wanted", "recorded", "owner")
    HEADINGS = MappingProxyType({"uuid": "provider_uuid"})
    ARGUMENTS = (
        argument("--diff", action="store_true", help="print only traits that the agent would add or remove"),
        LAST,
    )

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the list of traits and the exit code.

        --diff compares with Placement. If Placement could not be read, --diff therefore lists no rows.
        """
        from agent.exit_codes import CLEAN, FINDINGS, answer_code, first_of
        from agent.model.snapshot import LIBVIRT, PLACEMENT
        from agent.render.documents import trait_rows
        from agent.render.inventory_grid import traits_grid

        report = self.report_of(parsed_args, "traits")
        unread = [source.name for source in report.sources if source.name in (PLACEMENT, LIBVIRT) and not source.ok]
        known = any(source.name == PLACEMENT and source.ok for source in report.sources)
        # If Placement did not answer, the agent does not know which traits Placement records, so the cells are empty.
        found = [row if known else {**row, "recorded": None} for row in trait_rows(report)]
        shown = [row for row in found if not parsed_args.diff or (known and row["wanted"] != row["recorded"])]
        rows = tuple(tuple(row[name] for name in self.COLUMNS) for row in shown)
        foot = () if shown else ("nothing differs" if known else "not compared: Placement was not read",)
        code = first_of(answer_code(report, unread), FINDINGS if parsed_args.diff and shown else CLEAN)
        return Listing(self.COLUMNS, rows, traits_grid(shown), foot), code
