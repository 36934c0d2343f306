"""A world in which heal has exactly one thing to do and no reason to refuse: a test then changes one fact."""

import dataclasses
from typing import Any

from agent.model.audit import Identity
from agent.model.compared import Subject
from agent.model.finding import SeenFinding
from agent.model.heal import HealSettings
from agent.model.nova import NovaState
from agent.model.placement import Allocation, ConsumerRecord, PlacementView
from agent.model.snapshot import Snapshot
from agent.repairs.base import Scene
from tests.rigs import facts

SEEN_AT = "2026-11-21T11:00:00.000Z"
NOW = "2026-11-21T12:00:00.000Z"
OTHER = facts.uuid("another host's root")


def record(name: str, **places: dict[str, int]) -> ConsumerRecord:
    """Return a consumer's record: ``here`` is this host's root, ``there`` another host's root."""
    held = tuple(
        Allocation(
            consumer_uuid=facts.uuid(name),
            consumer_generation=1 if places else None,
            provider_uuid={"here": facts.ROOT_UUID, "there": OTHER}[place],
            resource_class=resource_class,
            amount=amount,
        )
        for place, amounts in places.items()
        for resource_class, amount in sorted(amounts.items())
    )
    who: dict[str, Any] = {"generation": 1, "project_id": "p", "user_id": "u"} if held else {}
    return ConsumerRecord(
        consumer_uuid=facts.uuid(name),
        **{"generation": None, "project_id": None, "user_id": None} | who,
        allocations=tuple(sorted(held, key=lambda a: (a.provider_uuid, a.resource_class))),
    )


def view_of(*records: ConsumerRecord, **changes: Any) -> PlacementView:
    """Return this host's tree with these consumers' allocations on it."""
    here = [[a for a in each.allocations if a.provider_uuid == facts.ROOT_UUID] for each in records]
    root = facts.root(*(facts.inventory(name, 100) for name in ("VCPU", "MEMORY_MB", "DISK_GB")))
    return facts.view(*here, provider=root, **{"consumers": records} | changes)


def scene_of(world: Snapshot, *records: ConsumerRecord, **changes: Any) -> Scene:
    """Return heal's scene of that world, with all findings confirmed and an hour old."""
    settings = changes.pop("settings", facts.settings(heal=HealSettings()))
    decision = facts.decided(world, settings)
    seen = tuple(SeenFinding(finding=f, confirmed=True, first_seen_at=SEEN_AT, times=2) for f in decision.findings)
    identity = Identity(uuid=facts.ROOT_UUID, origin="/etc/nova/compute_id")
    plain = Scene(
        snapshot=world,
        settings=settings,
        subject=Subject(root_uuid=facts.ROOT_UUID, node=facts.NODE, identity_origin=identity.origin),
        rows=decision.rows,
        findings=seen,
        identity=identity,
        persisted=identity,
        records=records,
        now=NOW,
    )
    return dataclasses.replace(plain, **changes)


def leaks(*names: str, also: NovaState | None = None) -> tuple[Snapshot, tuple[ConsumerRecord, ...]]:
    """Return a world in which these deleted instances are still recorded, 1 VCPU each."""
    held = tuple(record(name, here={"VCPU": 1}) for name in names)
    gone = [facts.instance(name, deleted=True, vm_state="deleted") for name in names]
    state = also or facts.state(*gone)
    return facts.snapshot(placement=view_of(*held), nova=state), held
