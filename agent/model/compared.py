"""The comparison of the three books, row by row, and the facts that the comparison rests on."""

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
    """What the three books say about one consumer, one resource class and one provider.

    ``promised``, ``held`` and ``recorded`` are the amounts in these books, None if the book has no such claim.
    """

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
    """The host under audit.

    ``root_uuid`` is the uuid of its root provider, ``node`` the name of its node; each is None while it is unknown.
    ``identity_origin`` says where the uuid is from.
    """

    root_uuid: str | None
    node: str | None
    identity_origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The complete input of the books and of their comparison: equal bases yield equal books.

    ``facts`` is a snapshot without the values that change by themselves, such as times (agent/books/compared.py).
    """

    facts: Snapshot
    settings: Settings
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The books and the rows of their comparison.

    ``ledger`` has the rows in the form for reports, except the rows about amounts that the operator reserves
    (reserved_host_*).
    ``digest`` is the digest of the promised and held books, None if the source of one of them could not be read.
    """

    basis: Basis
    books: Books
    rows: tuple[Row, ...]
    ledger: tuple[LedgerRow, ...]
    digest: str | None
