"""Shared by all findings: ``Rule``, the ``AuditFacts`` that a rule reads, and functions that write amounts as text."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent.findings.base_began import Began
from agent.model.books import Books, DesiredTree
from agent.model.claim import Claim
from agent.model.compared import Row
from agent.model.finding import Finding, Remedy, RemedyKind, Severity
from agent.model.nova import NovaState
from agent.model.placement import LeftProvider, PlacementView, Provider
from agent.model.plan import RefusedWrite
from agent.model.report import Verdict
from agent.model.settings import Role, Settings
from agent.model.snapshot import Snapshot
from agent.provider_tree.identity_doubt import Doubt
from agent.provider_tree.rival import Rival
from agent.resources.volumes import OwnedVolume
from agent.text.amounts import with_class
from agent.text.headline import fitted

Findings = Iterable[Finding]

#: The number of leading digits of a finding's id in a proposed command, ``stocktake heal --finding DIGITS``.
SHOWN_DIGITS = 8
#: The roles in which heal changes allocations of the cloud's consumers: all roles except observer.
HEALERS = frozenset({Role.OWNER, Role.COMPANION})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """All facts of one audit that a rule may read. ``state`` (nova's rows) is None while the cloud's state is unknown.

    ``refused``: writes of this audit that Placement rejected permanently; empty before the agent tries the writes.
    ``unknown_traits``: standard traits that this Placement does not know.
    ``left``: providers that were still in Placement after the agent deleted their compute node records.
    ``cleared``: unwanted traits of the root provider, as of the agent's last write; empty before the first write.
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
    def host(self) -> str:
        """The name of this host in nova ([DEFAULT] host)."""
        return self.settings.host

    @property
    def view(self) -> PlacementView | None:
        """The data that this audit read from Placement; None if Placement was not read."""
        return self.snapshot.placement.value

    @property
    def root(self) -> Provider | None:
        """The root provider of this host, as read from Placement; None if it is missing or could not be read."""
        return self.view.root if self.view else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One finding code: its severity, and the function that yields its findings.

    ``rests_on``: names of the sources (agent/model/snapshot.py) that an audit must have read to check the findings.
    ``healed_in``: the roles in which ``stocktake heal`` repairs the findings; empty if no repair exists.
    """

    code: str
    severity: Severity
    find: Callable[[AuditFacts], Findings]
    rests_on: frozenset[str]
    healed_in: frozenset[Role] = frozenset()

    def finding(
        self,
        audit: AuditFacts,
        *,
        headline: str,
        expected: str,
        actual: str,
        remedies: Iterable[Remedy],
        provider_uuid: str | None = None,
        consumer_uuid: str | None = None,
        resource_class: str | None = None,
        subject: str = "",
        evidence: tuple[Claim, ...] = (),
        facts: tuple[tuple[str, str | int | float | bool | None], ...] = (),
        rests_on_recorded: bool = False,
        rests_on: frozenset[str] | None = None,
        severity: Severity | None = None,
        known: Iterable[str] = (),
        began: Began | None = None,
    ) -> Finding:
        """Return a finding with this rule's code.

        Without ``provider_uuid`` the finding is about this host's root provider. ``remedies`` are in the order in which
        to try them. A remedy of the kind HEAL gets its command here; the remedy is left out if ``healed_in`` does not
        contain the agent's role. ``headline`` is cut to one line (agent/text/headline.py). ``known`` (facts that may
        help the operator) and ``began`` (when the fault began, and why) are shown with the finding and are not part of
        its evidence.
        """
        found = Finding(
            code=self.code,
            severity=severity or self.severity,
            remedy="",
            expected=expected,
            actual=actual,
            provider_uuid=provider_uuid or audit.root_uuid,
            consumer_uuid=consumer_uuid,
            resource_class=resource_class,
            subject=subject,
            evidence=evidence,
            facts=facts,
            rests_on_recorded=rests_on_recorded,
            rests_on=self.rests_on if rests_on is None else rests_on,
            headline=fitted(headline),
            known=tuple(known),
            began_at=began.at if began else None,
            began_because=began.because if began else "",
        )
        # The id of a finding depends on the subject of the finding, never on its remedies. So the remedies can contain
        # the id.
        possible = tuple(self._possible(audit, found, remedies))
        return dataclasses.replace(found, remedies=possible, remedy=joined(possible))

    def _possible(self, audit: AuditFacts, found: Finding, remedies: Iterable[Remedy]) -> Iterable[Remedy]:
        for remedy in remedies:
            if remedy.kind is not RemedyKind.HEAL:
                yield remedy
            elif audit.settings.role in self.healed_in:
                command = f"stocktake heal --finding {found.id[:SHOWN_DIGITS]}"
                yield dataclasses.replace(remedy, command=command)


def joined(remedies: Iterable[Remedy]) -> str:
    """Return the remedies as one text: the words of each, with its command after a colon."""
    return "; ".join(each.words if each.command is None else f"{each.words}: {each.command}" for each in remedies)


def rows_by_consumer(audit: AuditFacts, verdict: Verdict) -> dict[str, tuple[Row, ...]]:
    """Return the audit's ledger rows that have this verdict, as {uuid of a consumer: its rows}.

    A ledger row compares the amounts that nova, libvirt and Placement have for one consumer and one resource class.
    """
    return by_consumer(row for row in audit.rows if row.verdict is verdict)


def by_consumer(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """Return these rows, grouped by the uuid of their consumer."""
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.key].append(row)
    return {key: tuple(some) for key, some in grouped.items()}


def claims_of(rows: Iterable[Row]) -> tuple[Claim, ...]:
    """Return the claims of all these rows. A claim is an amount that one source states."""
    return tuple(claim for row in rows for claim in row.claims)


def amount_text(resource_class: str, amount: float | None) -> str:
    """Return the amount as text with its unit and resource class, or "nothing" for None."""
    return "nothing" if amount is None else with_class(resource_class, amount)


def recorded_text(rows: Iterable[Row]) -> str:
    """Return what Placement records, according to these rows, as text: "8 VCPU, 8192 MiB of MEMORY_MB"."""
    return _joined((row.resource_class, row.recorded) for row in rows)


def promised_text(rows: Iterable[Row]) -> str:
    """Return what nova promised, according to these rows, as text."""
    return _joined((row.resource_class, row.promised) for row in rows)


def held_text(rows: Iterable[Row]) -> str:
    """Return what the host's guests use, according to these rows, as text."""
    return _joined((row.resource_class, row.held) for row in rows)


def _joined(amounts: Iterable[tuple[str, int | None]]) -> str:
    return ", ".join(amount_text(name, amount) for name, amount in amounts if amount is not None) or "nothing"


def named(rows: tuple[Row, ...]) -> str:
    """Return a text that names the consumer, which is the same in all these rows: "instance UUID (NAME)"."""
    first = rows[0]
    name = f" ({first.consumer_name})" if first.consumer_name else ""
    return f"{first.consumer_kind} {first.key}{name}"
