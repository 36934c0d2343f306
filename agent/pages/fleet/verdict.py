"""Section 1: what the cloud is missing, in numbers, and in one sentence for the page's heading. Pure."""

from __future__ import annotations

from agent.fleet.conditions import Condition, Counts
from agent.fleet.head import problems
from agent.fleet.host import HostSeen
from agent.pages.blocks import Block, Figure, Figures, Meaning, Note
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.sums import class_sums, largest_share
from agent.pages.fleet.wording import amounts, hosts, listed_amounts, share
from agent.pages.page import Section

_NOT_KNOWN = "?"
_NO_HOSTS = "there are no hosts"
_NAMES = {"MEMORY_MB": "RAM", "DISK_GB": "disk"}
_FINDINGS = (Condition.ERROR, Condition.UNRATED, Condition.WARNING, Condition.INFO)
_READ_LITTLE = frozenset({"partial", "unreadable", "crashed"})
_UNPLACED = "unmanaged-use-unplaced"


def verdict(facts: FleetFacts) -> Section:
    """Return the section."""
    blocks: list[Block] = [Figures(figures=_figures(facts))]
    blocks += [Note(text=text, meaning=Meaning.UNREAD) for text in problems(facts.view)]
    return Section(id="verdict", heading="Verdict", blocks=tuple(blocks))


def headline(facts: FleetFacts) -> str:
    """Return the conclusion of the page in one sentence, which always names the number of hosts that are not known."""
    unknown = not_known(facts)
    rest = f"; unknown for {hosts(unknown)}" if unknown else ""
    if not any(_is_known(row.seen) for row in facts.view.rows):
        none = _NO_HOSTS if not unknown else f"none of {hosts(unknown)} could be read in full"
        return f"It is not known what the cloud is missing: {none}"
    leaked = facts.view.sums.leaked
    if not any(leaked.values()):
        known = sum(_is_known(row.seen) for row in facts.view.rows)
        return f"The cloud is missing nothing: no leak on {hosts(known)}{rest}"
    number = sum(bool(row.seen and _has(row.seen.leaked)) for row in facts.view.rows)
    return f"The cloud is missing {amounts(leaked)}{_share(facts)}: {hosts(number)}{rest}"


def not_known(facts: FleetFacts) -> int:
    """Return the number of hosts whose leaks are not known, and of files that could not be read."""
    return facts.view.sums.not_known + len(facts.unreadable)


def _lacks_a_source(seen: HostSeen | None) -> bool:
    return seen is not None and (bool(seen.sources_lost) or seen.outcome in _READ_LITTLE)


def _is_known(seen: HostSeen | None) -> bool:
    return seen is not None and seen.leaked is not None


def _has(counts: Counts | None) -> bool:
    return any(number for _, number in counts or ())


def _share(facts: FleetFacts) -> str:
    found = largest_share(facts.view.sums.leaked, class_sums(facts.view.rows))
    return f" ({share(found[1], found[2])} of {_NAMES.get(found[0], found[0])})" if found else ""


def _figures(facts: FleetFacts) -> tuple[Figure, ...]:
    return (_wasted(facts), _sold_twice(facts), _hosts(facts), _unknown(facts))


def _wasted(facts: FleetFacts) -> Figure:
    leaked = facts.view.sums.leaked
    number = sum(bool(row.seen and _has(row.seen.leaked)) for row in facts.view.rows)
    return _sum_figure(facts, "Wasted", dict(leaked), f"Placement counts it, and nothing uses it: {hosts(number)}")


def _sold_twice(facts: FleetFacts) -> Figure:
    missing = facts.view.sums.missing
    number = sum(bool(row.seen and _has(row.seen.missing)) for row in facts.view.rows)
    text = f"promised to instances, and Placement may give it away again: {hosts(number)}"
    unplaced = sum(dict(row.seen.findings or ()).get(_UNPLACED, 0) > 0 for row in facts.view.rows if row.seen)
    if unplaced:
        text += f". Not in this sum: use that the cloud does not know, on {hosts(unplaced)} ({_UNPLACED})"
    return _sum_figure(facts, "Sold twice", dict(missing), text)


def _sum_figure(facts: FleetFacts, name: str, found: dict[str, int], text: str) -> Figure:
    is_known = any(_is_known(row.seen) for row in facts.view.rows)
    unknown = not_known(facts)
    if not is_known:
        why = f"unknown for {hosts(unknown)}" if unknown else _NO_HOSTS
        return Figure(name=name, amounts=(_NOT_KNOWN,), meaning=Meaning.UNREAD, text=why)
    least = f". At least this: unknown for {hosts(unknown)}" if unknown else ""
    listed = listed_amounts(found)
    meaning = Meaning.WRONG if listed else Meaning.COUNTED
    return Figure(name=name, amounts=listed or ("nothing",), meaning=meaning, text=f"{text}{least}")


def _hosts(facts: FleetFacts) -> Figure:
    counts = facts.view.counts
    found = sum(counts[each] for each in _FINDINGS)
    bad = sum(counts[each] for each in (Condition.REFUSED, Condition.CRASHED))
    parts = [f"{counts[Condition.CLEAN]} clean", f"{found} with findings"]
    parts += [f"{bad} refused or crashed"] if bad else []
    is_worst = counts[Condition.ERROR] or bad
    return Figure(
        name="Hosts",
        amounts=(str(len(facts.view.rows)),),
        meaning=Meaning.WRONG if is_worst else Meaning.FOREIGN if found else Meaning.COUNTED,
        text=", ".join(parts),
    )


def _unknown(facts: FleetFacts) -> Figure:
    counts = facts.view.counts
    # The condition of a host does not show this: a host with an error and an unread source has the condition ERROR.
    unread = sum(row.condition is not Condition.SILENT and _lacks_a_source(row.seen) for row in facts.view.rows)
    kinds = (
        (counts[Condition.NEVER], "never seen"),
        (counts[Condition.SILENT], "silent"),
        (counts[Condition.AWAITED], "awaited"),
        (unread, "could not read every source"),
        (len(facts.unreadable), "with a file that is no report"),
    )
    total = sum(number for number, _ in kinds)
    return Figure(
        name="Not or only partly known",
        amounts=(hosts(total),),
        meaning=Meaning.UNREAD if total else Meaning.COUNTED,
        text=", ".join(f"{number} {words}" for number, words in kinds if number)
        or ("every host's state is known" if facts.view.rows else _NO_HOSTS),
    )
