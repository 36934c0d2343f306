"""The conditions that the agent's findings must meet once the cloud is quiet, by the cloud's truth.

A leak is an allocation that Placement records and no operation needs. The agent must find a leak unless the database
shows it in the same state as a rightful consumer: in a task, in a move, being built, or hidden. In such a state the
agent cannot distinguish the two, so it rightly reports nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.finding import SeenFinding
from agent.model.nova import FINISHED_MIGRATION_STATUSES
from tests.cloud.cloud import Cloud

ACCUSING = frozenset(
    {
        "allocation-leaked",
        "allocation-stale-move",
        "allocation-differs",
        "allocation-missing",
        "migration-finished-but-counted",
        "consumer-on-several-providers",
    }
)


# Findings that heal repairs without further conditions; for other codes heal declines ambiguous records.
HEALED = frozenset({"allocation-leaked", "allocation-stale-move"})


class MissedLeak(AssertionError):
    """A real leak that two audits of a quiet cloud did not find."""


class UnhealedLeak(AssertionError):
    """A confirmed leak that heal left alone in a quiet cloud."""


class FalseAccusation(AssertionError):
    """A confirmed finding about a consumer whose allocations are correct."""


def masked(cloud: Cloud, consumer: str) -> bool:
    """Return whether the database shows the consumer in a state in which a rightful consumer may also be."""
    migration = next((m for m in cloud.migrations.values() if m.uuid == consumer), None)
    if migration is not None:
        live = not migration.deleted
        if live and migration.status not in FINISHED_MIGRATION_STATUSES:
            return True
        return migration.instance_uuid in cloud.instances and _in_between(cloud, migration.instance_uuid)
    return consumer in cloud.instances and _in_between(cloud, consumer)


def _in_between(cloud: Cloud, uuid: str) -> bool:
    row = cloud.instances[uuid]
    if row.deleted:
        return row.hidden
    building = row.vm_state == "building"
    return row.task_state is not None or building or row.vm_state == "deleted" or bool(cloud.under_way(uuid))


def is_found(findings: Iterable[SeenFinding], consumer: str) -> bool:
    """Return whether any confirmed finding names that consumer."""
    return any(seen.confirmed and seen.finding.consumer_uuid == consumer for seen in findings)


def leaks(cloud: Cloud, host: str) -> tuple[str, ...]:
    """Return consumers whose allocations there exceed their need in some class, unless their state masks it."""
    return tuple(c for c in consumers(cloud) if _has_more(cloud, c, host) and not masked(cloud, c))


def _has_more(cloud: Cloud, consumer: str, host: str) -> bool:
    needed = cloud.needed(consumer, host)
    return any(amount > needed.get(name, 0) for name, amount in cloud.recorded(consumer, host).items())


def missing(cloud: Cloud, host: str) -> tuple[str, ...]:
    """Return consumers that need more there than is recorded, unless their state masks it."""
    wrong = (c for c in consumers(cloud) if _is_wrong(cloud, c, host) and not _has_more(cloud, c, host))
    return tuple(c for c in wrong if c in cloud.instances and not masked(cloud, c))


def consumers(cloud: Cloud) -> tuple[str, ...]:
    """Return every uuid that can be a consumer."""
    migrations = [m.uuid for m in cloud.migrations.values() if m.uuid]
    return tuple(sorted({*cloud.instances, *migrations, *cloud.strangers, *(c for c, _ in cloud.needs)}))


def _is_wrong(cloud: Cloud, consumer: str, host: str) -> bool:
    return dict(cloud.recorded(consumer, host)) != dict(cloud.needed(consumer, host))


def _in_other_name(cloud: Cloud, uuid: str, host: str) -> bool:
    """Return whether the instance lives here and only its migration has an allocation, as after an interrupted move."""
    row = cloud.instances.get(uuid)
    moves = [m.uuid for m in cloud.migrations.values() if m.instance_uuid == uuid and m.uuid]
    return row is not None and row.host == host and any(cloud.recorded(move, host) for move in moves)


def check(cloud: Cloud, host: str, findings: tuple[SeenFinding, ...], *, thorough: bool) -> int:
    """Raise if a leak is not found or a rightful consumer is accused; return the number of leaks.

    ``thorough``: the audit read Placement in full. A DELETE of allocations does not change a generation, so missing
    allocations need to be found only then. A finding about a migration's allocation may name its instance instead.
    """
    there = leaks(cloud, host)
    for consumer in (*there, *(missing(cloud, host) if thorough else ())):
        stood_for = {m.instance_uuid for m in cloud.migrations.values() if m.uuid == consumer}
        if not any(is_found(findings, one) for one in {consumer} | stood_for):
            raise MissedLeak(_words(cloud, consumer, host, findings))
    for seen in findings:
        finding = seen.finding
        consumer = finding.consumer_uuid
        if not seen.confirmed or finding.code not in ACCUSING or consumer is None:
            continue
        wrong = [other for other in cloud.roots if _is_wrong(cloud, consumer, other)]
        if finding.code == "allocation-missing" and _in_other_name(cloud, consumer, host):
            continue
        elsewhere = finding.code == "consumer-on-several-providers"
        if not (wrong if elsewhere else host in wrong):
            raise FalseAccusation(f"{finding.code}: {finding.actual}: " + _words(cloud, consumer, host, findings))
    return len(there)


def check_healed(cloud: Cloud, host: str, findings: tuple[SeenFinding, ...]) -> None:
    """Raise if a confirmed leak of a deleted instance, or of one that lives on another host, is still recorded."""
    for seen in findings:
        consumer = seen.finding.consumer_uuid
        if seen.confirmed and seen.finding.code in HEALED and consumer is not None and consumer in leaks(cloud, host):
            raise UnhealedLeak(_words(cloud, consumer, host, findings))


def _words(cloud: Cloud, consumer: str, host: str, findings: tuple[SeenFinding, ...]) -> str:
    row = cloud.instances.get(consumer)
    moves = [m for m in cloud.migrations.values() if consumer in (m.uuid, m.instance_uuid)]
    shown = row and (row.host, row.vm_state, row.task_state, "deleted" if row.deleted else "live")
    states = [(m.id, m.kind, m.status, m.source_host, m.dest_host, m.deleted) for m in moves]
    told = sorted({(s.finding.code, s.confirmed) for s in findings if s.finding.consumer_uuid == consumer})
    return (
        f"{consumer} on {host}: recorded {dict(cloud.recorded(consumer, host))}, "
        f"needed {dict(cloud.needed(consumer, host))}, row {shown}, migrations {states}, "
        f"guest {consumer in cloud.guests[host]}, told {told}"
    )
