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
        Condition.AWAITED: "the host's first message is not yet overdue",
        Condition.CLEAN: "no findings",
    }
)
#: The characters of GLYPHS that the map does not draw. They stand for a clean host and an awaited host, which the
#: colour of the square alone shows.
NO_GLYPH = frozenset({" ", "."})


def glyph(condition: Condition) -> str:
    """Return the character in a square of the map, "" for a clean or awaited host."""
    return "" if GLYPHS[condition] in NO_GLYPH else GLYPHS[condition]


#: The colour of each severity of a finding.
SEVERITIES = MappingProxyType({"error": Meaning.WRONG, "warning": Meaning.FOREIGN, "info": Meaning.RESERVED})


def severity_cell(severity: str) -> Cell:
    """Return the cell of a table that names the severity; "" stands for a severity that is not known."""
    return Cell(text=severity or "not known", meaning=SEVERITIES.get(severity, Meaning.UNREAD))


def state_cell(condition: Condition) -> Cell:
    """Return the cell of a table that names the condition."""
    return Cell(text=WORDS[condition], meaning=MEANINGS[condition])
