"""Section 1, the verdict: one sentence, the three numbers (wasted, sold twice, unaccounted), and what is not known.

Pure.
"""

from __future__ import annotations

from agent.pages.blocks import Block, Figure, Figures, Meaning, Note, Paragraph
from agent.pages.host.facts import HostFacts
from agent.pages.host.loss import Loss, Losses, losses_of
from agent.pages.page import Section
from agent.pages.sizes import size_text
from agent.pages.tables import NOT_KNOWN, cut, was_unread
from agent.pages.times import age_s
from agent.text.amounts import age_text, with_class
from agent.text.wording import some_of


def verdict(facts: HostFacts) -> Section:
    """Return the section."""
    losses = losses_of(facts.report)
    blocks: list[Block] = [Paragraph(text=sentence(facts, losses)), Figures(figures=_figures(losses))]
    if facts.stale:
        blocks.append(Note(text=facts.stale, meaning=Meaning.UNREAD))
    for source in facts.unread_sources:
        why = source.error or f"{source.not_asked_because or 'another source'} is unread"
        blocks.append(Note(text=f"{source.name} was not read: {cut(why, 600)}", meaning=Meaning.UNREAD))
    return Section(id="verdict", heading="Verdict", blocks=tuple(blocks))


def sentence(facts: HostFacts, losses: Losses) -> str:
    """Return the conclusion in one sentence: the number of causes, the three numbers, and the age of the data."""
    causes = sum(not seen.caused_by for seen in facts.report.findings)
    found = "no causes" if causes == 0 else f"{causes} cause{'' if causes == 1 else 's'}"
    parts = (
        _clause(losses.wasted, "wasted", "nothing is wasted"),
        _clause(losses.sold_twice, "sold twice", "nothing is sold twice"),
        _clause(losses.unaccounted, "unaccounted", "0 bytes unaccounted"),
    )
    return f"{facts.name}: {found}; {', '.join(parts)}; {_reads(facts)}"


def amounts(loss: Loss) -> tuple[str, ...]:
    """Return the amounts of the number as texts, each with its unit; ``?`` if the number is not known."""
    if not loss.is_known:
        return (NOT_KNOWN,)
    sizes = (size_text(loss.size_bytes),) if loss.size_bytes else ()
    listed = (*sizes, *(with_class(name, amount) for name, amount in loss.amounts.items()))
    return listed or ("nothing" if loss.size_bytes is None else "0 bytes",)


def _clause(loss: Loss, what: str, none: str) -> str:
    if not loss.is_known:
        return f"what is {what} is not known"
    if loss.is_none:
        return none
    listed = amounts(loss)
    return f"{some_of(listed)} {'is' if len(listed) == 1 and listed[0].startswith('1 ') else 'are'} {what}"


def _reads(facts: HostFacts) -> str:
    age = age_s(facts.report.started_at, facts.now)
    ago = "" if age is None else f" {age_text(max(0.0, age))} ago"
    unread = facts.unread_sources
    if not unread:
        return f"all sources read{ago}" if facts.report.sources else "no source is known"
    return f"not read{ago}: {', '.join(source.name for source in unread)}"


def _figures(losses: Losses) -> tuple[Figure, ...]:
    return (
        _figure("Sold twice", losses.sold_twice, "promised or used, and Placement may give it away again"),
        _figure("Wasted", losses.wasted, "Placement counts it, and nothing uses it"),
        _figure(
            "Unaccounted", losses.unaccounted, "bytes without an owner, and consumers that the cloud does not know"
        ),
    )


def _figure(name: str, loss: Loss, text: str) -> Figure:
    if loss.is_known:
        return Figure(
            name=name, amounts=amounts(loss), meaning=Meaning.COUNTED if loss.is_none else Meaning.WRONG, text=text
        )
    last = [with_class(each, amount) for each, amount in loss.amounts.items()]
    known = f"; known from the last check: {some_of(last)}" if last else ""
    return Figure(
        name=name,
        amounts=(NOT_KNOWN,),
        meaning=Meaning.UNREAD,
        text=f"{text}. Not known: {was_unread(loss.missing)}{known}",
    )
