"""Whether the parts of a request can be served together: one provider for each, all joint rules kept.

Each part alone has providers that can serve it; what joins them are sums on one provider,
group_policy, same_subtree and the traits that the unnumbered group's providers must have
between them. Choosing is bin packing, so the walk is bounded: it tries the part with the
fewest providers first, never tries two providers or two orders that are alike, and gives up
after MAX_STEPS with UNDECIDED rather than guess. Pure.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.model.resource_request import OfferedProvider
from agent.stages.why_candidates import Slot

# About 50 ms of walking; requests of a real cloud need as many steps as they have parts.
MAX_STEPS = 10_000


class Rule(enum.Enum):
    """What joins the parts of a request, in the order in which it is told."""

    SUMS = "sums"
    TRAITS = "traits"
    ISOLATE = "isolate"
    SAME_SUBTREE = "same-subtree"


class Verdict(enum.Enum):
    """What the walk found."""

    FITS = "fits"
    REFUSED = "refused"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The parts of a request in one tree. ``required`` are the unnumbered group's sets of traits.

    ``same_subtree`` are sets of suffixes; ``parent_of`` is of every provider of the world.
    """

    slots: tuple[Slot, ...]
    rules: frozenset[Rule]
    required: tuple[frozenset[str], ...] = ()
    same_subtree: tuple[frozenset[str], ...] = ()
    parent_of: Mapping[str, str | None] = field(default_factory=dict)


def contested_classes(slots: Sequence[Slot]) -> frozenset[str]:
    """Classes that more than one part asks for: only these can exceed one provider together."""
    asked = [resource_class for slot in slots for resource_class, _ in slot.amounts]
    return frozenset(resource_class for resource_class in asked if asked.count(resource_class) > 1)


def room(offered: OfferedProvider, resource_class: str) -> int:
    """The most that one consumer may take of that class at once: what is left, and never more than max_unit.

    min_unit and step_size are asked of each group alone, never of their sum.
    """
    inventory = offered.provider.inventory(resource_class)
    if inventory is None:
        return 0
    return min(int(inventory.capacity) - offered.used_of(resource_class), inventory.max_unit)


def search(problem: Problem) -> Verdict:
    """Whether some choice of providers keeps every rule of the problem."""
    if not all(slot.domain for slot in problem.slots):
        return Verdict.REFUSED
    if not problem.rules:
        return Verdict.FITS
    if Rule.ISOLATE in problem.rules and not _can_be_told_apart([s for s in problem.slots if s.is_granular]):
        return Verdict.REFUSED
    if Rule.SUMS in problem.rules and not _is_enough_in_all(problem.slots):
        return Verdict.REFUSED
    return _Walk(problem).verdict()


def _is_enough_in_all(slots: Sequence[Slot]) -> bool:
    """Whether all providers together have room for what all parts together ask of each contested class."""
    for resource_class in contested_classes(slots):
        asking = [slot for slot in slots if resource_class in dict(slot.amounts)]
        givers = {offered.provider.uuid: offered for slot in asking for offered in slot.domain}
        wanted = sum(dict(slot.amounts)[resource_class] for slot in asking)
        if wanted > sum(room(offered, resource_class) for offered in givers.values()):
            return False
    return True


