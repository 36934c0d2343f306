"""Decide everything that follows from one snapshot: the findings, the wanted providers, and what to write.

This module calls the rules in order and has no rules of its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from agent.books.compared import compared
from agent.books.confirm import AuditReads, confirmed_now
from agent.books.ledger import promise_of
from agent.books.report_rows import reserve_rows
from agent.findings import BUILTIN as RULES
from agent.findings.base import AuditFacts
from agent.model.audit import WrittenProvider
from agent.model.books import Books, DesiredTree
from agent.model.compared import Compared, Row, Subject
from agent.model.finding import Finding, History, Silence
from agent.model.host.resource_view import ResourceView
from agent.model.nova import NovaState
from agent.model.plan import EMPTY_PLAN, EVERYTHING, Plan, RefusedWrite
from agent.model.report import LedgerRow
from agent.model.settings import Role, Settings
from agent.model.snapshot import Snapshot
from agent.model.usage import Usage
from agent.node_record.orphans import orphan_plan
from agent.node_record.record import record_plan, used_by_the_books
from agent.node_record.resource_view import resource_view
from agent.provider_tree.companion import companion, released
from agent.provider_tree.desired import desired
from agent.provider_tree.diff import diff
from agent.provider_tree.identity_doubt import doubts
from agent.provider_tree.rival import Rival, alive_since, judged, rival_of, silence, without_foreign_ratios
from agent.resources.guests import guests_of
from agent.resources.volumes import owners


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything that the agent decides from one snapshot.

    ``facts``: the input of the findings' rules.
    ``reads``: when and how this audit read its sources.
    ``written``: the result of comparing the agent's last write with this snapshot.
    ``host_view`` (the host's figures) and ``used`` (the usage) are written to nova's compute node record.
    ``silence``: the time since which nova-compute has shown no sign of life.
    ``nova_alive_since``: the time since which every audit has found nova-compute alive.
    """

    compared: Compared
    state: NovaState | None
    tree: DesiredTree | None
    plan: Plan
    findings: tuple[Finding, ...]
    rival: Rival | None
    written: WrittenProvider | None
    facts: AuditFacts
    reads: AuditReads
    host_view: ResourceView | None
    used: Usage | None
    silence: Silence | None = None
    nova_alive_since: int | None = None

    @property
    def books(self) -> Books:
        """The three books: what nova promised, what the host holds, and what Placement records."""
        return self.compared.books

    @property
    def rows(self) -> tuple[Row, ...]:
        """What nova, the host and Placement say about each consumer and resource class."""
        return self.compared.rows

    @property
    def ledger(self) -> tuple[LedgerRow, ...]:
        """The ledger rows that operators see; the first rows are the reserves that the operator configured."""
        return (*reserve_rows(self.tree, self.compared.basis.subject), *self.compared.ledger)


def decide(
    snapshot: Snapshot,
    settings: Settings,
    subject: Subject,
    written: WrittenProvider | None,
    before: Compared | None = None,
    *,
    unknown_traits: frozenset[str] = frozenset(),
    history: History | None = None,
    reads: AuditReads | None = None,
) -> Decision:
    """Return the findings and what to write. Pure. The order of instances, domains and volumes does not matter.

    ``before`` is the last audit's comparison of nova, the host and Placement. The comparison is reused if this audit's
    facts equal the last audit's facts. Reuse never changes the result. ``unknown_traits`` are the standard traits that
    this Placement does not know. ``history`` has the findings of earlier audits and what provider.yaml files added.
    ``reads`` says when and how this audit read its sources.
    """
    found, past = compared(snapshot, settings, subject, before), history or History()
    reads = reads or AuditReads(now="", confirm_audits=settings.confirm_audits)
    quiet = _silence(snapshot, settings, past, reads)
    tree = None
    if subject.root_uuid:
        own_ratios = _with_own_ratios(snapshot, written)
        tree = desired(own_ratios, settings, found.books, subject.root_uuid, subject.node, added=past.added)
    seen = _facts(snapshot, settings, subject, found, tree)
    silent_for_s = max(0, reads.at - quiet.since) if quiet else 0
    compute = _rival(seen, None, silent_for_s)
    # ``judged`` counts audits in which another program changed the agent's inventory. Do not call ``judged`` while a
    # running nova-compute owns the provider. The agent then writes nothing, so each audit would count the same change
    # again.
    judgement = written
    if compute is None and tree is not None and seen.view is not None:
        judgement = judged(written, seen.view.root, tree.root)
    facts = dataclasses.replace(
        seen,
        rival=compute or _rival(seen, judgement, silent_for_s),
        unknown_traits=unknown_traits,
        left=past.left,
        cleared=judgement.cleared if judgement else frozenset(),
    )
    concluded = _concluded(facts, found, judgement, past, reads)
    alive = _nova_alive_since(snapshot, settings, past, reads)
    return dataclasses.replace(concluded, silence=quiet, nova_alive_since=alive)


def with_refusals(decision: Decision, refused: tuple[RefusedWrite, ...], unknown_traits: frozenset[str]) -> Decision:
    """Return the decision, with the findings about rejected writes and unknown traits added."""
    facts = dataclasses.replace(decision.facts, refused=refused, unknown_traits=unknown_traits)
    return dataclasses.replace(decision, findings=_findings(facts), facts=facts)


