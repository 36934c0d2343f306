"""``stocktake ledger``: each consumer's promised, held and recorded amount per class, with totals below the table.

With --storage, the command instead lists the owner of each byte in the host's disk stores (storage_listing.py).
"""

from __future__ import annotations

import argparse
import dataclasses
from types import MappingProxyType
from typing import TYPE_CHECKING

from agent.cmd.commands import storage_listing
from agent.cmd.commands.base import TABLE, ListCommand, Listing, argument
from agent.cmd.commands.reporting import LAST, ReportingCommand

if TYPE_CHECKING:
    from agent.model.report import AuditReport


class Ledger(ReportingCommand, ListCommand):
    """Print each consumer's amounts according to nova (promised), the host (held) and Placement (recorded)."""

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
    HEADINGS = MappingProxyType(
        {
            "consumer": "consumer_name",
            "uuid": "consumer_uuid",
            "class": "resource_class",
            "kind": "owner_kind",
            "bytes": "size_bytes",
            "gib": "size_bytes",
        }
    )
    ARGUMENTS = (
        argument("--resource-class", metavar="RC", help="list only this resource class, such as VCPU"),
        argument(
            "--consumer",
            metavar="WHO",
            help="list only this consumer: a uuid or its first 8 characters, an instance's name, a guest's name in "
            "libvirt, or a volume as GROUP/VOLUME",
        ),
        argument(
            "--only-differing",
            action="store_true",
            help='leave out rows without a problem: the verdicts "agreed", "reserved" and "settling" (nova is changing '
            "the instance); the last line counts these rows",
        ),
        argument(
            "--storage",
            action="store_true",
            help="instead of resource classes, list who owns how many bytes of each disk store (such as a volume "
            "group); together with --consumer, list only the bytes of that consumer",
        ),
        LAST,
    )

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """Return the columns; --storage has other columns."""
        return storage_listing.COLUMNS if parsed_args.storage else self.COLUMNS

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the requested rows.

        Raises UsageError on an unknown class or consumer, and on --storage together with --resource-class or
        --only-differing.
        """
        from agent.cmd.naming.consumer_names import consumer_of
        from agent.cmd.naming.validate_names import require_class
        from agent.exit_codes import answer_code
        from agent.render.documents import ledger_rows
        from agent.render.ledger_grid import is_differing, ledger_foot, ledger_grid, reading_place
        from agent.usage_error import UsageError

        if parsed_args.storage and parsed_args.resource_class:
            raise UsageError("--storage counts bytes, not a resource class: leave out --resource-class")
        if parsed_args.storage and parsed_args.only_differing:
            raise UsageError("--storage lists sizes and compares nothing: leave out --only-differing")
        report = self.report_of(parsed_args, "ledger")
        name = require_class(report, parsed_args.resource_class) if parsed_args.resource_class else None
        code = answer_code(report, _unread(report, name))
        if parsed_args.storage:
            owner = None if parsed_args.consumer is None else consumer_of(report, parsed_args.consumer)
            return storage_listing.storage_listing(report, owner), code
        asked = _filtered(report, name, parsed_args.consumer)
        shown = tuple(row for row in asked.ledger if is_differing(row) or not parsed_args.only_differing)
        if parsed_args.formatter == TABLE:
            shown = tuple(sorted(shown, key=reading_place))
        documents = ledger_rows(dataclasses.replace(asked, ledger=shown))
        rows = tuple(tuple(row[column] for column in self.COLUMNS) for row in documents)
        return Listing(self.COLUMNS, rows, ledger_grid(asked, shown), tuple(ledger_foot(asked, shown))), code


def _unread(report: AuditReport, resource_class: str | None) -> tuple[str, ...]:
    """Return the sources that the rows need but that could not be read.

    If ``resource_class`` is given, only the rows of this class count.
    """
    from agent.render.explain import unread, unread_books

    if resource_class is None:
        return unread(report)
    return tuple(source for names in unread_books(report, resource_class).values() for source in names)


def _filtered(report: AuditReport, resource_class: str | None, consumer: str | None) -> AuditReport:
    from agent.cmd.naming.validate_names import require_consumer
    from agent.render.explain import scope_of_class, scope_of_consumer

    if consumer is not None:
        rows = scope_of_consumer(report, require_consumer(report, consumer)).ledger
        report = dataclasses.replace(report, ledger=rows)
    return report if resource_class is None else scope_of_class(report, resource_class)
