"""Section 3, the capacity: the amounts of each resource class that are promised, held and recorded. Pure."""

from __future__ import annotations

from agent.pages.blocks import Block, Paragraph
from agent.pages.host.books import class_books, unread_classes
from agent.pages.host.facts import HostFacts
from agent.pages.host.pictures.capacity import capacity_picture
from agent.pages.page import Section

#: The picture shows at most this many classes.
MOST = 12


def capacity(facts: HostFacts) -> Section:
    """Return the section."""
    classes = class_books(facts) or unread_classes(facts)
    blocks: list[Block] = [
        Paragraph(
            text="Promised is what the cloud believes, held is what is really on the host, recorded is what the "
            "scheduler subtracts. The line is the total of Placement's inventory x its ratio. The line and the three "
            "bars count the same: each contains what is reserved, x ratio. So held and recorded "
            "should be equal, and promised too, except for what the cloud does not know. The "
            "scheduler can give away what is between the bar of recorded and the line. Held is longer than recorded: "
            "something is sold twice. Recorded is longer than held: something is wasted, or not used yet."
        )
    ]
    if classes:
        blocks.append(capacity_picture(classes[:MOST]))
    else:
        blocks.append(Paragraph(text="The host has no resource class."))
    if len(classes) > MOST:
        blocks.append(Paragraph(text=f"and {len(classes) - MOST} more classes: stocktake inventory"))
    return Section(id="capacity", heading="Capacity", blocks=tuple(blocks))
