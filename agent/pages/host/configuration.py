"""Section 10, the configuration: the options that a file sets, with secrets masked.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from agent.pages.blocks import Cell, Column, Paragraph, Table
from agent.pages.host.facts import HostFacts
from agent.pages.page import Section
from agent.pages.tables import text

MOST_ROWS = 150
_HEADING = "Configuration that is not default"


def configuration(facts: HostFacts) -> Section:
    """Return the section."""
    options = facts.options
    if not options:
        nothing = "The configuration was not read." if options is None else "No file sets an option."
        return Section(id="configuration", heading=_HEADING, blocks=(Paragraph(text=nothing),))
    more = len(options) - MOST_ROWS
    table = Table(
        id="options",
        caption="Options that a file sets",
        columns=(
            Column(heading="option", is_code=True),
            Column(heading="value"),
            Column(heading="default"),
            Column(heading="file", is_code=True),
        ),
        rows=tuple(
            (
                Cell(text=f"[{option.group}] {option.name}"),
                text("(unset)" if option.value is None else option.value or "(empty)"),
                text("(unset)" if option.default is None else option.default or "(empty)"),
                text(option.origin),
            )
            for option in options[:MOST_ROWS]
        ),
        foot=f"and {more} more; stocktake config show --changed shows all" if more > 0 else "",
    )
    return Section(id="configuration", heading=_HEADING, blocks=(table,))
