"""Placement's rules for allocations as a pure model: the answer to each write, and the state after it.

Some rules are surprising; each was measured on the real Placement (test_placement_model.py):

- An added allocation and ``PUT {}`` raise a provider's generation. DELETE does not, nor does a PUT raise the generation
  of a provider that it no longer names.
- A consumer disappears with its last allocation.
- A request that names an unknown provider leaves a new consumer behind, empty and with generation 0.
- An amount beyond the capacity is accepted if it is no more than before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Holdings = Mapping[str, Mapping[str, int]]
NOTHING: Holdings = {}
# Classes that the real Placement knows without any client having made them.
CLASSES = frozenset({"VCPU", "MEMORY_MB", "DISK_GB", "PCPU"})
MAX_UNIT = 2**31 - 1


class Answer(NamedTuple):
    """HTTP status and error code ("" without error)."""

    status: int
    code: str = ""

    @property
    def ok(self) -> bool:
        """Whether the write was carried out."""
        return self.status < 300


DONE = Answer(204)
BAD_REQUEST = Answer(400, "placement.undefined_code")
NOT_FOUND = Answer(404, "placement.undefined_code")
NO_ROOM = Answer(409, "placement.undefined_code")
CONFLICT = Answer(409, "placement.concurrent_update")
CLASS_IN_USE = Answer(409, "placement.inventory.inuse")
DUPLICATE = Answer(409, "placement.duplicate_name")
PROVIDER_IN_USE = Answer(409, "placement.resource_provider.inuse")
HAS_CHILDREN = Answer(409, "placement.resource_provider.cannot_delete_parent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """All of a consumer's future allocations. ``generation`` None: it must not exist; ``kind`` None: sent at 1.28."""

    holdings: Holdings
    generation: int | None
    project: str = "p"
    user: str = "u"
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Stock:
    """One inventory."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_UNIT
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> float:
        """The total that all consumers together may use."""
        return (self.total - self.reserved) * self.allocation_ratio

    def fits(self, amount: int) -> bool:
        """Whether one consumer may allocate that amount."""
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0


@dataclass(slots=True)
class Provider:
    """The state of one provider; no write of the model sets ``aggregates``."""

    name: str
    parent: str | None = None
    generation: int = 0
    stocks: dict[str, Stock] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


@dataclass(slots=True)
class Consumer:
    """The state of one consumer; ``holdings``: provider to class to amount."""

    generation: int
    project: str
    user: str
    kind: str | None
    holdings: dict[str, dict[str, int]] = field(default_factory=dict)


class PlacementModel:
    """The state, and the verbs that change it: each answers as the real Placement, and changes all or nothing."""

    def __init__(self) -> None:
        self.providers: dict[str, Provider] = {}
        self.consumers: dict[str, Consumer] = {}
        # Called with the consumers of each write that changes allocations.
        self.wrote: Callable[[Iterable[str]], None] = lambda consumers: None
        # The time in seconds, and when each consumer was last written by the clock of the server that wrote it.
        self.second: Callable[[], int] = lambda: 0
        self.written: dict[str, int] = {}
        self._answers = 0

    def held(self, consumer: str) -> Consumer | None:
        """Return what GET /allocations/{c} shows: None for a consumer without allocations, though it may exist."""
        found = self.consumers.get(consumer)
        return found if found is not None and found.holdings else None

    def put(self, consumer: str, wanted: Wanted) -> Answer:
        """PUT /allocations/{c}."""
        return self._write({consumer: wanted})

    def post(self, wanted: Mapping[str, Wanted]) -> Answer:
        """POST /allocations: all consumers or none."""
        return self._write(wanted)

    def delete(self, consumer: str) -> Answer:
        """DELETE /allocations/{c}: the request needs no generation and raises none."""
        if self.held(consumer) is None:
            return NOT_FOUND
        del self.consumers[consumer]
        self._note((consumer,))
        return DONE

    def server_second(self) -> int:
        """Return the time of the server that answers next: the clocks of Placement's servers differ by some seconds."""
        self._answers += 1
        return self.second() + self._answers * 5 % 7 - 3

    def _note(self, consumers: Iterable[str]) -> None:
        self.written |= dict.fromkeys(consumers, self.server_second())
        self.wrote(consumers)

    def create_provider(self, uuid: str, name: str, parent: str | None = None) -> Answer:
        """POST /resource_providers."""
        if parent is not None and parent not in self.providers:
            return BAD_REQUEST
        if uuid in self.providers or any(p.name == name for p in self.providers.values()):
            return DUPLICATE
        self.providers[uuid] = Provider(name=name, parent=parent)
        return Answer(200)

    def delete_provider(self, uuid: str) -> Answer:
        """DELETE /resource_providers/{uuid}."""
        if uuid not in self.providers:
            return NOT_FOUND
        if any(p.parent == uuid for p in self.providers.values()):
            return HAS_CHILDREN
        if any(uuid in c.holdings for c in self.consumers.values()):
            return PROVIDER_IN_USE
        del self.providers[uuid]
        return DONE

    def put_inventories(self, uuid: str, generation: int, stocks: Mapping[str, Stock]) -> Answer:
        """PUT …/inventories at 1.26: a total below the usage is accepted, but a class in use must stay."""
        provider = self.providers.get(uuid)
        if provider is None:
            return NOT_FOUND
        if provider.generation != generation:
            return CONFLICT
        if any(stock.capacity < 0 for stock in stocks.values()) or not CLASSES.issuperset(stocks):
            return BAD_REQUEST
        gone = provider.stocks.keys() - stocks.keys()
        if any(self.used(uuid, name) for name in gone):
            return CLASS_IN_USE
        provider.stocks = dict(stocks)
        provider.generation += 1
        return Answer(200)

    def put_traits(self, uuid: str, generation: int, traits: frozenset[str]) -> Answer:
        """PUT …/traits: an unchanged set does not raise the generation."""
        provider = self.providers.get(uuid)
        if provider is None:
            return NOT_FOUND
        if provider.generation != generation:
            return CONFLICT
        if provider.traits != traits:
            provider.traits = traits
            provider.generation += 1
        return Answer(200)

    def used(self, provider: str, resource_class: str) -> int:
        """Return the usage of that class on the provider."""
        return sum(c.holdings.get(provider, {}).get(resource_class, 0) for c in self.consumers.values())

    def _write(self, wanted: Mapping[str, Wanted]) -> Answer:
        if any(self._moved(uuid, want) for uuid, want in wanted.items()):
            return CONFLICT
        asked = [(p, name, amount) for want in wanted.values() for p, name, amount in _flat(want.holdings)]
        if any(provider not in self.providers for provider, _, _ in asked):
            # Placement makes the consumers before it looks up the providers, and does not remove them afterwards.
            self._exist(wanted)
            return BAD_REQUEST
        if any(name not in CLASSES for _, name, _ in asked):
            return BAD_REQUEST
        if not all(self._offers(provider, name, amount) for provider, name, amount in asked):
            return NO_ROOM
        if not self._has_room(asked, wanted.keys()):
            return NO_ROOM
        self._exist(wanted)
        self._carry_out(wanted)
        self._note(wanted)
        return DONE

    def _moved(self, consumer: str, wanted: Wanted) -> bool:
        found = self.consumers.get(consumer)
        return wanted.generation != (None if found is None else found.generation)

    def _exist(self, wanted: Mapping[str, Wanted]) -> None:
        for uuid, want in wanted.items():
            if uuid not in self.consumers:
                self.consumers[uuid] = Consumer(generation=0, project=want.project, user=want.user, kind=want.kind)

    def _offers(self, provider: str, resource_class: str, amount: int) -> bool:
        stock = self.providers[provider].stocks.get(resource_class)
        return stock is not None and stock.fits(amount)

    def _has_room(self, asked: Iterable[tuple[str, str, int]], writing: Iterable[str]) -> bool:
        """Return whether the requested amounts fit beside the others, or at least do not increase an excess."""
        sums: dict[tuple[str, str], int] = {}
        for provider, name, amount in asked:
            sums[provider, name] = sums.get((provider, name), 0) + amount
        for (provider, name), amount in sums.items():
            before = self.used(provider, name)
            ours = sum(
                self.consumers[c].holdings.get(provider, {}).get(name, 0) for c in writing if c in self.consumers
            )
            after = before - ours + amount
            if after > self.providers[provider].stocks[name].capacity and after > before:
                return False
        return True

    def _carry_out(self, wanted: Mapping[str, Wanted]) -> None:
        touched: set[str] = set()
        for uuid, want in wanted.items():
            consumer = self.consumers[uuid]
            consumer.project, consumer.user, consumer.kind = want.project, want.user, want.kind or consumer.kind
            # A consumer without holdings is written with its previous providers, so their generations rise.
            named = set(want.holdings or consumer.holdings)
            touched |= named
            consumer.holdings = {p: dict(held) for p, held in want.holdings.items()}
            if named:
                consumer.generation += 1
                if not want.holdings:
                    del self.consumers[uuid]
        for provider in touched:
            self.providers[provider].generation += 1


def _flat(holdings: Holdings) -> Iterable[tuple[str, str, int]]:
    return ((provider, name, amount) for provider, held in holdings.items() for name, amount in held.items())
