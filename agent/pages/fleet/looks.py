"""How the page of the fleet shows the condition of a host: with a word, a colour and a character.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from types import MappingProxyType

from agent.fleet.conditions import GLYPHS, Condition
from agent.pages.blocks import Cell, Meaning

WORDS = MappingProxyType(
    {
        Condition.NEVER: "never seen",
        Condition.SILENT: "silent",
        Condition.CRASHED: "crashed",
        Condition.REFUSED: "refused",
        Condition.ERROR: "error",
        Condition.UNREADABLE: "unreadable",
        Condition.PARTIAL: "partial",
        Condition.UNRATED: "findings",
        Condition.WARNING: "warning",
        Condition.INFO: "info",
        Condition.AWAITED: "awaited",
        Condition.CLEAN: "clean",
    }
)
MEANINGS = MappingProxyType(
    {
        Condition.NEVER: Meaning.UNREAD,
        Condition.SILENT: Meaning.UNREAD,
        Condition.CRASHED: Meaning.WRONG,
        Condition.REFUSED: Meaning.WRONG,
        Condition.ERROR: Meaning.WRONG,
        Condition.UNREADABLE: Meaning.UNREAD,
        Condition.PARTIAL: Meaning.UNREAD,
        Condition.UNRATED: Meaning.FOREIGN,
        Condition.WARNING: Meaning.FOREIGN,
        Condition.INFO: Meaning.RESERVED,
        Condition.AWAITED: Meaning.FREE,
        Condition.CLEAN: Meaning.COUNTED,
    }
)
#: What each condition says about a host, for the legend of the map.
EXPLAINED = MappingProxyType(
    {
        Condition.NEVER: "expected, but no message or report of this host has come",
        Condition.SILENT: "no message or report of this host has come for too long",
        Condition.CRASHED: "the host's audit ended with a bug in the agent",
        Condition.REFUSED: "another service writes to the host's provider in Placement, so the agent does not",
        Condition.ERROR: "a finding needs action by an operator soon",
        Condition.UNREADABLE: "the host's audit could not read enough to check the host",
        Condition.PARTIAL: "the host's audit could not read a source",
        Condition.UNRATED: "findings without a known severity, from an agent of another version",
        Condition.WARNING: "a finding needs action by an operator, but not soon",
        Condition.INFO: "findings that need no action",
        Condition.AWAITED: "the host's first message has not come yet, but it is not late",
        Condition.CLEAN: "no findings",
    }
)
#: The map draws no character for a clean host, nor for a host whose first message is not due yet. The colour of the
#: square shows these two conditions.
NO_GLYPH = frozenset({" ", "."})


def glyph(condition: Condition) -> str:
    """Return the character in a host's square of the map; "" if the square's colour is enough (NO_GLYPH)."""
    return "" if GLYPHS[condition] in NO_GLYPH else GLYPHS[condition]


#: The colour of each severity of a finding.
SEVERITIES = MappingProxyType({"error": Meaning.WRONG, "warning": Meaning.FOREIGN, "info": Meaning.RESERVED})


def severity_cell(severity: str) -> Cell:
    """Return a table cell with the name and colour of the severity; "" stands for a severity that is not known."""
    return Cell(text=severity or "not known", meaning=SEVERITIES.get(severity, Meaning.UNREAD))


def state_cell(condition: Condition) -> Cell:
    """Return a table cell with the name and colour of the host's condition."""
    return Cell(text=WORDS[condition], meaning=MEANINGS[condition])
