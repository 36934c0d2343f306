"""record-unmoved: refuse unless heal has read the consumer's whole record and the audit's view of it still holds.

The audit read the consumer's allocations on this host, and heal has read all allocations of the consumer since. The two
readings must agree on this host. An equal consumer generation alone does not prove that nothing changed: a consumer
that loses its last allocation and gets a new one, as in every move of an instance, starts again at the first
generation. So one of two further facts must hold. Either Placement last wrote the consumer before the audit began, or
no provider's generation has changed since the audit, because a new allocation would have raised its provider's
generation.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always
from agent.model.placement import Allocation


def _refuses(guarded: GuardedFinding) -> str | None:
    return next((why for consumer in guarded.consumer_uuids if (why := _moved(guarded, consumer))), None)


def _moved(guarded: GuardedFinding, consumer_uuid: str) -> str | None:
    record, view = guarded.scene.record(consumer_uuid), guarded.scene.view
    if record is None or view is None:
        return "the consumer's whole record was not read"
    changes = guarded.action.changes if guarded.action else ()
    if any(change.before != record for change in changes if change.before.consumer_uuid == consumer_uuid):
        return "the change is not based on the record that heal read for this consumer"
    seen = [a for a in view.allocations if a.consumer_uuid == record.consumer_uuid]
    here = [a for a in record.allocations if a.provider_uuid in guarded.scene.tree]
    if sorted(map(_amount, seen)) != sorted(map(_amount, here)):
        return "the consumer's allocations on this host have changed since the audit read them"
    moved = [a.consumer_generation for a in seen if a.consumer_generation != record.generation]
    if moved:
        return f"the consumer's generation is {record.generation} now; the audit read {moved[0]}"
    if not guarded.scene.has_moved or record.is_older_than(guarded.scene.read_ago_s):
        return None
    return "since this audit read this host's providers, at least one of them has changed; the next audit decides"


def _amount(allocation: Allocation) -> tuple[str, str, int]:
    return (allocation.provider_uuid, allocation.resource_class, allocation.amount)


GUARD = Guard(name="record-unmoved", refuses=_refuses, waits=always)
