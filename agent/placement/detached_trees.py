"""Look at providers of ours that stand outside our tree: those that are roots of their own, and those taken out of it.

The list of our tree does not show them, so a plan that was made without this look would make them
again and again. A provider that shares through an aggregate is one: it serves several trees
and is part of none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agent.model.placement import PlacementView, TreeBeside
from agent.placement.http.client import PlacementClient
from agent.placement.reader import TreeReader
from agent.ports import ViewRequest


class BesideReader:
    """Reads trees beside ours, each from its own last look on. For one thread."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._readers: dict[str, TreeReader] = {}

    def read(self, view: PlacementView, uuids: Iterable[str]) -> PlacementView:
        """``view`` with the trees of those of ``uuids`` that it does not show, allocations read now.

        Raises PlacementError; GenerationConflict when providers vanished while they were read, twice.
        """
        missing = sorted(frozenset(uuids) - {provider.uuid for provider in view.providers})
        self._readers = {uuid: self._readers.get(uuid) or TreeReader(self._client) for uuid in missing}
        with self._client.global_request_id():
            looks = [(uuid, self._readers[uuid].view(_asked(uuid))) for uuid in missing]
        return replace(
            view,
            beside=tuple(
                TreeBeside(uuid=uuid, providers=look.providers, allocations=look.allocations) for uuid, look in looks
            ),
            requests=view.requests + sum(look.requests for _, look in looks),
        )


def _asked(uuid: str) -> ViewRequest:
    return ViewRequest(root_uuid=uuid, root_name="", fresh_allocations=True, consumer_reads=0)
