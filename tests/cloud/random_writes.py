"""Random writes to a Placement: most are accepted, and every kind of refusal occurs now and then."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from tests.cloud.placement_model import Answer, Consumer, PlacementModel, Stock, Wanted
from tests.rigs.facts import uuid

NAMES = ("VCPU", "MEMORY_MB", "DISK_GB")
PROVIDERS = 4
CONSUMERS = 10


class Verbs(Protocol):
    """The verbs that the model and the real Placement have in common."""

    def held(self, consumer: str) -> Consumer | None: ...
    def put(self, consumer: str, wanted: Wanted) -> Answer: ...
    def post(self, wanted: dict[str, Wanted]) -> Answer: ...
    def delete(self, consumer: str) -> Answer: ...
    def create_provider(self, uuid: str, name: str, parent: str | None = None) -> Answer: ...
    def delete_provider(self, uuid: str) -> Answer: ...
    def put_inventories(self, uuid: str, generation: int, stocks: dict[str, Stock]) -> Answer: ...


Write = Callable[[Verbs], Answer]


class Writes:
    """Draws one write after the other, based on the model's state so that the draws make sense."""

    def __init__(self, model: PlacementModel, seed: int, name: str) -> None:
        self._model = model
        self._dice = random.Random(seed)
        self.providers = tuple(uuid(f"{name}-provider-{n}") for n in range(PROVIDERS))
        self.consumers = tuple(uuid(f"{name}-consumer-{n}") for n in range(CONSUMERS))

    def draw(self) -> tuple[str, Write]:
        """Return a description of the write for a failing test, and the write."""
        kinds = (self._put, self._post, self._delete, self._stock, self._make, self._drop)
        return self._dice.choices(kinds, weights=(15, 6, 3, 3, 1, 1))[0]()

    def _put(self) -> tuple[str, Write]:
        consumer = self._dice.choice(self.consumers)
        wanted = self._wanted(consumer, self._dice.choice((None, None, None, "INSTANCE", "MIGRATION")))
        return f"put {consumer} {wanted}", lambda where: where.put(consumer, wanted)

    def _post(self) -> tuple[str, Write]:
        chosen = self._dice.sample(self.consumers, self._dice.choice((1, 2, 2, 2, 3)))
        kind = self._dice.choice((None, None, "INSTANCE"))
        wanted = {consumer: self._wanted(consumer, kind) for consumer in chosen}
        if len(chosen) == 2 and self._dice.random() < 0.5:
            wanted = self._move(*chosen)
        return f"post {wanted}", lambda where: where.post(wanted)

    def _move(self, source: str, target: str) -> dict[str, Wanted]:
        """Return the writes with which nova moves all allocations of one consumer to another."""
        held = self._model.held(source)
        holdings = {p: dict(amounts) for p, amounts in held.holdings.items()} if held else {}
        return {
            source: Wanted(holdings={}, generation=self._generation(source)),
            target: Wanted(holdings=holdings, generation=self._generation(target)),
        }

    def _delete(self) -> tuple[str, Write]:
        consumer = self._dice.choice(self.consumers)
        return f"delete {consumer}", lambda where: where.delete(consumer)

    def _stock(self) -> tuple[str, Write]:
        provider = self._dice.choice(self.providers)
        found = self._model.providers.get(provider)
        generation = (found.generation if found else 0) - self._dice.choice((0, 0, 0, 0, 0, 1))
        names = self._dice.sample(NAMES, self._dice.choice((1, 2, 3, 3, 3)))
        stocks = {name: self._one_stock() for name in names}
        return f"stock {provider} {generation} {stocks}", lambda where: where.put_inventories(
            provider, generation, stocks
        )

    def _one_stock(self) -> Stock:
        total = self._dice.choice((4, 16, 40))
        return Stock(
            total=total,
            reserved=self._dice.choice((0, 0, 0, 1, 4, 5)),
            min_unit=self._dice.choice((1, 1, 1, 2)),
            max_unit=self._dice.choice((total, total, 8)),
            step_size=self._dice.choice((1, 1, 1, 2)),
            allocation_ratio=self._dice.choice((1.0, 1.0, 1.5, 4.0)),
        )

    def _make(self) -> tuple[str, Write]:
        provider = self._dice.choice(self.providers)
        name = provider if self._dice.random() < 0.8 else self.providers[0]
        parent = self._dice.choice((None, None, *self.providers))
        parent = None if parent == provider else parent
        return f"make {provider} {name} {parent}", lambda where: where.create_provider(provider, name, parent)

    def _drop(self) -> tuple[str, Write]:
        provider = self._dice.choice(self.providers)
        return f"drop {provider}", lambda where: where.delete_provider(provider)

    def _wanted(self, consumer: str, kind: str | None) -> Wanted:
        among = [*self._model.providers, *self.providers[: self._dice.choice((0, 0, 0, 1))]]
        chosen = self._dice.sample(among, min(len(among), self._dice.choice((0, 1, 1, 1, 2))))
        return Wanted(
            holdings={provider: self._amounts(provider) for provider in chosen},
            generation=self._generation(consumer),
            project=self._dice.choice(("p", "p", "q")),
            user=self._dice.choice(("u", "u", "v")),
            kind=kind,
        )

    def _amounts(self, provider: str) -> dict[str, int]:
        found = self._model.providers.get(provider)
        offered = sorted(found.stocks) if found and found.stocks and self._dice.random() < 0.9 else list(NAMES)
        names = self._dice.sample(offered, self._dice.randint(1, len(offered)))
        if self._dice.random() < 0.03:
            names = [*names, "CUSTOM_THAT_NOBODY_MADE"]
        return {name: self._dice.choice((1, 1, 2, 2, 4, 6, 12)) for name in names}

    def _generation(self, consumer: str) -> int | None:
        found = self._model.consumers.get(consumer)
        if self._dice.random() < 0.1:
            return self._dice.choice((None, 0, 1, 2))
        return None if found is None else found.generation
