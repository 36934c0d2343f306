"""Section 3, the capacity: the amounts of each resource class in the books "promised", "held" and "recorded".

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from agent.pages.blocks import Block, Meaning, Note, Paragraph
from agent.pages.host.after_heal import after_heal
from agent.pages.host.books import ClassBooks, class_books, unread_classes
from agent.pages.host.facts import HostFacts
from agent.pages.host.pictures.capacity import capacity_picture
from agent.pages.page import Section
from agent.pages.sizes import beside_its_class

#: The maximum number of classes in the picture.
MOST = 12


def capacity(facts: HostFacts) -> Section:
    """Return the section."""
    classes = class_books(facts) or unread_classes(facts)
    blocks: list[Block] = [
        Paragraph(
            text="Promised is what nova's database counts, held is what is taken on the host, recorded is what "
            "Placement counts as used. The dashed line is the total of Placement's inventory x the allocation ratio, "
            "for example 192 for 48 CPUs with ratio 4. Each bar includes the reserved amount x ratio. Free is the "
            "dashed line minus recorded: the scheduler can still give away this amount. Held and recorded should be "
            "equal. If held is more than recorded, something is sold twice. If held is less than recorded, something "
            "is wasted or not used yet. Promised is less than held if nova does not know everything that uses the host."
        )
    ]
    blocks += [Note(text=text, meaning=Meaning.UNREAD) for text in map(_left_out, classes) if text]
    if classes:
        blocks.append(capacity_picture(classes[:MOST]))
    else:
        blocks.append(Paragraph(text="The host has no resource class."))
    if after := after_heal(facts, classes):
        blocks.append(Paragraph(text=after))
    if len(classes) > MOST:
        blocks.append(Paragraph(text=f"and {len(classes) - MOST} more classes: to see them, run stocktake inventory"))
    return Section(id="capacity", heading="Capacity", blocks=tuple(blocks))


def _left_out(each: ClassBooks) -> str:
    """Return a sentence if Placement's usage differs from the sum of the ledger's allocations, else ""."""
    recorded = next(book for book in each.books if book.name == "recorded")
    if not recorded.is_known or each.used is None or each.used == each.listed:
        return ""
    used, listed = (beside_its_class(each.resource_class, amount or 0) for amount in (each.used, each.listed))
    return (
        f"{each.resource_class}: Placement's own sum of the usage is {used}, but the allocations in this report add "
        f"up to {listed}. The picture and the free amount use the allocations. The provider tree shows Placement's sum."
    )
