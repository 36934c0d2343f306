"""The verbs of the model on a real Placement: statuses, codes and state as the real Placement returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.cloud.placement_model import Answer, Consumer, Provider, Stock, Wanted
from tests.rigs.placement import Rest


class RealPlacement:
    """A client that uses nova's microversion (1.28), and 1.38 if a consumer type is set."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    def held(self, consumer: str) -> Consumer | None:
        """GET /allocations/{c}."""
        found = self._rest.done("GET", f"/allocations/{consumer}", version="1.38")
        if not found["allocations"]:
            return None
        holdings = {provider: dict(held["resources"]) for provider, held in found["allocations"].items()}
        kind = None if found["consumer_type"] == "unknown" else found["consumer_type"]
        return Consumer(found["consumer_generation"], found["project_id"], found["user_id"], kind, holdings)

    def put(self, consumer: str, wanted: Wanted) -> Answer:
        """PUT /allocations/{c}."""
        return self._ask("PUT", f"/allocations/{consumer}", _document(wanted), _version(wanted))

    def post(self, wanted: Mapping[str, Wanted]) -> Answer:
        """POST /allocations; either all or none of the consumers have a type."""
        documents = {uuid: _document(want) for uuid, want in wanted.items()}
        return self._ask("POST", "/allocations", documents, max(_version(want) for want in wanted.values()))

    def delete(self, consumer: str) -> Answer:
        """DELETE /allocations/{c}."""
        return self._ask("DELETE", f"/allocations/{consumer}")

    def create_provider(self, uuid: str, name: str, parent: str | None = None) -> Answer:
        """POST /resource_providers."""
        body = {"uuid": uuid, "name": name} | ({"parent_provider_uuid": parent} if parent else {})
        return self._ask("POST", "/resource_providers", body)

    def delete_provider(self, uuid: str) -> Answer:
        """DELETE /resource_providers/{uuid}."""
        return self._ask("DELETE", f"/resource_providers/{uuid}")

    def put_inventories(self, uuid: str, generation: int, stocks: Mapping[str, Stock]) -> Answer:
        """PUT …/inventories."""
        records = {name: {key: getattr(stock, key) for key in Stock.__slots__} for name, stock in stocks.items()}
        body = {"resource_provider_generation": generation, "inventories": records}
        return self._ask("PUT", f"/resource_providers/{uuid}/inventories", body)

    def provider(self, uuid: str) -> Provider:
        """Return the provider's state without its traits and aggregates."""
        shown = self._rest.done("GET", f"/resource_providers/{uuid}")
        stocks = {name: Stock(**record) for name, record in self._rest.inventories(uuid).items()}
        return Provider(shown["name"], shown["parent_provider_uuid"], shown["generation"], stocks)

    def holders(self, uuid: str) -> dict[str, tuple[int, dict[str, int]]]:
        """Return the provider's consumers: generation, and amounts by class there."""
        found = self._rest.done("GET", f"/resource_providers/{uuid}/allocations", version="1.28")["allocations"]
        return {c: (shown["consumer_generation"], shown["resources"]) for c, shown in found.items()}

    def _ask(self, method: str, path: str, body: object = None, version: str = "1.36") -> Answer:
        answer = self._rest.request(method, path, body, version)
        if answer.status_code < 300:
            return Answer(answer.status_code)
        return Answer(answer.status_code, answer.json()["errors"][0]["code"])


def _version(wanted: Wanted) -> str:
    return "1.28" if wanted.kind is None else "1.38"


def _document(wanted: Wanted) -> dict[str, Any]:
    return {
        "allocations": {provider: {"resources": dict(held)} for provider, held in wanted.holdings.items()},
        "project_id": wanted.project,
        "user_id": wanted.user,
        "consumer_generation": wanted.generation,
    } | ({} if wanted.kind is None else {"consumer_type": wanted.kind})
