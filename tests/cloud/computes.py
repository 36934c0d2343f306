"""nova-compute as the other writer of a host's provider: it starts, reports, audits, and stops for good.

Beside an agent in role owner it never lives for long. Beside a companion it always audits and removes allocations, and
``check_beside`` checks each write of heal against what nova-compute and the cloud really did before.

Its heartbeat is a row of the cell like any other, so a lagging database shows an old heartbeat. It sets its trait when
it starts, some seconds before its first heartbeat, as measured on the real nova-compute.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agent.model.nova import FINISHED_MIGRATION_STATUSES
from agent.model.owners import AGENT_OWNER, RIVAL
from tests.cloud.cloud import EPOCH, Cloud, Life
from tests.cloud.feeds import REPORT_S
from tests.cloud.operations import Steps
from tests.cloud.placement_model import PlacementModel, Stock

FIRST_REPORT_S = 5
# Audits come each minute. It takes a minute to prove nova-compute's silence; two more audits find, and two heal.
GONE_S = 420
# How many audits must find a consumer's allocations unchanged, and the seconds between two audits that count.
STEADY_LOOKS, LOOKS_APART_S = 3, 10
# The rules of heal beside a nova-compute, in seconds: after its start, for three of its audits, and between the first
# and the last of three audits of the agent, which are at least 10 s apart.
STARTED_S, NOVA_AUDITS_S, STEADY_S = 60, 180, 20


class Written(NamedTuple):
    """One write of a provider by the agent, and the start of its audit."""

    host: str
    audit_began: int


class WrongWrite(AssertionError):
    """The agent wrote a provider that a living nova-compute had taken over."""


class MissedTakeover(AssertionError):
    """nova-compute has been gone for minutes, and the agent has not taken over its provider."""


def start(cloud: Cloud, placement: PlacementModel, host: str) -> None:
    """Start nova-compute, which writes the provider; its first heartbeat follows later."""
    before = cloud.lives.get(host)
    cloud.lives[host] = Life(cloud.seconds, None, heartbeat(before, cloud.seconds))
    rewrite(cloud, placement, host)


def stop(cloud: Cloud, host: str) -> None:
    """Stop nova-compute; its heartbeat ends."""
    cloud.lives[host] = cloud.lives[host]._replace(stopped=cloud.seconds)


def is_alive(cloud: Cloud, host: str) -> bool:
    """Return whether the host's nova-compute runs."""
    life = cloud.lives.get(host)
    return life is not None and life.stopped is None


def is_long_gone(cloud: Cloud, host: str) -> bool:
    """Return whether no nova-compute has lived within the time that a takeover and the audits after it need."""
    life = cloud.lives.get(host)
    return life is None or (life.stopped is not None and cloud.seconds - life.stopped > GONE_S)


def rewrite(cloud: Cloud, placement: PlacementModel, host: str) -> None:
    """Run nova-compute's audit: write the whole inventory with its own reserve, and add its trait to the others."""
    root = placement.providers[cloud.roots[host]]
    stocks = {
        "VCPU": Stock(total=8, max_unit=8, allocation_ratio=4.0),
        "MEMORY_MB": Stock(total=2048, reserved=64, max_unit=2048),
        "DISK_GB": Stock(total=16, max_unit=16),
    }
    if root.stocks != stocks:
        placement.put_inventories(cloud.roots[host], root.generation, stocks)
    placement.put_traits(cloud.roots[host], root.generation, root.traits | {"COMPUTE_NODE", RIVAL})


def audit(cloud: Cloud, placement: PlacementModel, host: str) -> Steps:
    """update_available_resource of the host's nova-compute, one request or read of rows for each step.

    After the report, nova-compute removes the allocations of deleted instances that it finds in its cell
    (nova/compute/resource_tracker.py:_remove_deleted_instances_allocations).
    """
    root = cloud.roots[host]
    tracked = {i.uuid for i in cloud.instances.values() if i.host == host and not i.deleted}
    yield f"nova-compute of {host}: instances read"
    moving = {
        m.uuid
        for m in cloud.migrations.values()
        if host in (m.source_host, m.dest_host) and m.status not in FINISHED_MIGRATION_STATUSES and not m.deleted
    }
    yield "nova-compute: migrations read"
    if root not in placement.providers:
        return
    rewrite(cloud, placement, host)
    yield "nova-compute: reported"
    consumers = [uuid for uuid, held in placement.consumers.items() if root in held.holdings]
    yield "nova-compute: allocations read"
    for consumer in consumers:
        row = cloud.instances.get(consumer)
        if consumer in tracked or consumer in moving or row is None or not row.deleted or row.hidden:
            continue
        yield f"nova-compute: {consumer} is deleted"
        cloud.release(consumer)
        yield "nova-compute: allocation removed"


def heartbeat(life: Life | None, second: int) -> int | None:
    """Return the newest heartbeat in a database that follows up to that second; None if there was none."""
    if life is None:
        return None
    until = second if life.stopped is None else min(second, life.stopped)
    lived = until - life.started - FIRST_REPORT_S
    return life.before if lived < 0 else life.started + FIRST_REPORT_S + lived // REPORT_S * REPORT_S


