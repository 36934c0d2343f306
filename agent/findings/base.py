"""What a finding's module offers (a RULE), what it may look at (a World), and how amounts are written for people."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that one audit knows when it looks for findings. ``state`` is None where it is not known.

    ``refused`` are writes of this audit that Placement refused for good: nothing before the writes were tried.
    ``unknown_traits`` are standard traits that this Placement was found not to know. ``left`` are providers
    that stayed when their compute node records were deleted. ``cleared`` are traits of the root that were to be
    absent when this agent last wrote it; none where it did not.
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
        """Placement as it was read, or None."""
        return self.snapshot.placement.value

    @property
    def root(self) -> Provider | None:
        """Our root as Placement holds it, or None."""
        return self.view.root if self.view else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One finding code: how loud it is, what to do about it, and how it is found."""

    code: str
    severity: Severity
    remedy: str
    find: Callable[[World], Iterable[Finding]]

    def finding(
        self,
        world: World,
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
    ) -> Finding:
        """A finding of this code, on our root where no ``provider_uuid`` is given, with the rule's remedy or another.

        CONSUMER, PROVIDER and FINDING in the remedy become the uuids, so that a command in it can be copied.
        """
        provider = provider_uuid or world.root_uuid
        found = Finding(
            code=self.code,
            severity=self.severity,
            remedy=_filled(remedy or self.remedy, consumer_uuid, provider),
            expected=expected,
            actual=actual,
            provider_uuid=provider,
            consumer_uuid=consumer_uuid,
            resource_class=resource_class,
            subject=subject,
            evidence=evidence,
            facts=facts,
            rests_on_recorded=rests_on_recorded,
        )
        # Its id follows from what it is about, never from the remedy.
        return dataclasses.replace(found, remedy=found.remedy.replace("FINDING", found.id))


def _filled(remedy: str, consumer: str | None, provider: str | None) -> str:
    return remedy.replace("CONSUMER", consumer or "CONSUMER").replace("PROVIDER", provider or "PROVIDER")


def rows_by_consumer(world: World, verdict: Verdict) -> dict[str, tuple[Row, ...]]:
    """Rows with that verdict, by consumer."""
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in world.rows:
        if row.verdict is verdict:
            grouped[row.key].append(row)
    return {key: tuple(rows) for key, rows in grouped.items()}


def claims_of(rows: Iterable[Row]) -> tuple[Claim, ...]:
    """All claims of these rows."""
    return tuple(claim for row in rows for claim in row.claims)


def amount_text(resource_class: str, amount: float | None) -> str:
    """An amount with its unit and class, "nothing" for None."""
    return "nothing" if amount is None else with_class(resource_class, amount)


def recorded_text(rows: Iterable[Row]) -> str:
    """What Placement holds in these rows: "8 VCPU, 8192 MiB of MEMORY_MB"."""
    return _joined((row.resource_class, row.recorded) for row in rows)


def promised_text(rows: Iterable[Row]) -> str:
    """What the cloud promised in these rows."""
    return _joined((row.resource_class, row.promised) for row in rows)


def held_text(rows: Iterable[Row]) -> str:
    """What the host holds in these rows."""
    return _joined((row.resource_class, row.held) for row in rows)


def _joined(amounts: Iterable[tuple[str, int | None]]) -> str:
    return ", ".join(amount_text(name, amount) for name, amount in amounts if amount is not None) or "nothing"


def named(rows: tuple[Row, ...]) -> str:
    """The consumer of these rows: kind, uuid, and name where there is one."""
    first = rows[0]
    name = f" ({first.consumer_name})" if first.consumer_name else ""
    return f"{first.consumer_kind} {first.key}{name}"
