"""PlacementClient over the model: the paths that the reader and heal ask for, in the wire's own JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from agent.placement.answers import Reply, refusal
from agent.placement.wire import Microversion
from tests.cloud.placement_model import PlacementModel, Wanted


class ModelClient:
    """What agent.placement.client offers, as far as it is used here."""

    def __init__(self, model: PlacementModel) -> None:
        self.requests = 0
        self._model = model

    def maximum(self) -> Microversion:
        """The real one's."""
        return Microversion(1, 39)

    @contextlib.contextmanager
    def global_request_id(self, request_id: str | None = None) -> Iterator[str]:
        """No request has an id here."""
        yield request_id or ""

    def get(self, path: str, microversion: Microversion, parse: Callable[[object], Any]) -> Any:
        """GET."""
        self.requests += 1
        return parse(self._body(path))

    def put(
        self, path: str, microversion: Microversion, body: Mapping[str, Any], parse: Callable[[object], Any]
    ) -> Any:
        """PUT /allocations/{c}; nothing else is ever put here."""
        self.requests += 1
        consumer = path.removeprefix("/allocations/")
        wanted = Wanted(
            holdings={p: held["resources"] for p, held in body["allocations"].items()},
            generation=body["consumer_generation"],
            project=body["project_id"],
            user=body["user_id"],
            kind=body.get("consumer_type"),
        )
        answer = self._model.put(consumer, wanted)
        if not answer.ok:
            raise _refused(f"PUT {path}", answer.status, answer.code)
        return parse(None)

    def _body(self, path: str) -> Any:
        if path.startswith("/allocations/"):
            return self._consumer(path.removeprefix("/allocations/"))
        if path.startswith("/resource_providers?in_tree="):
            return self._listed(lambda uuid: uuid == unquote(path.partition("=")[2]))
        if path.startswith("/resource_providers?name="):
            return self._listed(lambda uuid: self._model.providers[uuid].name == unquote(path.partition("=")[2]))
        uuid, part = path.removeprefix("/resource_providers/").split("/")
        if uuid not in self._model.providers:
            raise _refused(f"GET {path}", 404, "placement.undefined_code")
        return {"resource_provider_generation": self._model.providers[uuid].generation} | self._part(uuid, part)

    def _part(self, uuid: str, part: str) -> dict[str, Any]:
        provider = self._model.providers[uuid]
        if part == "allocations":
            held = {
                consumer: {"resources": found.holdings[uuid], "consumer_generation": found.generation}
                for consumer, found in self._model.consumers.items()
                if uuid in found.holdings
            }
            return {"allocations": held}
        if part == "inventories":
            slots = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
            records = {name: {key: getattr(stock, key) for key in slots} for name, stock in provider.stocks.items()}
            return {"inventories": records}
        return {part: sorted(provider.traits if part == "traits" else provider.aggregates)}

    def _listed(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        return {
            "resource_providers": [
                {"uuid": uuid, "name": p.name, "generation": p.generation, "parent_provider_uuid": p.parent}
                for uuid, p in self._model.providers.items()
                if wanted(uuid)
            ]
        }

    def _consumer(self, uuid: str) -> dict[str, Any]:
        found = self._model.held(uuid)
        if found is None:
            return {"allocations": {}}
        return {
            "allocations": {p: {"resources": held, "generation": 0} for p, held in found.holdings.items()},
            "consumer_generation": found.generation,
            "project_id": found.project,
            "user_id": found.user,
            "consumer_type": found.kind or "unknown",
        }


def _refused(request: str, status: int, code: str) -> Exception:
    text = f'{{"errors": [{{"status": {status}, "code": "{code}", "detail": "as the model says"}}]}}'
    return refusal(Reply(request=request, status=status, text=text, request_id=None))
