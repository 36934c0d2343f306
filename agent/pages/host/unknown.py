"""Section 12, what is not known: unchecked findings, unread sources, writes held back, and rows left out.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.model.finding import FindingState
from agent.pages.blocks import Paragraph, Sentences
from agent.pages.host.cells import cells_of
from agent.pages.host.facts import HostFacts
from agent.pages.host.pictures.sources import why_unread
from agent.pages.page import Section
from agent.pages.tables import cut, was_unread
from agent.text.wording import some_of

_MOST = 100


def unknown(facts: HostFacts) -> Section:
    """Return the section."""
    texts = tuple(cut(text, 600) for text in _sentences(facts))
    more = len(texts) - _MOST
    shown = texts[:_MOST] + ((f"and {more} more",) if more > 0 else ())
    nothing = Paragraph(text="Nothing: every source was read, every finding was checked, and no write was held back.")
    return Section(id="unknown", heading="What is not known", blocks=(Sentences(texts=shown),) if shown else (nothing,))


def _sentences(facts: HostFacts) -> Iterator[str]:
    report = facts.report
    for source in facts.unread_sources:
        yield f"{source.name} was not read: {why_unread(source)}."
    lost = [seen for seen in report.findings if seen.state is FindingState.UNKNOWN]
    if lost:
        because = sorted({name for seen in lost for name in seen.unknown_because})
        codes = some_of(sorted({seen.finding.code for seen in lost}), 8)
        rest = f"{len(lost)} finding{' was' if len(lost) == 1 else 's were'} not checked"
        yield f"{rest} ({codes}), because {was_unread(because)}."
    for held in report.plan.held_back:
        yield f"A write of {held.what} on provider {held.provider_uuid} was held back: {held.why}."
    if facts.view:
        for name in _texts(facts.view.get("unknown")):
            yield f"The host's value of {name} is not known."
    for cell in cells_of(facts) or ():
        if names := [share.what for share in cell.shares if share.used is None]:
            yield f"NUMA cell {cell.id}: it is not known how much is used of {', '.join(names)}."
    yield from (f"A row of the report was left out: {problem}." for problem in facts.problems)
    yield from (f"{problem}." for problem in facts.unread)
    yield from (f"{note}." for note in report.notes)
    if report.error:
        yield f"The audit ended with an error: {report.error}."


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