def check_write(cloud: Cloud, written: Written) -> None:
    """Raise if nova-compute lived, and had set its trait there, before the writing audit began."""
    life = cloud.lives.get(written.host)
    if life is not None and life.stopped is None and life.started < written.audit_began:
        raise WrongWrite(f"provider of {written.host}, whose nova-compute lives since {life.started} s")


def check_taken_over(cloud: Cloud, placement: PlacementModel, host: str, since: int) -> None:
    """Raise if nova-compute was dead at that second, minutes ago, and the agent does not own the provider alone."""
    life = cloud.lives.get(host)
    if life is None or life.stopped is None or life.stopped > since:
        return
    traits = placement.providers[cloud.roots[host]].traits
    if RIVAL in traits or AGENT_OWNER not in traits:
        raise MissedTakeover(f"provider of {host} after {cloud.seconds - life.stopped} s: {sorted(traits)}")


class Intruded(AssertionError):
    """heal wrote an allocation although nova was working on it, or had just worked on it."""


class Healing(NamedTuple):
    """One write of a companion's heal; ``began`` are the starts of all audits of the agent, the present one last.

    ``written`` is when other clients last wrote each consumer's allocations so that an audit can notice the write;
    ``looks`` is when the audits read the allocations.
    """

    host: str
    consumer: str
    min_age_s: float
    began: Sequence[int]
    written: Mapping[str, int]
    looks: Sequence[int]
    is_current: bool


def check_beside(cloud: Cloud, heals: Healing) -> None:
    """Raise if heal wrote against a rule for hosts with a running nova-compute.

    Only what happened before the present audit counts: what happens during the audit, heal finds by reading again. The
    rules about rows count only for an agent whose database is current: a copy that is late by less than a minute, and
    looks current by one service's fast clock, hides the newest rows. No lie excuses a wrong removal (WrongRemoval).
    """
    began, now = heals.began[-1], cloud.seconds
    if heals.is_current:
        _check_rows(cloud, heals)
    written = heals.written.get(heals.consumer)
    if written is not None and written <= began:
        if now - written < max(STEADY_S, heals.min_age_s):
            raise Intruded(f"the allocations of {heals.consumer} changed {now - written} s ago")
        if (seen := _looks_since(written, heals.looks)) < STEADY_LOOKS:
            raise Intruded(f"{seen} audits in a row had found the present allocations of {heals.consumer}")
    _check_started(cloud, heals)


def _looks_since(written: int, looks: Sequence[int]) -> int:
    """Return how many of the audits' reads since the write count: those at least LOOKS_APART_S after the one before."""
    count, last = 0, written - LOOKS_APART_S
    for second in looks:
        if second >= max(written, last + LOOKS_APART_S):
            count, last = count + 1, second
    return count


def _check_rows(cloud: Cloud, heals: Healing) -> None:
    began, now = heals.began[-1], cloud.seconds
    for uuid in {heals.consumer, *(m.instance_uuid for m in cloud.migrations.values() if m.uuid == heals.consumer)}:
        for what, changed_at in _changes(cloud, uuid):
            if changed_at <= began and now - changed_at < heals.min_age_s:
                raise Intruded(f"{what} changed {now - changed_at} s ago")
        row = cloud.instances.get(uuid)
        if row is not None and not row.deleted and row.task_state is not None and _second(row.updated_at) <= began:
            raise Intruded(f"instance {uuid} has task {row.task_state}")
    leaked = cloud.instances.get(heals.consumer)
    deleted_at = _second(leaked.deleted_at) if leaked is not None and leaked.deleted else None
    if deleted_at is not None and deleted_at <= began and now - deleted_at < NOVA_AUDITS_S:
        raise Intruded(f"nova-compute may still remove the leak of {heals.consumer}, deleted {now - deleted_at} s ago")


def _check_started(cloud: Cloud, heals: Healing) -> None:
    """Raise if nova-compute has just started, and the agent had audited while it was down."""
    life = cloud.lives.get(heals.host)
    if life is None or life.stopped is not None or not heals.is_current or cloud.seconds - life.started >= STARTED_S:
        return
    # A replica that is late by less than a minute shows the last heartbeat as alive for up to two minutes.
    silent_from = (life.before or 0) + 135
    if life.before is None or any(silent_from < second < life.started for second in heals.began):
        raise Intruded(f"nova-compute of {heals.host} started at {life.started} s")


def _changes(cloud: Cloud, uuid: str) -> list[tuple[str, int]]:
    """Return the changes of the instance and of its migrations, between any hosts."""
    row = cloud.instances.get(uuid)
    moves = [m for m in cloud.migrations.values() if m.instance_uuid == uuid]
    rows = [(f"instance {uuid}", moment) for moment in (row.created_at, row.updated_at, row.deleted_at)] if row else []
    rows += [(f"migration {m.id}", m.updated_at or m.created_at) for m in moves]
    return [(what, _second(moment)) for what, moment in rows if moment is not None]


def _second(moment: datetime.datetime | None) -> int:
    return 0 if moment is None else int((moment - EPOCH).total_seconds())
