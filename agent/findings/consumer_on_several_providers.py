"""consumer-on-several-providers: a consumer has allocations of one class in this host's tree and in another tree.

Placement's record of a consumer lists the consumer's allocations on all providers. An allocation in another tree is a
fault only if the consumer also has an allocation of the same class in this host's tree. Otherwise the other tree may
belong to a sharing provider, and the allocation is right. While a migration of the instance is in progress, the
allocations on both hosts are right.
"""

from __future__ import annotations

from agent.books.recency import instance_just_changed
from agent.findings.base import HEALERS, SHOWN_DIGITS, AuditFacts, Findings, Rule, amount_text
from agent.findings.base_began import by_deletion, by_move
from agent.findings.base_headlines import short_amounts
from agent.findings.base_remedies import (
    by_hand,
    delete_allocations,
    heal,
    inspect,
    show_allocations,
    show_provider,
    show_server,
    unset,
)
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.finding import Finding, Remedy, Severity
from agent.model.memo import for_equal_arguments
from agent.model.nova import Instance
from agent.model.placement import ROOT, Allocation, ConsumerRecord, ProviderKey
from agent.model.snapshot import PLACEMENT, STATE
from agent.text.headline import short_name


def _find(audit: AuditFacts) -> Findings:
    view, state = audit.view, audit.state
    if view is None or state is None:
        return
    moving = {m.instance_uuid for m in state.migrations if m.under_way}
    # Skip an instance that nova is changing or has just changed. The agent reads Placement's record before nova's row.
    # If a move ends between the two reads, the row shows no move, but the record still has allocations on both hosts.
    busy = {i.uuid for i in state.instances if i.task_state is not None or instance_just_changed(i, state.now)}
    for record, here, elsewhere in _spread(view.consumers, frozenset(p.uuid for p in view.providers)):
        if record.consumer_uuid not in moving and record.consumer_uuid not in busy:
            yield _finding(audit, record, here, elsewhere)


# Cached: while no allocation changes, each audit passes equal records. The cache then saves 5 ms per 1,000 records.
@for_equal_arguments
def _spread(
    records: tuple[ConsumerRecord, ...], own_uuids: frozenset[str]
) -> tuple[tuple[ConsumerRecord, list[Allocation], list[Allocation]], ...]:
    """Return (record, allocations in this host's tree, allocations of the same classes in other trees).

    Consumers without allocations of the same class in both places are left out.
    """
    sides = ((record, *_sides(own_uuids, record)) for record in records)
    return tuple((record, here, elsewhere) for record, here, elsewhere in sides if elsewhere)


def _sides(own_uuids: frozenset[str], record: ConsumerRecord) -> tuple[list[Allocation], list[Allocation]]:
    here = [a for a in record.allocations if a.provider_uuid in own_uuids]
    classes = {a.resource_class for a in here}
    elsewhere = [a for a in record.allocations if a.provider_uuid not in own_uuids and a.resource_class in classes]
    return here, elsewhere


def _finding(audit: AuditFacts, record: ConsumerRecord, here: list[Allocation], elsewhere: list[Allocation]) -> Finding:
    others = ", ".join(sorted({a.provider_uuid for a in elsewhere}))
    instance = _instance(audit, record.consumer_uuid)
    return RULE.finding(
        audit,
        headline=_headline(audit, record, instance, here),
        consumer_uuid=record.consumer_uuid,
        expected=f"each resource class of consumer {record.consumer_uuid} is allocated in one provider tree only",
        actual=f"the consumer has {_text(here)} allocated on this host and {_text(elsewhere)} on {others}",
        evidence=tuple(_claim(audit, a) for a in (*here, *elsewhere)),
        facts=(("other_providers", others), *_home(instance)),
        rests_on_recorded=True,
        began=by_deletion(instance) or by_move(audit.state, instance),
        remedies=_remedies(audit, record.consumer_uuid, instance, (_providers(here), _providers(elsewhere))),
    )


def _home(instance: Instance | None) -> tuple[tuple[str, str | bool], ...]:
    """Return facts that name the instance's host, on which the allocations are right; () if the host is unknown."""
    if instance is None:
        return ()
    if instance.deleted:
        return (("instance_deleted", True),)
    return (("instance_host", instance.host),) if instance.host else ()


def _providers(allocations: list[Allocation]) -> list[str]:
    return sorted({a.provider_uuid for a in allocations})


def _headline(audit: AuditFacts, record: ConsumerRecord, instance: Instance | None, here: list[Allocation]) -> str:
    name = short_name(instance.name if instance else record.consumer_uuid)
    amounts = short_amounts((a.resource_class, a.amount) for a in here)
    return f"{name}: Placement counts {amounts} on {audit.host}, and the same classes on another host"


