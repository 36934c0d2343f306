"""Shared by all findings: ``Rule``, the ``AuditFacts`` that a rule reads, and texts about ledger rows and amounts."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent.model.books import Books, DesiredTree
from agent.model.claim import Claim
from agent.model.compared import Row
from agent.model.finding import Finding, Severity
from agent.model.nova import NovaState
from agent.model.placement import LeftProvider, PlacementView, Provider
from agent.model.plan import RefusedWrite
from agent.model.report import Verdict
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.provider_tree.identity_doubt import Doubt
from agent.provider_tree.rival import Rival
from agent.resources.volumes import OwnedVolume
from agent.text.amounts import with_class

Findings = Iterable[Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """All facts of one audit that a rule may read. ``state`` is None while the cloud's state is unknown.

    ``refused``: writes of this audit that Placement rejected permanently; empty before the agent tries the writes.
    ``unknown_traits``: standard traits that this Placement does not know.
    ``left``: providers that Placement still had after the agent deleted their compute node records.
    ``cleared``: traits that the host lacked when the agent last wrote the root provider; empty before the first write.
    """

    snapshot: Snapshot
    settings: Settings
    books: Books
    rows: tuple[Row, ...]
    tree: DesiredTree | None
    state: NovaState | None
    root_uuid: str | None
    node: str | None
    rival: Rival | None
    owned: tuple[OwnedVolume, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    refused: tuple[RefusedWrite, ...] = ()
    unknown_traits: frozenset[str] = frozenset()
    left: tuple[LeftProvider, ...] = ()
    cleared: frozenset[str] = frozenset()

    @property
    def view(self) -> PlacementView | None:
        """The data that this audit read from Placement; None if Placement was not read."""
        return self.snapshot.placement.value

    @property
    def root(self) -> Provider | None:
        """The root provider of this host as Placement records it; None if it does not exist or was not read."""
        return self.view.root if self.view else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One finding code: its severity, its remedy, and the function that yields its findings.

    ``rests_on``: names of the sources (agent/model/snapshot.py) that an audit must have read to check the findings.
    """

    code: str
    severity: Severity
    remedy: str
    find: Callable[[AuditFacts], Findings]
    rests_on: frozenset[str] = frozenset()

    def finding(
        self,
        audit: AuditFacts,
        *,
        expected: str,
        actual: str,
        provider_uuid: str | None = None,
        consumer_uuid: str | None = None,
        resource_class: str | None = None,
        subject: str = "",
        evidence: tuple[Claim, ...] = (),
        facts: tuple[tuple[str, str | int | float | bool | None], ...] = (),
        rests_on_recorded: bool = False,
        remedy: str | None = None,
        rests_on: frozenset[str] | None = None,
    ) -> Finding:
        """Return a finding with this rule's code and severity.

        Without ``provider_uuid`` the finding is about this host's root provider; without ``remedy`` the finding has
        the rule's remedy. In the remedy, CONSUMER and PROVIDER become the uuids and FINDING becomes the finding's id,
        so that an operator can copy the commands.
        """
        provider = provider_uuid or audit.root_uuid
        found = Finding(
            code=self.code,
            severity=self.severity,
            remedy=(remedy or self.remedy)
            .replace("CONSUMER", consumer_uuid or "CONSUMER")
            .replace("PROVIDER", provider or "PROVIDER"),
            expected=expected,
            actual=actual,
            provider_uuid=provider,
            consumer_uuid=consumer_uuid,
            resource_class=resource_class,
            subject=subject,
            evidence=evidence,
            facts=facts,
            rests_on_recorded=rests_on_recorded,
            rests_on=self.rests_on if rests_on is None else rests_on,
        )
        # The id of a finding depends on what the finding is about and never on the remedy, so the remedy may contain
        # the id.
        return dataclasses.replace(found, remedy=found.remedy.replace("FINDING", found.id))


def rows_by_consumer(audit: AuditFacts, verdict: Verdict) -> dict[str, tuple[Row, ...]]:
    """Return the ledger rows with that verdict, grouped by consumer."""
    return by_consumer(row for row in audit.rows if row.verdict is verdict)


def by_consumer(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """Return the ledger rows, grouped by consumer."""
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.key].append(row)
    return {key: tuple(some) for key, some in grouped.items()}


def claims_of(rows: Iterable[Row]) -> tuple[Claim, ...]:
    """Return the claims (the evidence) of all these rows."""
    return tuple(claim for row in rows for claim in row.claims)


def amount_text(resource_class: str, amount: float | None) -> str:
    """Return the amount with its unit and class, or "nothing" for None."""
    return "nothing" if amount is None else with_class(resource_class, amount)


def recorded_text(rows: Iterable[Row]) -> str:
    """Return the recorded amounts (in Placement) of these rows as text: "8 VCPU, 8192 MiB of MEMORY_MB"."""
    return _joined((row.resource_class, row.recorded) for row in rows)


def promised_text(rows: Iterable[Row]) -> str:
    """Return the amounts that the cloud's database promises, according to these ledger rows, as text."""
    return _joined((row.resource_class, row.promised) for row in rows)


def held_text(rows: Iterable[Row]) -> str:
    """Return the amounts that the guests in libvirt hold, according to these ledger rows, as text."""
    return _joined((row.resource_class, row.held) for row in rows)


def _joined(amounts: Iterable[tuple[str, int | None]]) -> str:
    return ", ".join(amount_text(name, amount) for name, amount in amounts if amount is not None) or "nothing"


def named(rows: tuple[Row, ...]) -> str:
    """Return a text that names the consumer, which is the same in all these rows: "instance UUID (NAME)"."""
    first = rows[0]
    name = f" ({first.consumer_name})" if first.consumer_name else ""
    return f"{first.consumer_kind} {first.key}{name}"
