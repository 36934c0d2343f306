"""Convert a consumer's record to the journal's JSON and back, and describe where the consumer's instance is.

An undo checks that this description is still true: if the instance has moved, the restored allocations could be a leak.
Pure: no I/O.
"""

from __future__ import annotations

from typing import Any

from agent.model.nova import Instance, NovaState
from agent.model.placement import Allocation, ConsumerRecord
from agent.model.plan import PutAllocations
from agent.text.numbers import whole

GONE = "gone"

Document = dict[str, Any]


def record_json(record: ConsumerRecord) -> Document:
    """Return the record as JSON: the consumer's uuid, generation, project, user, type and allocations."""
    return {
        "consumer_uuid": record.consumer_uuid,
        "consumer_generation": record.generation,
        "project_id": record.project_id,
        "user_id": record.user_id,
        "consumer_type": record.consumer_type,
        "allocations": _amounts(record.allocations),
    }


def after_json(before: ConsumerRecord, write: PutAllocations) -> Document:
    """Return as JSON what the consumer will be after ``write``.

    Placement deletes a consumer that has no allocations. Its project, user and type are then None.
    """
    there = bool(write.allocations)
    kept = before.consumer_type if before.allocations else None
    return {
        "consumer_uuid": write.consumer_uuid,
        "project_id": write.project_id if there else None,
        "user_id": write.user_id if there else None,
        "consumer_type": (write.consumer_type or kept) if there else None,
        "allocations": _amounts(write.allocations),
    }


def is_as(record: ConsumerRecord, document: Document) -> bool:
    """Return whether record and document have equal allocations, project and user. Generation and type may differ."""
    now = record_json(record)
    return all(now[name] == document.get(name) for name in now if name not in {"consumer_generation", "consumer_type"})


def record_from_json(document: Any) -> ConsumerRecord | None:  # noqa: ANN401 - JSON may be anything
    """Return the record that ``record_json`` wrote; None for any other document."""
    try:
        generation = document["consumer_generation"]
        return ConsumerRecord(
            consumer_uuid=str(document["consumer_uuid"]),
            generation=None if generation is None else _whole(generation),
            project_id=document["project_id"],
            user_id=document["user_id"],
            consumer_type=document["consumer_type"],
            allocations=tuple(
                Allocation(
                    consumer_uuid=str(document["consumer_uuid"]),
                    consumer_generation=generation,
                    provider_uuid=str(row["provider_uuid"]),
                    resource_class=str(row["resource_class"]),
                    amount=_whole(row["amount"]),
                )
                for row in document["allocations"]
            ),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _whole(value: object) -> int:
    number = whole(value)
    if number is None:
        raise ValueError("a generation or amount is not a 64-bit integer")
    return number


def whereabouts(state: NovaState, consumer_uuid: str) -> str:
    """Return where the consumer's instance is: on a host, on no host, or gone (deleted, or no row)."""
    moves = {m.uuid: m.instance_uuid for m in (*state.finished_evacuations, *state.migrations) if m.uuid}
    wanted = moves.get(consumer_uuid, consumer_uuid)
    instance: Instance | None = next((i for i in state.instances if i.uuid == wanted), None)
    if instance is None or instance.deleted:
        return GONE
    return f"on {instance.host}" if instance.host else "on no host"


def _amounts(allocations: tuple[Allocation, ...]) -> list[Document]:
    rows = sorted((a.provider_uuid, a.resource_class, a.amount) for a in allocations)
    return [{"provider_uuid": p, "resource_class": c, "amount": n} for p, c, n in rows]
