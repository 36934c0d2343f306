"""Section 7, the time line: when each finding was first seen, and the changes of the last 30 days. Pure: no I/O."""

from __future__ import annotations

from agent.pages.blocks import Paragraph
from agent.pages.host.facts import HostFacts
from agent.pages.host.findings import urgency
from agent.pages.host.pictures.timeline import timeline_picture
from agent.pages.page import Section
from agent.render.reading_order import names_of


def timeline(facts: HostFacts) -> Section:
    """Return the section."""
    found = sorted(facts.report.findings, key=urgency)
    if not found and not facts.changes:
        nothing = Paragraph(text="There is no finding, and no change in the last 30 days.")
        return Section(id="timeline", heading="Time line", blocks=(nothing,))
    picture = timeline_picture(found, facts.changes or (), names_of(facts.report), facts.now)
    marks = Paragraph(
        text="A bar begins when an audit first saw the finding; the fault may have begun earlier. A mark at the top is "
        "a change: ▲ heal, ▼ undo, ◆ adopt, with the first digits of its journal entry's id."
    )
    blocks = (marks, picture) if facts.changes else (picture,)
    return Section(id="timeline", heading="Time line", blocks=blocks)
