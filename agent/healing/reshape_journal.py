"""A reshape as the journal keeps it, and back: the whole inventory of each provider and all that each consumer held.

``before`` and ``after`` have the same members, so an undo of an undo reads like the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from agent.healing.consumer_json import after_json, record_from_json, record_json
from agent.model.heal import ConsumerChange, ProviderChange, Reshaping
from agent.model.placement import ConsumerRecord, Inventory

KIND = "reshape"

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldConsumer:
    """One consumer of an entry: its record before, the document of what it was to hold, where its instance was."""

    before: ConsumerRecord
    after: Document
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldReshape:
    """What an entry says was done."""

    resource_class: str
    providers: tuple[ProviderChange, ...]
    consumers: tuple[ToldConsumer, ...]


def before_json(reshaping: Reshaping, where: Callable[[str], str | None]) -> Document:
    """What stands before it; ``where`` says where a consumer's instance is."""
    return {
        "resource_class": reshaping.resource_class,
        "providers": [_provider(each, each.before) for each in reshaping.providers],
        "consumers": [
            {"consumer": record_json(each.before), "instance": where(each.before.consumer_uuid)}
            for each in reshaping.changes
        ],
    }


def after_document(reshaping: Reshaping) -> Document:
    """What is to stand after it."""
    return {
        "resource_class": reshaping.resource_class,
        "providers": [_provider(each, each.after) for each in reshaping.providers],
        "consumers": [{"consumer": _after(each)} for each in reshaping.changes],
    }


def told_of(before: Any, after: Any) -> ToldReshape | None:  # noqa: ANN401 - JSON may be anything
    """What an entry's two documents say; None where they do not say all of it."""
    try:
        pairs = zip(before["providers"], after["providers"], strict=True)
        consumers = zip(before["consumers"], after["consumers"], strict=True)
        return ToldReshape(
            resource_class=str(before["resource_class"]),
            providers=tuple(_provider_from(one, other) for one, other in pairs),
            consumers=tuple(_consumer_from(one, other) for one, other in consumers),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _after(change: ConsumerChange) -> Document:
    return after_json(change.before, change.write)


def _provider(change: ProviderChange, inventories: tuple[Inventory, ...] | None) -> Document:
    return {
        "provider_uuid": change.uuid,
        "name": change.name,
        "parent_uuid": change.parent_uuid,
        "inventories": None if inventories is None else [asdict(each) for each in inventories],
    }


def _provider_from(before: Document, after: Document) -> ProviderChange:
    if before["provider_uuid"] != after["provider_uuid"]:
        raise ValueError("another provider after than before")
    return ProviderChange(
        uuid=str(before["provider_uuid"]),
        name=str(before["name"]),
        parent_uuid=before["parent_uuid"],
        before=_inventories(before["inventories"]),
        after=_inventories(after["inventories"]),
    )


def _inventories(rows: list[Document] | None) -> tuple[Inventory, ...] | None:
    return None if rows is None else tuple(Inventory(**row) for row in rows)


def _consumer_from(before: Document, after: Document) -> ToldConsumer:
    record = record_from_json(before["consumer"])
    if record is None or record.consumer_uuid != after["consumer"]["consumer_uuid"]:
        raise ValueError("a consumer that cannot be read, or another one after than before")
    return ToldConsumer(before=record, after=after["consumer"], instance=before["instance"])
