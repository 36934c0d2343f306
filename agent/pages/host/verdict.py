"""Section 1, the verdict: one sentence, the three numbers (wasted, sold twice, unaccounted), and what is not known.

Pure: no I/O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agent.model.finding import Severity
from agent.model.report import SourceStatus
from agent.pages.blocks import Block, Figure, Figures, Meaning, Note, Paragraph
from agent.pages.host.after_heal import free_now
from agent.pages.host.facts import HostFacts
from agent.pages.host.glance import glance
from agent.pages.host.loss import Loss, Losses, losses_of
from agent.pages.host.pictures.sources import why_not_asked
from agent.pages.page import Section
from agent.pages.sizes import listed, size_text
from agent.pages.tables import NOT_KNOWN, cut, was_unread
from agent.pages.times import utc, with_age
from agent.text.wording import some_of

_DIGITS = 8
_MOST_NAMED = 4


def verdict(facts: HostFacts) -> Section:
    """Return the section."""
    losses = losses_of(facts.report)
    blocks: list[Block] = [Paragraph(text=sentence(facts, losses)), Figures(figures=_figures(losses, facts))]
    if free := free_now(facts):
        blocks.append(Paragraph(text=free))
    if facts.later_changes:
        blocks.append(Note(text=_not_in_numbers(facts), meaning=Meaning.FOREIGN))
    if facts.stale:
        blocks.append(Note(text=facts.stale, meaning=Meaning.UNREAD))
    for source in facts.unread_sources:
        why = source.error or why_not_asked(source)
        text = f"{source.name} was not read: {cut(why, 600)}{_lost(source, facts.now)}"
        blocks.append(Note(text=text, meaning=Meaning.UNREAD))
    if (causes := glance(facts)) is not None:
        blocks.append(causes)
    return Section(id="verdict", heading="Verdict", blocks=tuple(blocks))


def _not_in_numbers(facts: HostFacts) -> str:
    """Return a sentence that names the changes after the audit; the numbers of the page do not contain them."""
    changes = facts.later_changes
    are = "1 change is" if len(changes) == 1 else f"{len(changes)} changes are"
    named = some_of([f"{each.kind} {each.id[:_DIGITS]} at {utc(each.at)}" for each in changes], _MOST_NAMED)
    return (
        f"Every number and finding on this page comes from the audit of {utc(facts.report.started_at)}. {are} later "
        f"than this audit and not yet in the numbers: {named}. The page of the next audit has the numbers after these "
        "changes."
    )


def _lost(source: SourceStatus, now: str) -> str:
    """Return a sentence that says since when the source has been unreadable; "" if the report does not say it."""
    if not source.lost_since:
        return ""
    times = f", {source.losses} audits in a row" if source.losses > 1 else ""
    return f". Not read since {with_age(source.lost_since, now)}{times}"


def sentence(facts: HostFacts, losses: Losses) -> str:
    """Return one sentence: the number of causes, what is wasted, sold twice and unaccounted, and the data's age."""
    causes = Counter(seen.finding.severity for seen in facts.report.findings if not seen.caused_by)
    number = causes.total()
    each = ", ".join(_counted(causes[one], one) for one in Severity if causes[one])
    found = f"{number} cause{'' if number == 1 else 's'} ({each})" if number else "no causes"
    parts = (
        _clause(losses.wasted, "wasted", "nothing is wasted"),
        _clause(losses.sold_twice, "sold twice", "no capacity is sold twice"),
        _clause(losses.unaccounted, "unaccounted", "0 bytes unaccounted"),
    )
    return f"{facts.name}: {found}; {', '.join(parts)}; {_reads(facts)}"


def _counted(number: int, severity: Severity) -> str:
    return f"{number} {severity.value}{'' if number == 1 or severity is Severity.INFO else 's'}"


def amounts(loss: Loss) -> tuple[str, ...]:
    """Return the amounts of one loss (such as "wasted") as texts with units; ``?`` if the loss is not known."""
    if not loss.is_known:
        return (NOT_KNOWN,)
    sizes = (size_text(loss.size_bytes),) if loss.size_bytes else ()
    found = (*sizes, *listed(loss.amounts))
    return found or ("nothing" if loss.size_bytes is None else "0 bytes",)


def _clause(loss: Loss, what: str, none: str) -> str:
    if not loss.is_known:
        return f"it is not known what is {what}"
    if loss.is_none:
        return none
    found = amounts(loss)
    return f"{some_of(found)} {'is' if len(found) == 1 and found[0].startswith('1 ') else 'are'} {what}"


def _reads(facts: HostFacts) -> str:
    at = with_age(facts.report.started_at, facts.now)
    unread = facts.unread_sources
    if not unread:
        return f"all sources read at {at}" if facts.report.sources else "the report names no source"
    return f"sources not read at {at}: {', '.join(source.name for source in unread)}"


def _figures(losses: Losses, facts: HostFacts) -> tuple[Figure, ...]:
    unaccounted = "bytes without an owner, and allocations of consumers that nova does not know"
    found = (
        (
            "Sold twice",
            losses.sold_twice,
            "amounts that Placement counts as free although they are in use or belong to an instance",
        ),
        ("Wasted", losses.wasted, "amounts that Placement counts as used although nothing uses them"),
        ("Unaccounted", losses.unaccounted, unaccounted),
    )
    return tuple(_figure(name, loss, text, facts.now) for name, loss, text in found)


def _dates(loss: Loss, now: str) -> Iterator[str]:
    """Yield a line that says when the loss began, and a line that says when an audit first saw the loss.

    The date on which the loss began comes from nova's database. A line without a known date is left out. If several
    faults with different dates cause the loss, a line has the oldest and the newest date.
    """
    for name, times in (("began", loss.began), ("first seen", loss.seen)):
        if not times:
            continue
        first, last = with_age(times[0], now), with_age(times[-1], now)
        both = f"{name} at different times, from {first} to {last}"
        yield f"{name} {first}" if times[0] == times[-1] else both


def _figure(name: str, loss: Loss, text: str, now: str) -> Figure:
    since = () if loss.is_none else tuple(_dates(loss, now))
    if loss.is_known:
        meaning = Meaning.COUNTED if loss.is_none else Meaning.WRONG
        return Figure(name=name, amounts=amounts(loss), meaning=meaning, text=text, lines=since)
    last = listed(loss.amounts)
    known = f"; the last check found {some_of(last)}" if last else ""
    return Figure(
        name=name,
        amounts=(NOT_KNOWN,),
        meaning=Meaning.UNREAD,
        text=text,
        lines=(f"not known: {was_unread(loss.missing)}{known}", *since),
    )
