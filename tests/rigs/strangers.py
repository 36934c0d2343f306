"""Another client of Placement that writes to a forest of providers and keeps a book of all changes that must last.

The client also changes data that the agent owns, without an entry in the book: classes, traits, aggregates and parents
of the agent's providers. The agent must correct those. Before each write the client reads the current generation, as a
well-behaved client does. It works through ``Rest``, which shares no code with the agent's client.
"""

from __future__ import annotations

import random
import uuid as uuids
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.rigs.placement import Rest

OUR_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_OURS")
THEIR_CLASSES = ("CUSTOM_THEIRS", "NET_BW_EGR_KILOBIT_PER_SEC")
SHARES = "MISC_SHARES_VIA_AGGREGATE"
OUR_TRAITS = ("CUSTOM_OWNER_STOCKTAKE", "HW_CPU_X86_AVX", "COMPUTE_NODE", "OWNER_NOVA", SHARES)
THEIR_TRAITS = ("CUSTOM_RACK_7", "HW_CPU_X86_SSE")

Record = dict[str, Any]


@dataclass
class Book:
    """The data of one provider that must last, and its parent.

    On the agent's providers this is the data that the agent does not own; on strangers' providers it is everything.
    """

    name: str
    parent: str | None = None
    classes: dict[str, Record] = field(default_factory=dict)
    traits: set[str] = field(default_factory=set)
    aggregates: set[str] = field(default_factory=set)


