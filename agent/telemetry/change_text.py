"""Describe in words the state before or after a change, from the JSON of the change's journal entry. Pure: no I/O."""

from __future__ import annotations

import json
from typing import Any

from agent.text.amounts import with_class


def state_text(document: Any) -> str:  # noqa: ANN401 - the journal's JSON depends on the kind of the change
    """Return the allocations in the journal entry's ``document`` as text; its JSON if the document has no consumer."""
    if isinstance(document, dict) and "consumer" in document:
        return _allocations(document["consumer"])
    if isinstance(document, dict) and "consumers" in document:
        return "; ".join(_allocations(each["consumer"]) for each in document["consumers"])
    return json.dumps(document, sort_keys=True)


def _allocations(consumer: Any) -> str:  # noqa: ANN401 - as above
    providers: dict[str, list[str]] = {}
    for row in consumer["allocations"]:
        amount = with_class(row["resource_class"], row["amount"])
        providers.setdefault(row["provider_uuid"], []).append(amount)
    return "; ".join(f"{', '.join(amounts)} on {uuid}" for uuid, amounts in providers.items()) or "no allocation"
