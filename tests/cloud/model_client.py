"""A PlacementClient over the model: the paths that the reader and heal request, in Placement's JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from agent.model.placement import Written
from agent.placement.http.answers import Reply, refusal
from agent.placement.wire import Microversion
from tests.cloud.placement_model import NOT_FOUND, Answer, PlacementModel, Stock, Wanted
from tests.rigs import facts


class ModelClient:
    """The part of agent.placement.http.client's interface that these tests use."""

    def __init__(self, model: PlacementModel) -> None:
        self.requests = 0
        self._model = model

    def maximum(self) -> Microversion:
        """Return the real Placement's maximum."""
        return Microversion(1, 39)

    def forget(self) -> None:
        """Do nothing: the model has only one version."""

    @contextlib.contextmanager
    def global_request_id(self, request_id: str | None = None) -> Iterator[str]:
        """Yield the id; the model's requests carry none."""
        yield request_id or ""

    def get(self, path: str, microversion: Microversion, parse: Callable[[object], Any], *_bound: Any) -> Any:
        """GET."""
        self.requests += 1
        return parse(self._body(path))

    def get_dated(self, path: str, microversion: Microversion, parse: Callable[[object, Written | None], Any]) -> Any:
        """GET of a consumer."""
        self.requests += 1
        at = self._model.written.get(path.removeprefix("/allocations/"))
        age_s = None if at is None else self._model.server_second() - at
        return parse(self._body(path), None if age_s is None else Written(str(at), age_s))

    def put(
        self, path: str, microversion: Microversion, body: Mapping[str, Any] | None, parse: Callable[[object], Any]
    ) -> Any:
        """PUT allocations, inventories or traits; PUT of a name succeeds, because the model knows all names."""
        self.requests += 1
        if path.startswith("/allocations/") and body is not None:
            answer = self._model.put(path.removeprefix("/allocations/"), _wanted(body))
        elif path.startswith("/resource_providers/") and body is not None:
            answer = self._put_part(*path.removeprefix("/resource_providers/").split("/"), body)
        else:
            answer = Answer(204)
        if not answer.ok:
            raise _refused(f"PUT {path}", answer)
        return parse(None if answer.status == 204 else self._body(path))

    def post(
        self, path: str, microversion: Microversion, body: Mapping[str, Any], parse: Callable[[object], Any]
    ) -> Any:
        """POST /resource_providers."""
        self.requests += 1
        answer = self._model.create_provider(body["uuid"], body["name"], body.get("parent_provider_uuid"))
        if not answer.ok:
            raise _refused(f"POST {path}", answer)
        return parse(self._listed(lambda uuid: uuid == body["uuid"])["resource_providers"][0])

    def _put_part(self, uuid: str, part: str, body: Mapping[str, Any]) -> Answer:
        if part == "inventories":
            stocks = {name: Stock(**record) for name, record in body["inventories"].items()}
            return self._model.put_inventories(uuid, body["resource_provider_generation"], stocks)
        assert part == "traits", part
        return self._model.put_traits(uuid, body["resource_provider_generation"], frozenset(body["traits"]))

    def _body(self, path: str) -> Any:
        if path == "/traits":
            return {"traits": sorted(facts.usual_traits())}
        if path.startswith("/allocations/"):
            return self._consumer(path.removeprefix("/allocations/"))
        if path.startswith("/resource_providers?in_tree="):
            return self._listed(lambda uuid: uuid == unquote(path.partition("=")[2]))
        if path.startswith("/resource_providers?name="):
            return self._listed(lambda uuid: self._model.providers[uuid].name == unquote(path.partition("=")[2]))
        uuid, part = path.removeprefix("/resource_providers/").split("/")
        if uuid not in self._model.providers:
            raise _refused(f"GET {path}", NOT_FOUND)
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
        if part == "usages":
            return {"usages": {name: self._model.used(uuid, name) for name in provider.stocks}}
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


def _wanted(body: Mapping[str, Any]) -> Wanted:
    return Wanted(
        holdings={provider: held["resources"] for provider, held in body["allocations"].items()},
        generation=body["consumer_generation"],
        project=body["project_id"],
        user=body["user_id"],
        kind=body.get("consumer_type"),
    )


def _refused(request: str, answer: Answer) -> Exception:
    # The model has no concurrent writers, so a write of allocations never conflicts with a provider, only with a
    # consumer.
    detail = "consumer generation conflict" if "/allocations/" in request else "as the model says"
    error = {"status": answer.status, "code": answer.code, "detail": detail}
    text = json.dumps({"errors": [error]})
    return refusal(Reply(request=request, status=answer.status, text=text, request_id=None))
