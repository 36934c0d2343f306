"""Section 1: how much is wasted or may be allocated twice, how many hosts have which state, and the page's heading.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.fleet.conditions import Condition, Counts
from agent.fleet.head import problems
from agent.fleet.host import HostSeen
from agent.fleet.view import HostRow
from agent.model.finding import LEAKING
from agent.pages.blocks import Block, Figure, Figures, Meaning, Note, Paragraph
from agent.pages.codes import MISSING, UNKNOWN_USE
from agent.pages.fleet.capacity import HEADING as CAPACITY_HEADING
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.harm import by_harm, most_first, sold_twice_of, wasted_of
from agent.pages.fleet.looks import WORDS
from agent.pages.fleet.losers import sold_twice_unknown
from agent.pages.fleet.shared_consumers import homes_of, not_in_wasted
from agent.pages.fleet.sums import class_sums, largest_share
from agent.pages.fleet.unknown_hosts import lacks_a_source
from agent.pages.fleet.wording import amounts, counted, hosts, hosts_and_files, oldest, share, stamp_of
from agent.pages.fleet.wording import name as host_name
from agent.pages.page import Section
from agent.pages.sizes import listed, with_class

_NOT_KNOWN = "?"
#: The maximum number of resource classes in the sentence "Free for the scheduler now: ...".
_MOST_FREE = 6
_NO_HOSTS = "there are no hosts"
_NAMES = {"MEMORY_MB": "RAM", "DISK_GB": "disk"}
#: The order of the states in the line ``5 clean + 2 error``, which is below the number of hosts.
_BY_STATE = (Condition.CLEAN, *(each for each in reversed(Condition) if each is not Condition.CLEAN))
_FINDINGS = (Condition.ERROR, Condition.UNRATED, Condition.WARNING, Condition.INFO)


def verdict(facts: FleetFacts) -> Section:
    """Return the section."""
    blocks: list[Block] = [Figures(figures=_figures(facts)), *_free(facts)]
    blocks += [Note(text=text, meaning=Meaning.UNREAD) for text in problems(facts.view)]
    return Section(id="verdict", heading="Verdict", blocks=tuple(blocks))


def _free(facts: FleetFacts) -> Iterator[Paragraph]:
    """Yield a sentence with the free amounts, now and after heal. Yield nothing if no amount is known."""
    sums = class_sums(facts.view.rows)[:_MOST_FREE]
    if not sums:
        return
    now = ", ".join(with_class(each.resource_class, each.free) for each in sums)
    after = ", ".join(with_class(each.resource_class, each.free_after) for each in sums)
    rest = f"; after heal: {after}" if after != now else ""
    yield Paragraph(
        text=f"Free for the scheduler now: {now}{rest}. The section {CAPACITY_HEADING} has the calculation."
    )


def headline(facts: FleetFacts) -> str:
    """Return the page's heading: one sentence with the wasted amounts and the number of hosts with unknown amounts."""
    unknown = hosts_and_files(facts.view.sums.not_known, facts)
    rest = f"{_also_sold(facts)}; the amounts of {unknown} are not known" if unknown else _also_sold(facts)
    if not any(_is_known(row.seen) for row in facts.view.rows):
        none = _NO_HOSTS if not unknown else f"none of {unknown} could be read in full"
        return f"It is not known how much is wasted: {none}{_also_sold(facts)}"
    leaked = facts.view.sums.leaked
    if not any(leaked.values()):
        known = sum(_is_known(row.seen) for row in facts.view.rows)
        return f"Nothing is wasted ({hosts(known)} checked): the scheduler can allocate everything that is free{rest}"
    number = sum(bool(row.seen and _has(row.seen.leaked)) for row in facts.view.rows)
    why = f"Placement counts them as used on {hosts(number)}, although nothing uses them"
    return f"The scheduler cannot allocate {amounts(leaked)}{_share(facts)}: {why}{rest}"


def _also_sold(facts: FleetFacts) -> str:
    """Return the heading's part about amounts that Placement counts as free although they are in use; "" if none."""
    found = _sold_twice(facts).found
    sums = _added(found)
    are, them = ("is", "it") if sums.total() == 1 else ("are", "them")
    used = f"{amounts(sums)} on {hosts(len(found))} {are} in use"
    return f"; {used}, but Placement may allocate {them} again" if found else ""


