"""Write headlines of findings: one line of at most 160 characters, in which no uuid and no word is cut.

Pure: no I/O.
"""

from __future__ import annotations

from agent.text.wording import printable

MOST = 160
_LONGEST_NAME = 64
_CUT = "..."


def fitted(text: str) -> str:
    """Return the text in one printable line; a text that is too long ends after a word, with ``...``."""
    line = printable(" ".join(text.split()))
    if len(line) <= MOST:
        return line
    kept, _, _ = line[: MOST - len(_CUT) + 1].rpartition(" ")
    return f"{kept or line[: MOST - len(_CUT)]}{_CUT}"


def short_name(name: str) -> str:
    """Return the name that a tenant chose, cut if it is too long for a headline."""
    shown = printable(" ".join(name.split()))
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - len(_CUT)]}{_CUT}"
