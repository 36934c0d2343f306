"""Convert a reshape to the journal's JSON and back.

The JSON has the whole inventory of each provider and the allocations of each consumer. The state before the reshape and
the state after the reshape have the same keys. So an undo can itself be undone in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from agent.healing.consumer_json import after_json, record_from_json, record_json
from agent.model.heal import ProviderChange, Reshaping
from agent.model.placement import ConsumerRecord, Inventory

KIND = "reshape"

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalledConsumer:
    """A consumer that a reshape moved.

    ``before`` is the consumer's record before the reshape. ``after`` is the planned record, as JSON. ``instance`` says
    where the consumer's instance was before the reshape, None if that was not known.
    """

    before: ConsumerRecord
    after: Document
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalledReshape:
    """A reshape, read from a journal entry."""

    resource_class: str
    providers: tuple[ProviderChange, ...]
    consumers: tuple[JournalledConsumer, ...]


def before_json(reshaping: Reshaping, where: Callable[[str], str | None]) -> Document:
    """Return the state before the reshape as JSON; ``where`` returns where a consumer's instance is."""
    return {
        "resource_class": reshaping.resource_class,
        "providers": [_provider(each, each.before) for each in reshaping.providers],
        "consumers": [
            {"consumer": record_json(each.before), "instance": where(each.before.consumer_uuid)}
            for each in reshaping.changes
        ],
    }


def after_document(reshaping: Reshaping) -> Document:
    """Return the planned state after the reshape as JSON."""
    return {
        "resource_class": reshaping.resource_class,
        "providers": [_provider(each, each.after) for each in reshaping.providers],
        "consumers": [{"consumer": after_json(each.before, each.write)} for each in reshaping.changes],
    }


def reshape_from(before: Any, after: Any) -> JournalledReshape | None:  # noqa: ANN401 - JSON may be anything
    """Return the reshape from a journal entry's ``before`` and ``after``; None if one of the two is incomplete."""
    try:
        pairs = zip(before["providers"], after["providers"], strict=True)
        consumers = zip(before["consumers"], after["consumers"], strict=True)
        return JournalledReshape(
            resource_class=str(before["resource_class"]),
            providers=tuple(_provider_from(one, other) for one, other in pairs),
            consumers=tuple(_consumer_from(one, other) for one, other in consumers),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _provider(change: ProviderChange, inventories: tuple[Inventory, ...] | None) -> Document:
    return {
        "provider_uuid": change.uuid,
        "name": change.name,
        "parent_uuid": change.parent_uuid,
        "inventories": None if inventories is None else [asdict(each) for each in inventories],
    }


def _provider_from(before: Document, after: Document) -> ProviderChange:
    if before["provider_uuid"] != after["provider_uuid"]:
        raise ValueError("the journal entry has one provider before the change, and another provider afterwards")
    return ProviderChange(
        uuid=str(before["provider_uuid"]),
        name=str(before["name"]),
        parent_uuid=before["parent_uuid"],
        before=_inventories(before["inventories"]),
        after=_inventories(after["inventories"]),
    )


def _inventories(rows: list[Document] | None) -> tuple[Inventory, ...] | None:
    return None if rows is None else tuple(Inventory(**row) for row in rows)


def _consumer_from(before: Document, after: Document) -> JournalledConsumer:
    record = record_from_json(before["consumer"])
    if record is None or record.consumer_uuid != after["consumer"]["consumer_uuid"]:
        raise ValueError("the journal entry has an unreadable consumer, or two different consumers for one change")
    return JournalledConsumer(before=record, after=after["consumer"], instance=before["instance"])
