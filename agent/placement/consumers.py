"""Read the records of our tree's consumers, each a request of its own: few in one look, and everybody's in the end.

A record says what the consumer holds elsewhere, its project and its type; what it
holds here is known without it. What a newcomer would get wrong: it is not read because
it is not known. A host with a thousand consumers would then send a thousand requests
after each restart, and a fleet of them as often as it restarts. At once are read:
suspects, those told of in findings, and those that came or changed while we looked, since
these are as many as the cloud's writes. Nobody else can have changed, so the others wait
for their turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.model.placement import Allocation, ConsumerRecord, Provider
from agent.ports import AllocationWriter, ViewRequest

#: The tree's providers with what is held of each.
Held = tuple[tuple[Provider, tuple[Allocation, ...]], ...]
#: (uuid, generation) of the tree's providers that a consumer holds something of, sorted.
_Holders = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A consumer's record, the generation that the tree's allocations gave when it was read, and its providers'.

    ``look`` is the number of the look that read it.
    """

    listed_generation: int | None
    record: ConsumerRecord
    holders: _Holders
    look: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumers:
    """What one look knows of the tree's consumers, and what the next one starts from.

    ``look`` counts looks from 1; ``generations`` has every consumer of the tree, ``known`` those whose record was
    read, ``awaited`` those that came or changed and are still to be read.
    """

    look: int = 0
    generations: Mapping[str, int] = field(default_factory=dict)
    known: tuple[_Known, ...] = ()
    awaited: frozenset[str] = frozenset()

    @property
    def records(self) -> tuple[ConsumerRecord, ...]:
        """The records, sorted by consumer."""
        return tuple(known.record for known in self.known)


#: Before the first look.
NOBODY = Consumers()


def read_consumers(source: AllocationWriter, last: Consumers, held: Held, request: ViewRequest) -> Consumers:
    """Records that are still current, and those read now. Raises PlacementError.

    The generation alone does not make one current for ever: a consumer that lost its last allocation and got
    another has a generation that was seen before. That raised a generation of a provider of the tree, and where a
    finding is told such a consumer is looked at again: not in every audit, so that old findings cost nothing.
    """
    look = last.look + 1
    generations = _generations(held)
    current = {
        k.record.consumer_uuid: k for k in last.known if generations.get(k.record.consumer_uuid) == k.listed_generation
    }
    awaited = _awaited(last, generations) - current.keys()
    at_once = _at_once(request, generations, frozenset(current), awaited)
    holders = _holders(held) if at_once or request.told or request.unsuspicious_reads else {}
    moved = [uuid for uuid in request.told if uuid in current and current[uuid].holders != holders[uuid]]
    chosen = list(dict.fromkeys((*at_once, *moved)))[: request.consumer_reads]
    chosen += _in_turn(request, generations, current, frozenset(chosen))
    for uuid in chosen:
        record = source.consumer(uuid)
        current[uuid] = _Known(listed_generation=generations[uuid], record=record, holders=holders[uuid], look=look)
    known = tuple(current[uuid] for uuid in sorted(current))
    return Consumers(look=look, generations=generations, known=known, awaited=awaited - frozenset(chosen))


def _generations(held: Held) -> dict[str, int]:
    """Every consumer of the tree with the newest generation that was seen of it."""
    newest: dict[str, int] = {}
    for _, allocations in held:
        for allocation in allocations:
            generation = allocation.consumer_generation or 0
            newest[allocation.consumer_uuid] = max(generation, newest.get(allocation.consumer_uuid, 0))
    return newest


def _holders(held: Held) -> dict[str, _Holders]:
    found: dict[str, set[tuple[str, int | None]]] = {}
    for provider, allocations in held:
        for allocation in allocations:
            found.setdefault(allocation.consumer_uuid, set()).add((provider.uuid, provider.generation))
    return {consumer: tuple(sorted(of, key=repr)) for consumer, of in found.items()}


def _awaited(last: Consumers, generations: Mapping[str, int]) -> frozenset[str]:
    """Consumers that came or changed since the last look, and those of before that had no turn yet.

    None in the first look: whoever is there then came while nobody looked, and may have been there for years.
    """
    if not last.look:
        return frozenset()
    before, awaited = last.generations, last.awaited
    return frozenset(uuid for uuid, at in generations.items() if before.get(uuid) != at or uuid in awaited)


def _at_once(
    request: ViewRequest, generations: Mapping[str, int], current: frozenset[str], awaited: frozenset[str]
) -> list[str]:
    """Whose records are wanted now, suspects first."""
    others = generations if request.unsuspicious_reads is None else awaited
    wanted = dict.fromkeys((*(uuid for uuid in request.suspects if uuid in generations), *sorted(others)))
    return [uuid for uuid in wanted if uuid not in current]


def _in_turn(
    request: ViewRequest, generations: Mapping[str, int], current: Mapping[str, _Known], chosen: frozenset[str]
) -> Iterable[str]:
    """Of the others: those never read, the most often written first (a move writes), then those read longest ago."""
    if not request.unsuspicious_reads:
        return ()
    new = sorted(generations.keys() - current.keys() - chosen, key=lambda uuid: (-generations[uuid], uuid))
    old = sorted(current.keys() - chosen, key=lambda uuid: (current[uuid].look, uuid))
    return [*new, *old][: request.unsuspicious_reads]
