"""``stocktake ledger``: each consumer's promised, held and recorded amount per class, with totals below the table.

With --storage, the command instead lists who owns each byte of the host's stores (storage_listing.py).
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from agent.cmd.commands import storage_listing
from agent.cmd.commands.base import ListCommand, Listing, Row, argument

if TYPE_CHECKING:
    from agent.model.report import AuditReport, LedgerRow
    from agent.render.explain import Book, Unread


class Ledger(ListCommand):
    """Print each consumer's amounts: promised by the cloud, held by the host, recorded in Placement."""

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
    ARGUMENTS = (
        argument("--resource-class", metavar="RC", help="list only this resource class, such as VCPU"),
        argument(
            "--consumer",
            metavar="WHO",
            help="list only this consumer: a uuid or its first 8 characters, an instance's name, a guest's name in "
            "libvirt, or a volume as GROUP/VOLUME",
        ),
        argument(
            "--storage",
            action="store_true",
            help="list, instead of resource classes, who owns each byte of the volume groups and other disk stores;"
            " together with --consumer, list only the bytes of that consumer",
        ),
    )

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """Return the columns; --storage has other columns."""
        return storage_listing.COLUMNS if parsed_args.storage else self.COLUMNS

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the requested rows.

        Raises UsageError on an unknown class or consumer, and on --storage together with --resource-class.
        """
        from agent.cmd.audited import audited
        from agent.cmd.naming.consumer_names import consumer_of
        from agent.cmd.naming.validate_names import require_class
        from agent.exit_codes import answer_code
        from agent.render.documents import ledger_rows
        from agent.usage_error import UsageError

        if parsed_args.storage and parsed_args.resource_class:
            raise UsageError("--storage counts bytes, not a resource class: leave out --resource-class")
        report = audited(self.app.options, "ledger")
        name = require_class(report, parsed_args.resource_class) if parsed_args.resource_class else None
        code = answer_code(report, _unread(report, name))
        if parsed_args.storage:
            owner = None if parsed_args.consumer is None else consumer_of(report, parsed_args.consumer)
            return storage_listing.storage_listing(report, owner), code
        shown = _filtered(report, name, parsed_args.consumer)
        rows = tuple(tuple(row[name] for name in self.COLUMNS) for row in ledger_rows(shown))
        columns = ("consumer", "class", "promised", "held", "recorded", "cause: verdict")
        return Listing(self.COLUMNS, rows, columns, _people_rows(shown), _totals(shown)), code


def _unread(report: AuditReport, resource_class: str | None) -> tuple[str, ...]:
    """Return the unread sources on which the requested rows rest; one class rests on fewer sources than all classes."""
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


def _people_rows(report: AuditReport) -> tuple[Row, ...]:
    from agent.render.explain import all_uncounted, unread_books
    from agent.resources import owned

    not_counted = all_uncounted(report, owned)
    unread = {name: unread_books(report, name) for name in {row.resource_class for row in report.ledger}}
    return tuple(_people(row, not_counted.get(row.resource_class), unread[row.resource_class]) for row in report.ledger)


def _people(row: LedgerRow, not_counted: str | None, unread: Unread) -> Row:
    from agent.render.explain import verdict_word
    from agent.text.wording import NOT_COUNTED, cell, printable

    kept = None if not_counted is None else NOT_COUNTED
    books = (("promised", row.promised, kept), ("held", row.held, kept), ("recorded", row.recorded, None))
    cells = (
        (nothing or ("unknown" if book in unread else "-")) if value is None else cell(row.resource_class, value)
        for book, value, nothing in books
    )
    named = row.consumer_name and row.consumer_name != row.consumer_key
    who = f"{row.consumer_key}\n{printable(row.consumer_name)}" if named else row.consumer_key
    return (who, row.resource_class, *cells, f"{row.cause}:\n{verdict_word(row, not_counted)}")


def _totals(report: AuditReport) -> tuple[str, ...]:
    """Return a line with the totals of each class, then the reasons why some classes have no promised or held total."""
    from agent.render.explain import all_uncounted, totals, unread
    from agent.resources import owned

    found = ", as far as the sources could be read" if unread(report) else ""
    classes = sorted({row.resource_class for row in report.ledger})
    sums = (_total(name, totals(report, name, owned)) for name in classes)
    return (*sums, *_whys(all_uncounted(report, owned))) or (
        f"no consumer has a promised, held or recorded amount{found}",
    )


def _whys(not_counted: dict[str, str]) -> tuple[str, ...]:
    reasons = sorted(set(not_counted.values()))
    return tuple(f"{', '.join(sorted(c for c, why in not_counted.items() if why == one))}: {one}" for one in reasons)


def _total(name: str, books: tuple[Book, ...]) -> str:
    from agent.text.wording import NOT_COUNTED, cell

    cells = {book.name: NOT_COUNTED if book.not_counted else cell(name, book.amount) for book in books}
    return f"total {name}: " + ", ".join(f"{book} {cells[book]}" for book in ("promised", "held", "recorded"))
