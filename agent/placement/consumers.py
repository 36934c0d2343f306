"""Read the records of the consumers with allocations on this host's tree: a few records in each read of the tree.

A record takes one request. It contains the consumer's project, type and allocations, also those on other hosts'
providers. The consumer's allocations on this host's tree are known without the record.

The agent does not read every unknown record at once. Otherwise a host with a thousand consumers would send a thousand
requests after each restart, and so would every host of a fleet. The agent reads three kinds of records at once:

- of consumers that looked wrong in the last audit (suspects)
- of consumers that findings name
- of consumers that are new or changed since the last read (at most one request for each write by nova)

All other consumers are unchanged, so their records can wait: each read of the tree reads a few of them, in rotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.model.placement import Allocation, ConsumerRecord, Provider
from agent.ports import AllocationWriter, ViewRequest

#: A type: the providers of this host's tree, each with the allocations on it.
Held = tuple[tuple[Provider, tuple[Allocation, ...]], ...]
#: The tree's providers on which one consumer has allocations, as sorted pairs of uuid and generation.
_Holders = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A consumer's record from Placement, with values that show later whether the record is still current.

    The reader numbers its reads of the provider tree: ``read_in`` is the number of the read that included this record.
    ``listed_generation`` is the consumer's generation in that read. ``holders`` are the providers on which the consumer
    had allocations in that read, with the providers' generations.
    """

    listed_generation: int | None
    record: ConsumerRecord
    holders: _Holders
    read_in: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumers:
    """The result of one read of the tree's consumers; the caller passes it to the next read as ``last``.

    ``reads`` is the number of tree reads so far. ``generations`` maps each consumer of the tree to its generation.
    ``known`` has the records that were read. ``awaited`` has the new or changed consumers whose current
    records were not read yet.
    """

    reads: int = 0
    generations: Mapping[str, int] = field(default_factory=dict)
    known: tuple[_Known, ...] = ()
    awaited: frozenset[str] = frozenset()

    @property
    def records(self) -> tuple[ConsumerRecord, ...]:
        """The known records of consumers, sorted by consumer."""
        return tuple(known.record for known in self.known)


#: The value before the first read of the provider tree: no consumer is known.
NO_CONSUMERS = Consumers()


def read_consumers(source: AllocationWriter, last: Consumers, held: Held, request: ViewRequest) -> Consumers:
    """Return the consumers' records: old records that are still current, and those read now. Raises PlacementError.

    A consumer in a finding is read again when the generation of one of its providers has changed, and not before. So a
    finding that stays for days costs no requests while nothing changes.

    The consumer's own generation would not suffice. Placement deletes a consumer without allocations, and later counts
    the generation of the same consumer from the start again, so an old number can return. But every new allocation
    raises the provider's generation.
    """
    reads = last.reads + 1
    generations = _generations(held)
    current = {
        k.record.consumer_uuid: k for k in last.known if generations.get(k.record.consumer_uuid) == k.listed_generation
    }
    awaited = _awaited(last, generations) - current.keys()
    at_once = _at_once(request, generations, frozenset(current), awaited)
    holders = _holders(held) if at_once or request.reported or request.unsuspicious_reads else {}
    moved = [uuid for uuid in request.reported if uuid in current and current[uuid].holders != holders[uuid]]
    chosen = list(dict.fromkeys((*at_once, *moved)))[: request.consumer_reads]
    chosen += _in_turn(request, generations, current, frozenset(chosen))
    for uuid in chosen:
        record = source.consumer(uuid)
        current[uuid] = _Known(listed_generation=generations[uuid], record=record, holders=holders[uuid], read_in=reads)
    known = tuple(current[uuid] for uuid in sorted(current))
    return Consumers(reads=reads, generations=generations, known=known, awaited=awaited - frozenset(chosen))


def _generations(held: Held) -> dict[str, int]:
    """Return each consumer of the tree with its generation: the highest generation among its allocations."""
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
    """Return the consumers whose records should be read soon, because the consumers are new or changed.

    This includes consumers that the last read left for later, ``last.awaited``. The first read cannot tell which
    consumers are new, so its result is empty.
    """
    if not last.reads:
        return frozenset()
    before, awaited = last.generations, last.awaited
    return frozenset(uuid for uuid, at in generations.items() if before.get(uuid) != at or uuid in awaited)


def _at_once(
    request: ViewRequest, generations: Mapping[str, int], current: frozenset[str], awaited: frozenset[str]
) -> list[str]:
    """Return the consumers to read now: first the suspects (they looked wrong in the last audit), then the others."""
    others = generations if request.unsuspicious_reads is None else awaited
    wanted = dict.fromkeys((*(uuid for uuid in request.suspects if uuid in generations), *sorted(others)))
    return [uuid for uuid in wanted if uuid not in current]


def _in_turn(
    request: ViewRequest, generations: Mapping[str, int], current: Mapping[str, _Known], chosen: frozenset[str]
) -> Iterable[str]:
    """Return at most ``request.unsuspicious_reads`` more consumers to read, without those in ``chosen``.

    First come the consumers whose record the agent does not have, sorted by generation, the highest first. A high
    generation means that the consumer's allocations were written often, for example by moves. Then come the other
    consumers, those that were read longest ago first.
    """
    if not request.unsuspicious_reads:
        return ()
    new = sorted(generations.keys() - current.keys() - chosen, key=lambda uuid: (-generations[uuid], uuid))
    old = sorted(current.keys() - chosen, key=lambda uuid: (current[uuid].read_in, uuid))
    return [*new, *old][: request.unsuspicious_reads]