def _remedies(
    audit: AuditFacts, consumer: str, instance: Instance | None, providers: tuple[list[str], list[str]]
) -> tuple[Remedy, ...]:
    """Return what the operator can do about the allocations in the wrong tree.

    No remedy removes the allocations on the host where the instance is, because those allocations are right.
    """
    own, others = providers
    if instance is not None and instance.deleted:
        return (
            inspect("the instance is deleted: see what Placement still counts", show_allocations(consumer)),
            by_hand("if no host has a guest of the instance, remove all its allocations", delete_allocations(consumer)),
        )
    if instance is None or instance.host is None:
        return (
            inspect("find the host of the instance", show_server(_instance_uuid(audit, consumer))),
            *(inspect(f"see which host has provider {each}", show_provider(each)) for each in others),
            *(
                by_hand(
                    f"only if the instance is not on {_name(audit, each)}: remove the allocations there",
                    unset(consumer, [each]),
                )
                for each in own
            ),
            *(
                by_hand(
                    f"only if the instance is not on the host of {each}: remove the allocations there",
                    unset(consumer, [each]),
                )
                for each in others
            ),
        )
    if instance.host != audit.host:
        return (
            heal(f"the instance lives on {instance.host}: remove its allocations on this host"),
            by_hand("remove only the allocations on this host", unset(consumer, own)),
        )
    return (
        *(
            inspect(f"the instance lives on this host: see which host has provider {p}", show_provider(p))
            for p in others
        ),
        *_heal_there(audit, consumer, instance, others),
        by_hand(
            "if no guest of the instance is on the other host, remove the allocations there", unset(consumer, others)
        ),
    )


def _heal_there(audit: AuditFacts, consumer: str, instance: Instance, others: list[str]) -> tuple[Remedy, ...]:
    """Return the remedy that repairs the finding on the other host: ``stocktake heal`` with the finding's id.

    The agent on the other host computes the same id. Return an empty tuple if the allocations are on several other
    providers, because this agent cannot know the id then.
    """
    if len(others) != 1:
        return ()
    there = Finding(
        code="allocation-stale-move",
        severity=Severity.ERROR,
        remedy="",
        expected="",
        actual="",
        provider_uuid=others[0],
        consumer_uuid=consumer,
    )
    hosts = _earlier_hosts(audit, instance)
    where = f"on {hosts[0]}, where the instance was before" if len(hosts) == 1 else "on the host of the other provider"
    command = f"stocktake heal --finding {there.id[:SHOWN_DIGITS]}"
    return (
        by_hand(f"{where}, run `{command}`: this command repairs finding {there.code}, which the agent there reports"),
    )


def _earlier_hosts(audit: AuditFacts, instance: Instance) -> list[str]:
    """Return the source and destination hosts of the instance's migrations, without this host, sorted."""
    known = (*audit.state.migrations, *audit.state.finished_evacuations) if audit.state else ()
    hosts = {host for m in known if m.instance_uuid == instance.uuid for host in (m.source_host, m.dest_host) if host}
    return sorted(hosts - {audit.host})


def _name(audit: AuditFacts, provider: str) -> str:
    known = audit.view.provider(provider) if audit.view else None
    return f"this host ({known.name})" if known else "this host"


def _instance(audit: AuditFacts, consumer: str) -> Instance | None:
    uuid = _instance_uuid(audit, consumer)
    return next((i for i in audit.state.instances if i.uuid == uuid), None) if audit.state else None


def _instance_uuid(audit: AuditFacts, consumer: str) -> str:
    """Return the uuid of the consumer's instance; if the consumer is a migration, the uuid of the instance it moves."""
    migrations = audit.state.migrations if audit.state else ()
    return next((m.instance_uuid for m in migrations if m.uuid == consumer), consumer)


def _text(allocations: list[Allocation]) -> str:
    return ", ".join(amount_text(a.resource_class, a.amount) for a in allocations)


def _claim(audit: AuditFacts, allocation: Allocation) -> Claim:
    other = ProviderKey("provider", allocation.provider_uuid)
    return Claim(
        consumer=Consumer(key=allocation.consumer_uuid, kind="unknown", uuid=allocation.consumer_uuid),
        cause=Cause.RECORDED_ONLY,
        resource_class=allocation.resource_class,
        amount=allocation.amount,
        provider_key=ROOT if allocation.provider_uuid == audit.root_uuid else other,
        source=Origin("placement", "allocations", f"{allocation.consumer_uuid} on {allocation.provider_uuid}"),
    )


RULE = Rule(
    code="consumer-on-several-providers",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE}),
    healed_in=HEALERS,
)
