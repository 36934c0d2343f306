"""``stocktake ledger``: one row per consumer and class in the three books, with totals at the foot for people.

With --storage: whose every byte of the host's stores is (storage_listing).
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from agent.cmd.commands import storage_listing
from agent.cmd.commands.base import ListCommand, Listing

if TYPE_CHECKING:
    from agent.model.report import AuditReport, LedgerRow


class Ledger(ListCommand):
    """Who holds what: promised by the cloud, held by the host, recorded in Placement."""

    COLUMNS = (
        "consumer_uuid",
        "consumer_name",
        "consumer_kind",
        "cause",
        "provider",
        "resource_class",
        "promised",
        "held",
        "recorded",
        "verdict",
        "source",
        "consumer_key",
        "provider_uuid",
        "size_bytes",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Arguments of the command."""
        parser = super().get_parser(prog_name)
        parser.add_argument("--resource-class", metavar="RC", help="only this class, such as VCPU")
        parser.add_argument("--consumer", metavar="UUID", help="only this consumer (or a volume as GROUP/NAME)")
        parser.add_argument(
            "--storage",
            action="store_true",
            help="instead: whose every byte of each volume group and other store is;"
            " with --consumer only what that owner has",
        )
        return parser

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """With --storage there are others."""
        return storage_listing.COLUMNS if parsed_args.storage else self.COLUMNS

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing | None, int]:
        """The rows asked for. Raises UsageError on an unknown class or consumer, and on a class of --storage."""
        from agent.cmd.audited import audited, is_readable
        from agent.cmd.usage import UsageError
        from agent.exit_codes import exit_code
        from agent.telemetry.documents import ledger_rows

        if parsed_args.storage and parsed_args.resource_class:
            raise UsageError("--storage counts bytes, not a resource class: leave out --resource-class")
        report = audited(self.app.options, "ledger")
        if not is_readable(report):
            return None, exit_code(report)
        if parsed_args.storage:
            return storage_listing.storage_listing(report, parsed_args.consumer), exit_code(report)
        shown = _filtered(report, parsed_args)
        rows = tuple(tuple(row[name] for name in self.COLUMNS) for row in ledger_rows(shown))
        people = tuple(_people(row) for row in shown.ledger)
        columns = ("consumer", "class", "promised", "held", "recorded", "cause: verdict")
        return Listing(self.COLUMNS, rows, columns, people, _totals(shown)), exit_code(report)


def _filtered(report: AuditReport, parsed_args: argparse.Namespace) -> AuditReport:
    from agent.cmd.known import require_class, require_consumer
    from agent.telemetry.explain import explain_class, explain_consumer

    if parsed_args.resource_class:
        report = explain_class(report, require_class(report, parsed_args.resource_class)).scope
    if parsed_args.consumer:
        known = require_consumer(report, parsed_args.consumer)
        rows = explain_consumer(report, parsed_args.consumer).scope.ledger if known else ()
        report = dataclasses.replace(report, ledger=rows)
    return report


def _people(row: LedgerRow) -> tuple[str, ...]:
    from agent.telemetry.wording import amount, printable

    books = ("-" if value is None else amount(row.resource_class, value) for value in _amounts(row))
    named = row.consumer_name and row.consumer_name != row.consumer_key
    who = f"{row.consumer_key}\n{printable(row.consumer_name)}" if named else row.consumer_key
    return (who, row.resource_class, *books, f"{row.cause}:\n{row.verdict.value}")


def _amounts(row: LedgerRow) -> tuple[int | None, ...]:
    return (row.promised, row.held, row.recorded)


def _totals(report: AuditReport) -> tuple[str, ...]:
    from agent.telemetry.explain import totals
    from agent.telemetry.wording import amount

    classes = sorted({row.resource_class for row in report.ledger})
    books = {name: {book.name: book.amount for book in totals(report, name)} for name in classes}
    return tuple(
        f"total {name}: "
        + ", ".join(f"{book} {amount(name, books[name][book])}" for book in ("promised", "held", "recorded"))
        for name in classes
    ) or ("nobody holds anything here",)
