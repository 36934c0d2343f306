"""Render an explanation as one JSON document: the numbers, and the lines for people. Pure: no I/O."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from agent.render.documents import SCHEMA_VERSION, Document, audit_keys, inventory_rows, ledger_rows
from agent.render.explain import Book, ClassExplanation, ConsumerExplanation, Explanation, Unread, meaning
from agent.text.amounts import unit_of

_OF_AUDIT = ("audit_id", "host", "node", "provider_uuid", "started_at", "outcome", "sources", "findings")


def document(explanation: Explanation, text: Sequence[str]) -> Document:
    """Return the explanation of a resource class or consumer as JSON. ``text`` is the same explanation for people."""
    body = _of_class(explanation) if isinstance(explanation, ClassExplanation) else _of_consumer(explanation)
    return {
        "schema_version": SCHEMA_VERSION,
        **body,
        **audit_keys(explanation.scope, *_OF_AUDIT),
        "text": list(text),
    }


def _of_class(explanation: ClassExplanation) -> Document:
    scope = explanation.scope
    shown = [row.wanted or row.recorded for row in scope.inventory]
    return {
        "subject": "class",
        "resource_class": explanation.resource_class,
        "unit": unit_of(explanation.resource_class),
        "books": {book.name: _book(book) for book in explanation.books},
        "evacuations": [
            {**dataclasses.asdict(e.note), "amount": e.amount, "contributes": 0, "recorded": e.recorded}
            for e in explanation.evacuations
        ],
        "inventory": [
            {**row, "capacity": inventory.capacity if inventory else None}
            for row, inventory in zip(inventory_rows(scope.inventory), shown, strict=True)
        ],
        "consumers": ledger_rows(scope),
        "held_back": [dataclasses.asdict(held) for held in scope.plan.held_back],
    }


def _book(book: Book) -> Document:
    """Return the promised, held or recorded amount of a class as a document.

    ``not_counted`` is the reason why the agent does not compute this amount. ``size_bytes`` is the sum of all sizes
    that are known in bytes. ``rounded_up`` is the sum of the same sizes, each rounded up to whole GiB.
    """
    return {
        "amount": book.amount,
        "parts": [{"amount": p.amount, "reason": p.reason, "consumers": list(p.consumers)} for p in book.parts],
        "problems": list(book.problems),
        "not_counted": book.not_counted,
        "rounded_up": book.exact.amount if book.exact else None,
        "size_bytes": book.exact.size_bytes if book.exact else None,
    }


def _unread(books: Unread) -> Document:
    """Return the unread sources of the amounts promised, held and recorded.

    An amount with an unread source is null in the document, which means "unknown".
    """
    return {book: list(sources) for book, sources in books.items()}


def _of_consumer(explanation: ConsumerExplanation) -> Document:
    rows = zip(ledger_rows(explanation.scope), explanation.scope.ledger, strict=True)
    return {
        "subject": "consumer",
        "consumer": explanation.consumer,
        "rows": [
            {
                **shown,
                "verdict_means": meaning(row, explanation.not_counted.get(row.resource_class)),
                "unread_books": _unread(explanation.unread[row.resource_class]),
            }
            for shown, row in rows
        ],
        "unread_books": _unread(explanation.unread_anywhere),
        "evacuations": [{**dataclasses.asdict(note), "contributes": 0} for note in explanation.evacuations],
    }