def _is_known(seen: HostSeen | None) -> bool:
    return seen is not None and seen.leaked is not None


def _has(counts: Counts | None) -> bool:
    return any(number for _, number in counts or ())


def _share(facts: FleetFacts) -> str:
    found = largest_share(facts.view.sums.leaked, class_sums(facts.view.rows))
    return f" ({share(found[1], found[2])} of the {_NAMES.get(found[0], found[0])} capacity)" if found else ""


def _figures(facts: FleetFacts) -> tuple[Figure, ...]:
    losses = (_sum_figure(each, facts) for each in (_sold_twice(facts), _wasted(facts)))
    return (*losses, _hosts(facts), _unknown(facts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    """One of the fleet's two sums: the wasted amounts, or the amounts that are in use but counted as free.

    ``found`` has the amounts of each host. ``codes`` are the codes of the findings about these amounts. ``unknown`` is
    the number of hosts whose amounts are not known.
    """

    name: str
    text: str
    found: Sequence[tuple[HostRow, Mapping[str, int]]]
    codes: frozenset[str]
    unknown: int


def _wasted(facts: FleetFacts) -> _Sum:
    return _Sum(
        name="Wasted",
        text="amounts that Placement counts as used although nothing uses them",
        found=[(row, found) for row in by_harm(facts.view.rows) if (found := wasted_of(row))],
        codes=LEAKING,
        unknown=facts.view.sums.not_known,
    )


def _sold_twice(facts: FleetFacts) -> _Sum:
    return _Sum(
        name="Sold twice",
        text="amounts that are in use, but that Placement may allocate again: Placement has no allocation for an "
        "instance, or reserves too little for a guest or volume unknown to nova",
        found=[(row, found) for row in by_harm(facts.view.rows) if (found := sold_twice_of(row))],
        codes=MISSING | UNKNOWN_USE,
        unknown=sold_twice_unknown(facts),
    )


def _sum_figure(each: _Sum, facts: FleetFacts) -> Figure:
    unknown = hosts_and_files(each.unknown, facts)
    if each.unknown >= len(facts.view.rows) and not each.found:
        why = f"unknown for {unknown}" if unknown else _NO_HOSTS
        return Figure(name=each.name, amounts=(_NOT_KNOWN,), meaning=Meaning.UNREAD, text=why)
    sums = _added(each.found)
    least = (f"the sum is a minimum: the amounts of {unknown} are not known",) if unknown else ()
    return Figure(
        name=each.name,
        amounts=listed(sums) or ("nothing",),
        meaning=Meaning.WRONG if sums else Meaning.COUNTED,
        text=each.text,
        lines=(*_of_hosts(each, facts), *_of_silent(each, facts), *_twice(each, facts), *least),
    )


def _of_hosts(each: _Sum, facts: FleetFacts) -> Iterator[str]:
    """Yield a line about the host that has most of the sum, and a line about the host with the oldest finding."""
    if not each.found:
        return
    first, most = min(each.found, key=lambda pair: most_first(pair[1]))
    began = _began(first, each.codes)
    since = f", first seen {stamp_of(began, facts.at)}" if began else ""
    equal = sum(found == most for _, found in each.found) - 1
    also = f" ({counted(equal, 'other host has', 'other hosts have')} the same amounts)" if equal else ""
    have = "has" if len(each.found) == 1 else "have"
    most_on = f"{host_name(first.host)} has the most{also}"
    yield f"{hosts(len(each.found))} {have} amounts in this sum; {most_on}: {amounts(most)}{since}"
    times = [(when, row.key, row.host) for row, _ in each.found if (when := _began(row, each.codes))]
    if times and min(times)[0] != began:
        when, _, host = min(times)
        yield f"the oldest finding is on {host_name(host)}, first seen {stamp_of(when, facts.at)}"


def _of_silent(each: _Sum, facts: FleetFacts) -> Iterator[str]:
    """Yield a line: how much of the sum comes from the last reports of hosts that are silent now."""
    silent = [row for row in facts.view.rows if row.condition is Condition.SILENT]
    if not silent or not each.found:
        return
    sums = _added([(row, found) for row, found in each.found if row.condition is Condition.SILENT])
    reports = f"the last reports of {counted(len(silent), 'silent host', 'silent hosts')}"
    yield f"the part of the sum that comes from {reports}: {_or_nothing(sums)}"


def _or_nothing(sums: Counter[str]) -> str:
    return ", ".join(listed(sums)) or "nothing"


def _twice(each: _Sum, facts: FleetFacts) -> Iterator[str]:
    """Yield a line about the surplus allocations that the sum ``Wasted`` leaves out.

    An allocation is surplus on a host where its consumer does not run.
    """
    if each.codes != LEAKING:
        return
    number, sums = not_in_wasted(facts)
    if number:
        consumers = counted(number, "consumer", "consumers")
        where = "on a wrong host (section Consumers on several hosts)"
        yield f"not in the sum: {_or_nothing(sums)} that Placement counts for {consumers} {where}"


def _began(row: HostRow, codes: frozenset[str]) -> str:
    """Return when the host's oldest finding with one of these codes was first seen; "" if that is not known."""
    times = oldest(row)
    return min((times[code] for code in codes if code in times), default="")


def _added(found: Sequence[tuple[HostRow, Mapping[str, int]]]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for _, each in found:
        sums.update(each)
    return sums


def _hosts(facts: FleetFacts) -> Figure:
    counts = facts.view.counts
    found = sum(counts[each] for each in _FINDINGS)
    is_worst = any(counts[each] for each in (Condition.ERROR, Condition.REFUSED, Condition.CRASHED))
    used = [each for each in _BY_STATE if counts[each] or each is Condition.CLEAN]
    not_at_fault = len(homes_of(facts))
    lines = (
        f"{not_at_fault} of the hosts with an error {'is' if not_at_fault == 1 else 'are'} not at fault: the wrong "
        "allocations are on other hosts",
    )
    return Figure(
        name="Hosts",
        amounts=(str(len(facts.view.rows)),),
        meaning=Meaning.WRONG if is_worst else Meaning.FOREIGN if found else Meaning.COUNTED,
        text="each host counts once, by its worst state",
        lines=(" + ".join(f"{counts[each]} {WORDS[each]}" for each in used), *(lines if not_at_fault else ())),
    )


def _unknown(facts: FleetFacts) -> Figure:
    counts = facts.view.counts
    # ``condition`` is only the most urgent of a host's conditions. A host that has an error and could not read a source
    # has the condition ERROR. So the condition does not show all hosts that could not read a source: ``lacks_a_source``
    # finds them.
    unread = [row for row in facts.view.rows if row.condition is not Condition.SILENT and lacks_a_source(row)]
    kinds = (
        (counts[Condition.NEVER], "never seen"),
        (counts[Condition.SILENT], "silent"),
        (counts[Condition.AWAITED], "awaited"),
        (len(unread), f"with an unread source{_sources(unread)}"),
    )
    total = hosts_and_files(sum(number for number, _ in kinds), facts)
    return Figure(
        name="State not fully known",
        amounts=(total or hosts(0),),
        meaning=Meaning.UNREAD if total else Meaning.COUNTED,
        text=", ".join(f"{number} {words}" for number, words in kinds if number) + _also_counted(unread)
        or ("every host's state is known" if facts.view.rows else _NO_HOSTS),
    )


def _also_counted(unread: Sequence[HostRow]) -> str:
    """Return a text with the states of the hosts that failed to read a source; "" if there are no such hosts."""
    states = Counter(WORDS[row.condition] for row in unread)
    named = ", ".join(f"{number} {word}" for word, number in sorted(states.items()))
    where = 'the figure "Hosts" counts the hosts with an unread source by their worst state'
    return f"; {where}: {named}" if named else ""


def _sources(rows: Sequence[HostRow]) -> str:
    """Return each source that hosts could not read, with the number of these hosts: `` (lvm 1, placement 8)``."""
    lost = Counter(source for row in rows for source in (row.seen.sources_lost if row.seen else ()))
    named = ", ".join(f"{source} {number}" for source, number in sorted(lost.items()))
    return f" ({named})" if named else ""
