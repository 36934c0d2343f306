"""Suggest the command that the operator probably meant. Pure: no I/O.

The typed command does not accept one of the operator's words. The suggested command accepts this word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_ID = re.compile(r"[0-9a-f]{4,8}(-[0-9a-f-]*)?")
_CODE = re.compile(r"[a-z]+(-[a-z]+)+")
_AMOUNT = re.compile(r"[A-Za-z0-9_]+=[0-9]+")
# The commands with the option --code, and the commands with the option --consumer.
_BY_CODE = frozenset({"findings", "heal", "journal"})
_BY_CONSUMER = frozenset({"findings", "ledger", "journal"})


def meant(command: str, words: Sequence[str]) -> str | None:
    """Return the command line that the operator probably meant, None if no command line is likely.

    ``command`` is the typed command without the program's name. ``words`` are the words that this command does not
    accept.
    """
    word = words[-1] if words[0].startswith("-") else words[0]
    if word.startswith("-") or (words[0].startswith("-") and words[0] not in ("--finding", "--id", "--code")):
        return None
    found = _meant(command, word)
    return None if found is None else f"stocktake {found}"


def _meant(command: str, word: str) -> str | None:
    quoted = shlex.quote(word)
    if command == "why":
        return f"why --resource {quoted}" if _AMOUNT.fullmatch(word) else None
    if _ID.fullmatch(word):
        return f"heal --finding {word}" if command == "heal" else f"explain {word}"
    if _CODE.fullmatch(word) and command in _BY_CODE:
        return f"{command} --code {word}"
    return f"{command} --consumer {quoted}" if command in _BY_CONSUMER else None
