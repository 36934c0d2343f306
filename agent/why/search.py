"""Choose one provider for each slot of a request, so that the choice respects the rules about several slots together.

A slot is a granular group, or one class of the unnumbered group. There are four rules: each provider has enough for the
sum of its slots; the providers of the unnumbered group together have the required traits; the choice respects
group_policy; the choice respects same_subtree.

The problem is bin packing, so the number of steps is limited; at MAX_STEPS the result is UNDECIDED. The search starts
with the slot that has the fewest possible providers, and skips each choice that is equivalent to an earlier choice.
Pure: no I/O.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.model.ancestry import ancestors
from agent.model.resource_request import OfferedProvider
from agent.why.candidates import Slot

# The maximum number of steps of one search, about 30 ms (13 to 18 µs per step, measured). A step tries one provider for
# one slot (a part of the request). Requests of a real cloud need about one step for each slot.
MAX_STEPS = 1_500


class Rule(enum.Enum):
    """The rules that the groups of a request must respect together. ``stocktake why`` reports them in this order."""

    SUMS = "sums"
    TRAITS = "traits"
    ISOLATE = "isolate"
    SAME_SUBTREE = "same-subtree"


class SearchResult(enum.Enum):
    """Whether a choice of providers exists; UNDECIDED if the search reached MAX_STEPS."""

    FITS = "fits"
    REFUSED = "refused"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The slots of a request in one tree, and the rules that the slots must respect together.

    A slot is a part of the request that one provider must serve: a granular group, or one class of the unnumbered
    group.
    ``required``: sets of traits. For each set, some provider of the unnumbered group must have one of the set's traits.
    ``same_subtree``: sets of group suffixes. Among the providers of the groups in a set, one provider must be an
    ancestor of all others.
    ``parent_of`` maps the uuid of each offered provider to the uuid of its parent.
    """

    slots: tuple[Slot, ...]
    rules: frozenset[Rule]
    required: tuple[frozenset[str], ...] = ()
    same_subtree: tuple[frozenset[str], ...] = ()
    parent_of: Mapping[str, str | None] = field(default_factory=dict)


def contested_classes(slots: Sequence[Slot]) -> frozenset[str]:
    """Return the classes that more than one group requests: only for these classes must sums be checked."""
    asked = [resource_class for slot in slots for resource_class, _ in slot.amounts]
    return frozenset(resource_class for resource_class in asked if asked.count(resource_class) > 1)


def room(offered: OfferedProvider, resource_class: str) -> int:
    """Return how much of the class one request can get from the provider at most.

    This is the free capacity, but at most max_unit, and 0 if the usage exceeds the capacity. min_unit and step_size are
    ignored here: they limit what one group of the request gets, but this number limits the sum of several groups.
    """
    inventory = offered.provider.inventory(resource_class)
    if inventory is None:
        return 0
    return max(0, min(int(inventory.capacity) - offered.used_of(resource_class), inventory.max_unit))


def search(problem: Problem) -> SearchResult:
    """Return whether some choice of providers respects every rule of the problem."""
    if not all(slot.domain for slot in problem.slots):
        return SearchResult.REFUSED
    if not problem.rules:
        return SearchResult.FITS
    if Rule.ISOLATE in problem.rules and not _have_separate_providers([s for s in problem.slots if s.is_granular]):
        return SearchResult.REFUSED
    if Rule.SUMS in problem.rules and not _is_enough_in_all(problem.slots):
        return SearchResult.REFUSED
    contested = tuple(sorted(contested_classes(problem.slots))) if Rule.SUMS in problem.rules else ()
    return _Walk(problem, contested).result()


def _is_enough_in_all(slots: Sequence[Slot]) -> bool:
    """Whether, for each class that several groups request, the possible providers together have enough."""
    for resource_class in contested_classes(slots):
        asking = [slot for slot in slots if resource_class in slot.asked]
        givers = {offered.provider.uuid: offered for slot in asking for offered in slot.domain}
        wanted = sum(slot.asked[resource_class] for slot in asking)
        if wanted > sum(room(offered, resource_class) for offered in givers.values()):
            return False
    return True


def _have_separate_providers(slots: Sequence[Slot]) -> bool:
    """Whether each slot can have a provider of its own (Kuhn's matching algorithm, polynomial)."""
    holder: dict[str, int] = {}

    def seat(number: int, tried: set[str]) -> bool:
        for offered in slots[number].domain:
            uuid = offered.provider.uuid
            if uuid in tried:
                continue
            tried.add(uuid)
            if uuid not in holder or seat(holder[uuid], tried):
                holder[uuid] = number
                return True
        return False

    return all(seat(number, set()) for number in range(len(slots)))


