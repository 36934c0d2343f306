"""record-unmoved: refuse a repair if the consumer's allocations may have changed since the audit.

The audit read only the consumer's allocations on this host. Later heal read all allocations of the consumer. Both reads
must agree on this host.

An equal consumer generation does not prove that nothing changed. When a consumer loses its last allocation and gets a
new one, as in a move of an instance, its generation starts again at the first value. So the guard demands one of two
proofs. Either Placement last wrote the consumer before the audit began. Or no provider's generation has changed since
the audit: a new allocation would have raised it.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always
from agent.model.placement import Allocation


def _refuses(guarded: GuardedFinding) -> str | None:
    return next((why for consumer in guarded.consumer_uuids if (why := _moved(guarded, consumer))), None)


def _moved(guarded: GuardedFinding, consumer_uuid: str) -> str | None:
    record, view = guarded.scene.record(consumer_uuid), guarded.scene.view
    if record is None or view is None:
        return "Placement's record of the consumer was not read completely"
    changes = guarded.action.changes if guarded.action else ()
    if any(change.before != record for change in changes if change.before.consumer_uuid == consumer_uuid):
        return "the planned change does not start from the consumer's record that heal read"
    seen = [a for a in view.allocations if a.consumer_uuid == record.consumer_uuid]
    here = [a for a in record.allocations if a.provider_uuid in guarded.scene.tree]
    if sorted(map(_amount, seen)) != sorted(map(_amount, here)):
        return "the consumer's allocations on this host have changed since the audit read them"
    moved = [a.consumer_generation for a in seen if a.consumer_generation != record.generation]
    if moved:
        return f"the consumer's generation is {record.generation} now; the audit read {moved[0]}"
    if not guarded.scene.has_moved or record.is_older_than(guarded.scene.read_ago_s):
        return None
    return "a provider of this host has changed since this audit read the provider; the repair waits for the next audit"


def _amount(allocation: Allocation) -> tuple[str, str, int]:
    return (allocation.provider_uuid, allocation.resource_class, allocation.amount)


GUARD = Guard(name="record-unmoved", refuses=_refuses, waits=always)