def _can_be_told_apart(slots: Sequence[Slot]) -> bool:
    """Whether each of them can have a provider of its own (Kuhn's matching, polynomial)."""
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
    """One bounded walk through the choices. Its state is its own and ends with it."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._slots = sorted(problem.slots, key=_fewest_first)
        self._contested = contested_classes(problem.slots) if Rule.SUMS in problem.rules else frozenset()
        self._loads: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._chosen: list[int] = []
        self._steps = 0
        self._likeness: dict[str, object] = {}

    def verdict(self) -> Verdict:
        """Walk, and say what was found."""
        self._likeness = _likeness(self._slots, self._problem, self._contested)
        if self._place():
            return Verdict.FITS
        return Verdict.UNDECIDED if self._steps >= MAX_STEPS else Verdict.REFUSED

    def _place(self) -> bool:
        """Serve the next part and all after it."""
        depth = len(self._chosen)
        if depth == len(self._slots):
            return True
        for number in self._choices(depth):
            self._steps += 1
            if self._steps >= MAX_STEPS:
                return False
            self._chosen.append(number)
            self._load(depth, number, 1)
            if self._may_still_fit() and self._place():
                return True
            self._load(depth, number, -1)
            self._chosen.pop()
        return False

    def _choices(self, depth: int) -> Iterator[int]:
        """Numbers in the part's domain that are allowed now, but one of those that are alike.

        Parts that are alike are served in the order of their providers: any other order is the same answer again.
        """
        slot = self._slots[depth]
        follows_twin = depth > 0 and _are_twins(self._slots[depth - 1], slot, self._problem)
        seen: set[object] = set()
        for number in range(self._chosen[-1] if follows_twin else 0, len(slot.domain)):
            uuid = slot.domain[number].provider.uuid
            kind = (self._likeness[uuid], self._taken(uuid))
            if kind not in seen and self._is_allowed(slot, slot.domain[number]):
                seen.add(kind)
                yield number

    def _taken(self, uuid: str) -> object:
        """What earlier parts have taken of that provider."""
        loads = tuple(self._loads.get((uuid, resource_class), 0) for resource_class in sorted(self._contested))
        return loads, self._granular_on(uuid)

    def _granular_on(self, uuid: str) -> bool:
        return any(slot.is_granular and offered.provider.uuid == uuid for slot, offered in self._served())

    def _served(self) -> Iterator[tuple[Slot, OfferedProvider]]:
        for slot, number in zip(self._slots, self._chosen, strict=False):
            yield slot, slot.domain[number]

    def _is_allowed(self, slot: Slot, offered: OfferedProvider) -> bool:
        uuid = offered.provider.uuid
        if Rule.ISOLATE in self._problem.rules and slot.is_granular and self._granular_on(uuid):
            return False
        return all(
            self._loads[uuid, resource_class] + amount <= room(offered, resource_class)
            for resource_class, amount in slot.amounts
            if resource_class in self._contested
        )

    def _load(self, depth: int, number: int, sign: int) -> None:
        slot = self._slots[depth]
        for resource_class, amount in slot.amounts:
            if resource_class in self._contested:
                self._loads[slot.domain[number].provider.uuid, resource_class] += sign * amount

    def _may_still_fit(self) -> bool:
        rules = self._problem.rules
        return (Rule.TRAITS not in rules or self._traits_may_be_found()) and (
            Rule.SAME_SUBTREE not in rules or all(self._may_be_rooted(s) for s in self._problem.same_subtree)
        )

    def _traits_may_be_found(self) -> bool:
        """Whether each set of traits is, or may yet be, met by a provider that the unnumbered group takes from."""
        found = {t for slot, offered in self._served() if not slot.is_granular for t in offered.provider.traits}
        open_slots = [slot for slot in self._slots[len(self._chosen) :] if not slot.is_granular]
        return all(
            choice & found or any(choice & o.provider.traits for slot in open_slots for o in slot.domain)
            for choice in self._problem.required
        )

    def _may_be_rooted(self, suffixes: frozenset[str]) -> bool:
        """Whether one of the set's providers, chosen or yet to come, can be above all that are chosen."""
        chosen = {o.provider.uuid for slot, o in self._served() if slot.group.suffix in suffixes}
        if not chosen:
            return True
        common = frozenset.intersection(*(lineage(uuid, self._problem.parent_of) for uuid in chosen))
        coming = (slot for slot in self._slots[len(self._chosen) :] if slot.group.suffix in suffixes)
        return bool(common & chosen) or any(o.provider.uuid in common for slot in coming for o in slot.domain)


def lineage(uuid: str, parent_of: Mapping[str, str | None]) -> frozenset[str]:
    """The provider and all above it."""
    found: set[str] = set()
    step: str | None = uuid
    while step is not None and step not in found:
        found.add(step)
        step = parent_of.get(step)
    return frozenset(found)


def _fewest_first(slot: Slot) -> tuple[object, ...]:
    """Parts with the fewest providers first, the biggest of them first, those that are alike beside each other."""
    return (len(slot.domain), tuple(-amount for _, amount in slot.amounts), slot.amounts, slot.group.suffix)


def _are_twins(one: Slot, other: Slot, problem: Problem) -> bool:
    """Whether exchanging what two granular parts are served by changes nothing."""
    return (
        one.is_granular
        and other.is_granular
        and one.amounts == other.amounts
        and one.domain == other.domain
        and all((one.group.suffix in s) == (other.group.suffix in s) for s in problem.same_subtree)
    )


def _likeness(slots: Sequence[Slot], problem: Problem, contested: frozenset[str]) -> dict[str, object]:
    """Of each provider what can matter to a rule: providers of which it is equal may be exchanged for each other."""
    offered_by_uuid = {o.provider.uuid: o for slot in slots for o in slot.domain}
    members = [{o.provider.uuid for o in slot.domain} for slot in slots]
    parents = set(problem.parent_of.values())
    named = frozenset().union(*problem.required) if Rule.TRAITS in problem.rules else frozenset()
    found: dict[str, object] = {}
    for uuid, offered in offered_by_uuid.items():
        place: object = None
        if Rule.SAME_SUBTREE in problem.rules:
            place = uuid if uuid in parents else (offered.root_uuid, offered.provider.parent_uuid)
        found[uuid] = (
            tuple(uuid in who for who in members),
            tuple(room(offered, resource_class) for resource_class in sorted(contested)),
            offered.provider.traits & named,
            place,
        )
    return found
