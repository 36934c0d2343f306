"""The result of comparing nova's database, the host and Placement: the compared rows, and the facts they rest on."""

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
    """How much of one resource class one consumer takes from one provider, according to three sources.

    ``promised``: in nova's database. ``held``: on the host, in libvirt and storage. ``recorded``: in Placement. None:
    the source has no such amount.
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
    """Everything from which the books and the compared rows are computed: equal bases yield equal books and rows.

    ``facts`` is a snapshot without the values that change by themselves, such as times (agent/books/compared.py).
    """

    facts: Snapshot
    settings: Settings
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The amounts in nova's database, on the host and in Placement (``books``), and the rows that compare them.

    ``ledger`` has ``rows`` in the report's form, without the rows about amounts that the operator reserves
    (reserved_host_*).
    ``digest``: a digest of the amounts in nova's database and on the host; None if either could not be read.
    """

    basis: Basis
    books: Books
    rows: tuple[Row, ...]
    ledger: tuple[LedgerRow, ...]
    digest: str | None
