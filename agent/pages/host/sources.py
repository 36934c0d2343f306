"""Section 9, sources and time: which sources the audit read, and how long each read took. Pure: no I/O."""

from __future__ import annotations

from agent.pages.blocks import Paragraph
from agent.pages.host.facts import HostFacts
from agent.pages.host.pictures.sources import ms_text, sources_picture
from agent.pages.page import Section
from agent.pages.times import with_age


def sources(facts: HostFacts) -> Section:
    """Return the section."""
    report = facts.report
    said = f"The audit began {with_age(report.started_at, facts.now)} and took {ms_text(report.duration_ms)}."
    if any(source.read == "light" for source in report.sources):
        said += " A light read asks only whether anything changed since the last full read."
    if not report.sources:
        nothing = Paragraph(text=f"{said} The report names no source.")
        return Section(id="sources", heading="Sources and time", blocks=(nothing,))
    blocks = (Paragraph(text=said), sources_picture(report.sources))
    return Section(id="sources", heading="Sources and time", blocks=blocks)