def _facts(
    snapshot: Snapshot, settings: Settings, subject: Subject, found: Compared, tree: DesiredTree | None
) -> AuditFacts:
    """Return the input of the findings' rules. The caller sets the other fields afterwards, such as ``rival``."""
    facts = AuditFacts(
        snapshot=snapshot,
        settings=settings,
        books=found.books,
        rows=found.rows,
        tree=tree,
        state=promise_of(snapshot, subject.node),
        root_uuid=subject.root_uuid,
        node=subject.node,
        rival=None,
        owned=owners(snapshot, guests_of(snapshot)),
    )
    return dataclasses.replace(facts, doubts=doubts(facts.root, facts.state, snapshot.host.value, subject))


def _rival(facts: AuditFacts, judgement: WrittenProvider | None, silent_for_s: int) -> Rival | None:
    """Return the other writer that owns the root provider; None if there is none or Placement was not read."""
    if facts.view is None:
        return None
    return rival_of(facts.root, facts.state, facts.settings, judgement, silent_for_s)


def _silence(snapshot: Snapshot, settings: Settings, past: History, reads: AuditReads) -> Silence | None:
    """Return since when this host's nova-compute has shown no sign of life; None unless the agent's role is owner.

    A silence that was saved during another boot of the host does not count, because the monotonic clock starts anew at
    each boot.
    """
    if settings.role is not Role.OWNER:
        return None
    before = past.silence if past.boot == reads.boot else None
    return silence(before, snapshot.observed_root, snapshot.nova.value, reads.seen_at)


def _nova_alive_since(snapshot: Snapshot, settings: Settings, past: History, reads: AuditReads) -> int | None:
    """Return the time since which every audit has found nova-compute alive; None if the role is not companion."""
    if settings.role is not Role.COMPANION:
        return None
    before = past.nova_alive_since if reads.follows(past) else None
    return alive_since(before, snapshot.nova.value, settings, reads.at)


def _concluded(
    facts: AuditFacts, found: Compared, judgement: WrittenProvider | None, past: History, reads: AuditReads
) -> Decision:
    """Return the findings and the plan. The plan deletes an orphaned compute node only if its finding is confirmed."""
    findings = _findings(facts)
    host_view = resource_view(facts.snapshot, facts.settings, facts.node, facts.tree)
    used = used_by_the_books(facts.snapshot, facts.settings, facts.root_uuid, host_view, found.books.occupied)
    return Decision(
        compared=found,
        state=facts.state,
        tree=facts.tree,
        plan=_plan(facts, host_view, used, confirmed_now(findings, past, reads)),
        findings=findings,
        rival=facts.rival,
        written=judgement,
        facts=facts,
        reads=reads,
        host_view=host_view,
        used=used,
    )


def _findings(facts: AuditFacts) -> tuple[Finding, ...]:
    return tuple(sorted((f for rule in RULES for f in rule.find(facts)), key=lambda f: (f.code, f.id)))


def _with_own_ratios(snapshot: Snapshot, written: WrittenProvider | None) -> Snapshot:
    view = snapshot.placement.value
    if view is None or view.root is None or written is None:
        return snapshot
    root = without_foreign_ratios(view.root, written)
    providers = tuple(root if p.uuid == root.uuid else p for p in view.providers)
    read = dataclasses.replace(snapshot.placement, value=dataclasses.replace(view, providers=providers))
    return dataclasses.replace(snapshot, placement=read)


def _plan(
    facts: AuditFacts,
    host_view: ResourceView | None,
    used: Usage | None,
    confirmed: frozenset[tuple[str, str | None]],
) -> Plan:
    """Return what to write to Placement and to nova's database. If the host's identity is in doubt, write nothing.

    The plan's ``records`` are the writes of compute node records. This node's record comes first, then the records of
    orphaned nodes.
    """
    tree, view = facts.tree, facts.view
    if tree is None or view is None:
        return EMPTY_PLAN
    if view.name_holder is not None:
        holder = view.name_holder
        why = f"provider {holder.uuid} already has the name {holder.name}, and Placement allows each name only once"
        return Plan.nothing(tree.root.uuid, EVERYTHING, why)
    if stopping := [doubt for doubt in facts.doubts if doubt.stops_writes]:
        return Plan.nothing(tree.root.uuid, EVERYTHING, f"this host's identity is in doubt: {stopping[0].actual}")
    if facts.settings.role is Role.COMPANION:
        placing = companion(facts.snapshot, facts.settings, facts.books)
        return Plan(allocations=placing.writes, held_back=placing.held_back)
    if facts.rival is not None:
        return Plan.nothing(tree.root.uuid, EVERYTHING, facts.rival.why)
    plan, subject = diff(tree, view, facts.unknown_traits), Subject(root_uuid=facts.root_uuid, node=facts.node)
    own = record_plan(facts.snapshot, facts.settings, subject, host_view, used)
    gone = orphan_plan(facts.snapshot, facts.settings, subject, facts.left, confirmed)
    return dataclasses.replace(
        plan,
        # Remove the allocations that the agent itself wrote while its role was companion. The agent writes inventories
        # first. So ``reserved`` already counts the usage when the agent removes the allocations for the same usage.
        allocations=released(facts.snapshot, facts.settings, tree),
        records=(*own.records, *gone.records),
        removals=gone.removals,
        held_back=(*plan.held_back, *own.held_back, *gone.held_back),
    )
