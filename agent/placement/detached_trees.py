"""Read the agent's own providers outside this host's tree: separate roots, and providers moved out of the tree.

Placement's list of the providers in this host's tree does not contain these providers. For example, a sharing provider
is in none of the trees that it serves. Without this read, each audit would try to create these providers again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from agent.model.placement import DetachedTree, PlacementView
from agent.placement.http.client import PlacementClient
from agent.placement.reader import TreeReader
from agent.ports import ViewRequest


class BesideReader:
    """Reads trees outside this host's tree, with a cache for each tree. Not thread-safe."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._readers: dict[str, TreeReader] = {}

    def read(self, view: PlacementView, uuids: Iterable[str]) -> PlacementView:
        """Return ``view`` with the agent's own providers that are outside this host's tree, in the field ``beside``.

        ``uuids`` are the agent's own providers. For each provider that ``view`` lacks, ``beside`` has one tree. All
        allocations are read from Placement, none from the cache. Raises PlacementError, or GenerationConflict if two
        reads of a tree fail because providers were deleted.
        """
        missing = sorted(frozenset(uuids) - {provider.uuid for provider in view.providers})
        self._readers = {uuid: self._readers.get(uuid) or TreeReader(self._client) for uuid in missing}
        with self._client.global_request_id():
            request = partial(ViewRequest, root_name="", fresh_allocations=True, consumer_reads=0)
            trees = {uuid: self._readers[uuid].view(request(root_uuid=uuid)) for uuid in missing}
        return replace(
            view,
            beside=tuple(
                DetachedTree(uuid=uuid, providers=tree.providers, allocations=tree.allocations)
                for uuid, tree in trees.items()
            ),
            requests=view.requests + sum(tree.requests for tree in trees.values()),
        )
