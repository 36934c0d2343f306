"""Turn the bytes that a terminal sends into names of keys. Pure: no I/O and no clock."""

from __future__ import annotations

import re

UP, DOWN, PAGE_UP, PAGE_DOWN = "up", "down", "page-up", "page-down"
HOME, END = "home", "end"
ENTER, ESCAPE, BACKSPACE, CLEAR = "enter", "escape", "backspace", "clear"

_ESC = b"\x1b"
# Matches a CSI or SS3 sequence (ECMA-48): the terminal sends one sequence for each special key.
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|O[ -~])")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[ -/]*|O)?$")
_SPECIAL = {
    b"\x1b[A": UP, b"\x1bOA": UP, b"\x1b[B": DOWN, b"\x1bOB": DOWN, b"\x1b[5~": PAGE_UP, b"\x1b[6~": PAGE_DOWN,
    b"\x1b[H": HOME, b"\x1bOH": HOME, b"\x1b[1~": HOME, b"\x1b[7~": HOME, b"\x1b[F": END, b"\x1bOF": END,
    b"\x1b[4~": END, b"\x1b[8~": END, b"\x1bOM": ENTER,
}  # fmt: skip
_CONTROL = {"\r": ENTER, "\n": ENTER, "\x7f": BACKSPACE, "\x08": BACKSPACE, "\x15": CLEAR}


def keys_in(data: bytes) -> tuple[list[str], bytes]:
    """Return the keys that the operator pressed, and the bytes of an unfinished escape sequence at the end of ``data``.

    ``data`` is what the terminal sent. Unknown keys are left out.
    """
    keys: list[str] = []
    while data:
        if data.startswith(_ESC):
            found = _SEQUENCE.match(data)
            if found is None and _UNFINISHED.match(data):
                return keys, data
            if found is None:
                # For Alt with a letter, the terminal sends ESC and the letter. Ignore this ESC and return the letter.
                data = data[1:]
                continue
            keys += [_SPECIAL[found.group()]] if found.group() in _SPECIAL else []
            data = data[found.end() :]
            continue
        text, escape, after = data.partition(_ESC)
        whole = text if escape else _whole_characters(text)
        keys += [key for character in whole.decode(errors="replace") if (key := _key(character))]
        if whole != text:
            return keys, text[len(whole) :]
        data = escape + after
    return keys, b""


def rest_key(rest: bytes) -> list[str]:
    """Return the keys for an unfinished sequence that never continued.

    A single ESC byte is the Escape key. For any other bytes, return no key.
    """
    return [ESCAPE] if rest == _ESC else []


def _whole_characters(text: bytes) -> bytes:
    """Return the text without an unfinished UTF-8 character at its end."""
    for length in range(1, min(3, len(text)) + 1):
        lead = text[-length]
        if 0xC2 <= lead <= 0xF4:
            needs = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return text[:-length] if length < needs else text
        if lead < 0x80:
            break
    return text


def _key(character: str) -> str | None:
    return _CONTROL.get(character) or (character if character.isprintable() else None)
