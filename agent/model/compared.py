"""The three books compared, row by row, and the facts that this rests on."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.books import Books
from agent.model.claim import Cause, Claim
from agent.model.nova import Instance, Migration
from agent.model.placement import ProviderKey
from agent.model.report import LedgerRow, Verdict
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One consumer, one class, one provider. None: that book does not mention it."""

    key: str
    provider_key: ProviderKey
    resource_class: str
    promised: int | None
    held: int | None
    recorded: int | None
    verdict: Verdict
    cause: Cause
    claims: tuple[Claim, ...]
    instance: Instance | None = None
    migration: Migration | None = None
    consumer_kind: str = "unknown"
    consumer_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whose audit this is: the root provider's uuid, how it is known, and the node's name; None where not known."""

    root_uuid: str | None
    node: str | None
    identity_origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """All that the books and their comparison are a function of: equal bases, equal books.

    ``facts`` is a snapshot without what moves by itself (books/compared.py).
    """

    facts: Snapshot
    settings: Settings
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The books, their rows, and the rows as people are shown them (the operator's own reserves are not among them).

    ``digest`` is of the promised and held sets, None where one of them is not known.
    """

    basis: Basis
    books: Books
    rows: tuple[Row, ...]
    ledger: tuple[LedgerRow, ...]
    digest: str | None