@dataclass
class Stranger:
    """One stranger per case. ``ours``: the agent's providers, made or not; ``our_aggregates``: the agent's aggregates.

    ``taken_names``: names that the stranger may take before the agent does. ``near``: the provider that it changes
    most. ``holdings``: consumer to provider to class to amount.
    """

    rest: Rest
    dice: random.Random
    ours: frozenset[str] = frozenset()
    obsolete: frozenset[str] = frozenset()
    our_aggregates: frozenset[str] = frozenset()
    taken_names: tuple[str, ...] = ()
    near: str | None = None
    books: dict[str, Book] = field(default_factory=dict)
    holdings: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    def make(self, one: str, name: str, parent: str | None) -> None:
        """Make a provider with random classes, traits and aggregates."""
        self.rest.make_provider(name=name, uuid=one, parent=parent)
        self.books[one] = Book(name=name, parent=parent)
        classes = {name: self._record() for name in self._some((*OUR_CLASSES, *THEIR_CLASSES), 4)}
        traits = self._some((*OUR_TRAITS, *THEIR_TRAITS), 4)
        aggregates = self._some((*sorted(self.our_aggregates), self.new_uuid()), 2)
        written = {"inventories": classes, "traits": traits, "aggregates": aggregates}
        for generation, (part, what) in enumerate((part, what) for part, what in written.items() if what):
            body = {"resource_provider_generation": generation, part: what}
            self.rest.done("PUT", f"/resource_providers/{one}/{part}", body)
        self._note_classes(one, {}, classes)
        self._note_traits(one, set(traits))
        self._note_aggregates(one, set(aggregates))

    def new_uuid(self) -> str:
        """Return a uuid drawn from the case's dice, so that it is the same in each run."""
        return str(uuids.UUID(int=self.dice.getrandbits(128), version=4))

    def register(self) -> None:
        """Make the custom classes and traits that the stranger writes."""
        for name in (*OUR_CLASSES, *THEIR_CLASSES):
            if name.startswith("CUSTOM_"):
                self.rest.done("PUT", f"/resource_classes/{name}")
        for name in (*OUR_TRAITS, *THEIR_TRAITS):
            if name.startswith("CUSTOM_"):
                self.rest.done("PUT", f"/traits/{name}")

    def act(self, may_rename_ours: bool) -> None:
        """Do one random change; do nothing if the chosen change is impossible."""
        kinds = (self.class_, self.trait, self.aggregate, self.take, self.take, self.leave, self.come, self.go)
        kinds += (self.carry_off, self.rename, self.remove_ours, self.spoil_class, self.spoil_traits)
        parents = self.parents()
        kind = self.dice.choice(kinds)
        if parents and (may_rename_ours or kind not in (self.rename, self.carry_off)) and kind(parents):
            self.done[kind.__name__] += 1

    def parents(self) -> dict[str, str | None]:
        """Return every existing provider with its parent; drop the books of providers that the agent has deleted."""
        found: dict[str, str | None] = {}
        for one in sorted({*self.books, *self.ours}):
            if one in found:
                continue
            tree = self.rest.done("GET", f"/resource_providers?in_tree={one}")["resource_providers"]
            found |= {provider["uuid"]: provider["parent_provider_uuid"] for provider in tree}
            for provider in tree:
                self.books.setdefault(provider["uuid"], Book(name=name_of(provider["uuid"])))
            if not tree and one in self.books:
                assert one in self.obsolete, f"provider {one} was to stay, and is gone"
                del self.books[one]
        return found

    def class_(self, parents: dict[str, str | None]) -> bool:
        one, name = self._one(parents), self.dice.choice(THEIR_CLASSES)
        after = self.rest.inventories(one)
        if after.pop(name, None) is None or self.holders(one, name):
            after[name] = self._record()
        self.set_classes(one, after)
        return True

    def trait(self, parents: dict[str, str | None]) -> bool:
        one = self._one(parents)
        self.set_traits(one, self.rest.traits(one) ^ {self.dice.choice(THEIR_TRAITS)})
        return True

    def aggregate(self, parents: dict[str, str | None]) -> bool:
        one = self._one(parents)
        standing = self.rest.aggregates(one)
        gone = set(self.dice.sample(sorted(standing), min(1, len(standing))))
        self.set_aggregates(one, (standing - gone) | {self.new_uuid()})
        return True

    def take(self, parents: dict[str, str | None]) -> bool:
        """Make a new consumer's allocation, if there is room."""
        one, consumer = self._one(parents), self.new_uuid()
        offered = self.rest.inventories(one)
        if not offered:
            return False
        held = {one: {self.dice.choice(sorted(offered)): 1}}
        body = {
            "allocations": {one: {"resources": held[one]}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
        }
        if not self.rest.request("PUT", f"/allocations/{consumer}", body, "1.28").ok:
            return False
        self.holdings[consumer] = held
        return True

    def leave(self, _parents: dict[str, str | None]) -> bool:
        """Remove a consumer by DELETE or by an empty PUT: only one of the two raises the provider's generation."""
        if not self.holdings:
            return False
        consumer = self.dice.choice(sorted(self.holdings))
        if self.dice.random() < 0.5:
            self.rest.release(consumer)
        else:
            self.rest.allocate({}, consumer)
        del self.holdings[consumer]
        return True

    def come(self, parents: dict[str, str | None]) -> bool:
        one = self.new_uuid()
        name = self.dice.choice(self.taken_names) if self.taken_names and self.dice.random() < 0.3 else f"their-{one}"
        if self.rest.done("GET", f"/resource_providers?name={name}")["resource_providers"]:
            return False
        self.make(one, name, self.dice.choice((*sorted(parents), None)))
        return True

    def go(self, parents: dict[str, str | None]) -> bool:
        return self._remove([one for one in parents if one not in self.ours], parents)

    def remove_ours(self, parents: dict[str, str | None]) -> bool:
        return self._remove([one for one in parents if one in self.ours], parents)

    def _remove(self, candidates: list[str], parents: dict[str, str | None]) -> bool:
        leaves = sorted(one for one in candidates if one not in parents.values() and not self.holders(one))
        if not leaves:
            return False
        one = self.dice.choice(leaves)
        self.rest.delete_provider(one)
        del self.books[one]
        return True

    def rename(self, parents: dict[str, str | None]) -> bool:
        one = self._one(parents)
        self.books[one].name = f"renamed-{self.new_uuid()}"
        self.rest.done("PUT", f"/resource_providers/{one}", {"name": self.books[one].name})
        return True

    def carry_off(self, parents: dict[str, str | None]) -> bool:
        """Move a provider below another provider, or make it a root."""
        one = self._one(parents)
        places = [place for place in sorted(parents) if not stands_below(place, one, parents)]
        parent = self.dice.choice((*places, None))
        body = {"name": self.books[one].name, "parent_provider_uuid": parent}
        self.rest.done("PUT", f"/resource_providers/{one}", body, "1.37")
        self.books[one].parent = parent
        return True

    def spoil_class(self, parents: dict[str, str | None]) -> bool:
        one, name = self._one(parents), self.dice.choice(OUR_CLASSES)
        self.set_classes(one, self.rest.inventories(one) | {name: self._record()})
        return True

    def spoil_traits(self, parents: dict[str, str | None]) -> bool:
        one = self._one(parents)
        self.set_traits(one, self.rest.traits(one) ^ {self.dice.choice(OUR_TRAITS)})
        return True

    def holders(self, one: str, name: str | None = None) -> list[str]:
        """Return the consumers with an allocation on the provider, or on that class of it."""
        return [
            consumer for consumer, held in self.holdings.items() if one in held and (name is None or name in held[one])
        ]

    def set_classes(self, one: str, after: dict[str, Record]) -> None:
        """Replace the inventory; enter changes of data that the agent does not own into the book."""
        before = self.rest.inventories(one)
        self._note_classes(one, before, after)
        if after != before:
            self.rest.set_inventories(one, after)

    def set_traits(self, one: str, after: set[str]) -> None:
        """Replace the traits, as ``set_classes`` does."""
        changed = after ^ self.rest.traits(one)
        self._note_traits(one, changed)
        if changed:
            self._put(one, "traits", sorted(after))

    def set_aggregates(self, one: str, after: set[str]) -> None:
        """Replace the aggregates, as ``set_classes`` does."""
        changed = after ^ self.rest.aggregates(one)
        self._note_aggregates(one, changed)
        if changed:
            self._put(one, "aggregates", sorted(after))

    def _note_classes(self, one: str, before: dict[str, Record], after: dict[str, Record]) -> None:
        book = self.books[one].classes
        for name in {*before, *after} - set(OUR_CLASSES if one in self.ours else ()):
            if name not in after:
                book.pop(name, None)
            elif before.get(name) != after[name]:
                book[name] = after[name]

    def _note_traits(self, one: str, changed: set[str]) -> None:
        self.books[one].traits ^= changed - set(OUR_TRAITS if one in self.ours else ())

    def _note_aggregates(self, one: str, changed: set[str]) -> None:
        self.books[one].aggregates ^= changed - (self.our_aggregates if one in self.ours else frozenset())

    def _put(self, one: str, part: str, after: list[str]) -> None:
        body = {"resource_provider_generation": self.rest.generation(one), part: after}
        self.rest.done("PUT", f"/resource_providers/{one}/{part}", body)

    def _one(self, parents: dict[str, str | None]) -> str:
        return self.near if self.near in parents and self.dice.random() < 0.6 else self.dice.choice(sorted(parents))

    def _some(self, pool: tuple[str, ...], at_most: int) -> list[str]:
        return self.dice.sample(pool, self.dice.randint(0, min(at_most, len(pool))))

    def _record(self) -> Record:
        total = self.dice.randint(4, 40)
        return {
            "total": total,
            "reserved": self.dice.choice((0, 0, 1)),
            "min_unit": 1,
            "max_unit": self.dice.choice((total, 2**31 - 1)),
            "step_size": 1,
            "allocation_ratio": self.dice.choice((1.0, 1.5, 16.0)),
        }


def name_of(one: str) -> str:
    """Return the name with which the agent's provider is made."""
    return f"name-{one}"


def stands_below(one: str, other: str, parents: dict[str, str | None]) -> bool:
    """Return whether ``other`` is an ancestor of ``one``, or the same provider."""
    at: str | None = one
    while at is not None and at != other:
        at = parents.get(at)
    return at is not None