class _Walk:
    """One search through the choices of providers, with a limit on its steps. Create a new object for each search."""

    def __init__(self, problem: Problem, contested: tuple[str, ...]) -> None:
        self._problem = problem
        self._slots = sorted(problem.slots, key=_fewest_first)
        self._contested = contested
        self._rooms = {uuid: _rooms(offered, contested) for uuid, offered in _all_of(problem.slots).items()}
        self._kinds = _kinds(self._slots, problem, self._rooms)
        self._least = _least_to_come(self._slots, contested)
        self._slack = _slack(problem.slots, contested)
        self._chosen: list[OfferedProvider] = []
        self._numbers: list[int] = []
        self._holding: list[str] = []
        self._steps = 0

    def result(self) -> SearchResult:
        """Run the search and return its result."""
        if self._place():
            return SearchResult.FITS
        return SearchResult.UNDECIDED if self._steps >= MAX_STEPS else SearchResult.REFUSED

    def _place(self) -> bool:
        """Choose a provider for each remaining slot (a part of the request); return whether that succeeded."""
        depth = len(self._chosen)
        if depth == len(self._slots):
            return True
        slot = self._slots[depth]
        for number in self._choices(depth):
            self._steps += 1
            if self._steps >= MAX_STEPS:
                return False
            self._take(slot, number)
            if self._may_still_fit() and self._place():
                return True
            self._release(slot)
        return False

    def _choices(self, depth: int) -> Iterator[int]:
        """Yield each provider to try for the slot at ``depth``, as an index in the slot's ``domain``.

        Of providers that no rule distinguishes, yield only one. If the previous slot is interchangeable with this slot,
        begin at the index of the provider that the previous slot got. A lower index would repeat an earlier choice with
        the providers of the two slots exchanged.
        """
        slot = self._slots[depth]
        follows_twin = depth > 0 and _are_twins(self._slots[depth - 1], slot, self._problem)
        seen: set[object] = set()
        for number in range(self._numbers[-1] if follows_twin else 0, len(slot.domain)):
            uuid = slot.domain[number].provider.uuid
            kind = (self._kinds[uuid], tuple(self._rooms[uuid]), uuid in self._holding)
            if kind not in seen and self._is_allowed(slot, uuid):
                seen.add(kind)
                yield number

    def _is_allowed(self, slot: Slot, uuid: str) -> bool:
        if slot.is_granular and uuid in self._holding and Rule.ISOLATE in self._problem.rules:
            return False
        rooms, asked = self._rooms[uuid], slot.asked
        return all(asked[name] <= rooms[index] for index, name in enumerate(self._contested) if name in asked)

    def _take(self, slot: Slot, number: int) -> None:
        offered = slot.domain[number]
        self._chosen.append(offered)
        self._numbers.append(number)
        if slot.is_granular:
            self._holding.append(offered.provider.uuid)
        self._change_rooms(slot, offered, -1)

    def _release(self, slot: Slot) -> None:
        offered = self._chosen.pop()
        self._numbers.pop()
        if slot.is_granular:
            self._holding.pop()
        self._change_rooms(slot, offered, 1)

    def _change_rooms(self, slot: Slot, offered: OfferedProvider, sign: int) -> None:
        rooms, asked = self._rooms[offered.provider.uuid], slot.asked
        for index, resource_class in enumerate(self._contested):
            rooms[index] += sign * asked.get(resource_class, 0)

    def _may_still_fit(self) -> bool:
        rules = self._problem.rules
        return (
            self._wastes_little()
            and (Rule.TRAITS not in rules or self._traits_may_be_found())
            and (Rule.SAME_SUBTREE not in rules or all(self._may_be_rooted(s) for s in self._problem.same_subtree))
        )

    def _wastes_little(self) -> bool:
        """Whether, in each class, the free capacity that is not wasted is enough for all slots (parts of the request).

        A provider's free capacity is wasted if every later slot requests more. ``_slack`` is the free capacity of all
        providers minus the requested total. If more than ``_slack`` is wasted, the remaining capacity is too small.
        """
        for index, least in enumerate(self._least[len(self._chosen)]):
            lost = sum(rooms[index] for rooms in self._rooms.values() if rooms[index] < least)
            if least and lost > self._slack[index]:
                return False
        return True

    def _traits_may_be_found(self) -> bool:
        """Whether the unnumbered group can still get the required traits.

        For each required set, one provider must have a trait of the set. The provider must be chosen for the unnumbered
        group, or must be one that may still be chosen for it.
        """
        served = zip(self._slots, self._chosen, strict=False)
        found = {t for slot, offered in served if not slot.is_granular for t in offered.provider.traits}
        open_slots = [slot for slot in self._slots[len(self._chosen) :] if not slot.is_granular]
        return all(
            choice & found or any(choice & o.provider.traits for slot in open_slots for o in slot.domain)
            for choice in self._problem.required
        )

    def _may_be_rooted(self, suffixes: frozenset[str]) -> bool:
        """Whether the groups with these suffixes can still respect same_subtree.

        They can if all providers that are chosen for these groups so far have a common ancestor that is one of the
        chosen providers, or that can still be chosen for one of these groups. A provider is its own ancestor here.
        """
        served = zip(self._slots, self._chosen, strict=False)
        chosen = {offered.provider.uuid for slot, offered in served if slot.group.suffix in suffixes}
        if not chosen:
            return True
        common = frozenset.intersection(*(lineage(uuid, self._problem.parent_of) for uuid in chosen))
        coming = (slot for slot in self._slots[len(self._chosen) :] if slot.group.suffix in suffixes)
        return bool(common & chosen) or any(o.provider.uuid in common for slot in coming for o in slot.domain)


def _all_of(slots: Sequence[Slot]) -> dict[str, OfferedProvider]:
    return {offered.provider.uuid: offered for slot in slots for offered in slot.domain}


def _rooms(offered: OfferedProvider, contested: Sequence[str]) -> list[int]:
    return [room(offered, resource_class) for resource_class in contested]


def _least_to_come(slots: Sequence[Slot], contested: Sequence[str]) -> list[list[int]]:
    """Return lists of amounts: list N has, for each class, the smallest amount that a slot after the first N requests.

    A slot is a part of the request. The amount is 0 if none of these slots requests the class.
    """
    return [
        [min((s.asked[name] for s in slots[depth:] if name in s.asked), default=0) for name in contested]
        for depth in range(len(slots) + 1)
    ]


def _slack(slots: Sequence[Slot], contested: Sequence[str]) -> list[int]:
    """Return, for each class, the free capacity (``room``) of all providers minus the requested total."""
    everywhere = [room(offered, name) for name in contested for offered in _all_of(slots).values()]
    size = len(_all_of(slots))
    return [
        sum(everywhere[index * size : (index + 1) * size]) - sum(slot.asked.get(name, 0) for slot in slots)
        for index, name in enumerate(contested)
    ]


def lineage(uuid: str, parent_of: Mapping[str, str | None]) -> frozenset[str]:
    """Return the uuids of the provider and its ancestors."""
    return frozenset((uuid, *ancestors(uuid, parent_of)))


def _fewest_first(slot: Slot) -> tuple[object, ...]:
    """Return the sort key of a slot (a part of the request); equivalent slots become adjacent.

    Slots with few possible providers come first, then slots with large amounts.
    """
    return (len(slot.domain), tuple(-amount for _, amount in slot.amounts), slot.amounts, slot.group.suffix)


def _are_twins(one: Slot, other: Slot, problem: Problem) -> bool:
    """Whether the slots (parts of a request) are interchangeable: granular groups with equal demands."""
    return (
        one.is_granular
        and other.is_granular
        and one.amounts == other.amounts
        and one.domain == other.domain
        and all((one.group.suffix in s) == (other.group.suffix in s) for s in problem.same_subtree)
    )


def _kinds(slots: Sequence[Slot], problem: Problem, rooms: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return a number for each provider. Providers that the request's rules cannot distinguish share a number."""
    members = [{o.provider.uuid for o in slot.domain} for slot in slots]
    parents = set(problem.parent_of.values())
    named = frozenset().union(*problem.required) if Rule.TRAITS in problem.rules else frozenset()
    found: dict[str, int] = {}
    numbers: dict[object, int] = {}
    for uuid, offered in _all_of(slots).items():
        place: object = None
        if Rule.SAME_SUBTREE in problem.rules:
            place = uuid if uuid in parents else (offered.root_uuid, offered.provider.parent_uuid)
        matters = (tuple(uuid in who for who in members), tuple(rooms[uuid]), offered.provider.traits & named, place)
        found[uuid] = numbers.setdefault(matters, len(numbers))
    return found
