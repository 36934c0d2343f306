"""Write the fields of a log line as ``name=value``: in a fixed order, and in a limited number of bytes. Pure: no I/O.

An operator reads the line in a terminal or in systemd's journal. So the fields that say what happened come first, then
the ids, and the command to type is at the end. Long values are cut; uuids and commands are never cut. The JSON form of
the log has the complete values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.text.wording import printable

#: The maximum sizes of a line in text form, and of one value in the line, in bytes of UTF-8.
LINE_BYTES = 1000
VALUE_BYTES = 300
#: The number of items of a list that are shown.
LISTED = 3

FIRST = (
    "severity", "code", "subject", "actual", "expected", "state", "confirmed", "caused_by", "reason", "actor",
    "entry_id", "source", "error", "outcome",
)  # fmt: skip
LAST = ("finding_id", "consumer_uuid", "provider_uuid", "first_seen_at", "undo", "fix", "audit")
# If a line is too long even with cut values, fields are left out until the line fits: first the fields outside FIRST
# and LAST, then the fields below, in this order.
_EXPENDABLE = ("caused_by", "expected", "actual", "error", "reason", "subject")
# Fields whose values are never cut, because an operator copies them.
_WHOLE = frozenset(
    {"finding_id", "consumer_uuid", "provider_uuid", "entry_id", "first_seen_at", "audit", "undo", "fix"}
)
# The field ``changed`` lists changed options. Its value may have this many bytes instead of VALUE_BYTES, enough for
# about ten options.
_WIDE = {"changed": 700}
# Pairs of fields that say the same. The first field is left out of a line that has the second field.
_REPEATED = {"remedy": "fix", "problems": "error"}
# If the line is too long, each value is cut to the first of these limits (in bytes), then to the second, and so on,
# until the line is short enough.
_TIGHTER = (240, 180, 120, 90, 60, 40)

_BARE = re.compile(r"[^\s\"=]+\Z")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
# If a value ends with a uuid, or with the HTTP status and request id of a response, this end is never cut off.
_END = re.compile(rf"\s*({_UUID.pattern}|\(HTTP \d+\)(?: \[req-[\w-]{{1,60}}\])?)\s*\Z", re.IGNORECASE)
# The size in bytes of the text `" "`: two quotation marks and a blank. The function ``quoted`` puts every text with a
# blank in quotation marks, but other texts only if necessary. To get the size of a character inside quotation marks,
# ``_shown_bytes`` quotes the character together with a blank, and then subtracts this size.
_QUOTED_BLANK = 3
_MARK = "\N{HORIZONTAL ELLIPSIS} (+{})"


@dataclass(frozen=True, slots=True)
class _Pair:
    name: str
    value: object

    def text(self, limit: int) -> str:
        """Return `` name=value``; a value of more than ``limit`` bytes is cut, unless the field is in _WHOLE."""
        if self.name in _WHOLE:
            return f" {self.name}={quoted(str(self.value))}"
        return f" {self.name}={shortened(self.value, _WIDE.get(self.name, limit) if limit == VALUE_BYTES else limit)}"


def message(text: str, fields: Mapping[str, object], limit: int = LINE_BYTES) -> str:
    """Return the text with its fields, at most ``limit`` bytes of UTF-8.

    Fields that are None or an empty text are left out, and control characters are escaped.
    """
    pairs = _ordered(_with_short_command(fields, limit // 2))
    least = sum(size_bytes(pair.text(_TIGHTER[-1])) for pair in pairs)
    text = clipped(printable(text), max(limit - least, limit // 2))
    room = limit - size_bytes(text)
    for tried in (VALUE_BYTES, *_TIGHTER):
        texts = [pair.text(tried) for pair in pairs]
        if sum(map(size_bytes, texts)) <= room:
            return text + "".join(texts)
    return text + "".join(_most_important(pairs, room))


def shortened(value: object, limit: int) -> str:
    """Return the value as text of at most ``limit`` bytes; of a list only the first three items."""
    if not isinstance(value, list | tuple):
        return quoted(clipped(str(value), limit))
    if not value:
        return "-"
    each = limit // min(len(value), LISTED + 1)
    if len(value) <= LISTED:
        return ",".join(shortened(item, each) for item in value)
    first = ", ".join(clipped(str(item), each) for item in value[:LISTED])
    return quoted(f"{first} and {len(value) - LISTED} more")


def clipped(text: str, limit: int) -> str:
    """Return the text. A text of more than ``limit`` bytes is cut at the end of a word and marked ``(+N)``.

    N is the number of the bytes that are left out. A uuid is never cut. A uuid at the end of the text is always shown,
    and so are the HTTP status and the request id at the end of an error.
    """
    if len(text) <= limit and size_bytes(quoted(text)) <= limit:
        return text
    end = _END.search(text[-100:])
    tail = f" {end.group(1)}" if end else ""
    head = text[: len(text) - len(end.group())] if end else text
    if not head:
        return text
    kept = head[: _whole_words(head, limit - size_bytes(f'" {_MARK.format(10**9)}{tail}"'))].rstrip()
    mark = _MARK.format(size_bytes(head) - size_bytes(kept))
    return f"{kept} {mark}{tail}" if kept else f"{mark}{tail}"


def quoted(text: str) -> str:
    """Return the text as one value: in quotation marks if it has blanks, and with escaped control characters."""
    return printable(text if _BARE.match(text) else json.dumps(text, ensure_ascii=False))


def size_bytes(text: str) -> int:
    """Return how many bytes the text takes in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def _whole_words(text: str, room: int) -> int:
    """Return after how many characters to cut the text, so that it fits into ``room`` bytes. No uuid is split.

    The cut is between two words. It is inside a word if a cut between words would leave more than half the room empty.
    """
    count = used = 0
    for character in text[: max(room, 0)]:
        used += _shown_bytes(character)
        if used > room:
            break
        count += 1
    blank = max(text.rfind(" ", 0, count + 1), text.rfind("\n", 0, count + 1))
    end = blank if blank > count // 2 else count
    return next((match.start() for match in _UUID.finditer(text) if match.start() < end < match.end()), end)


def _shown_bytes(character: str) -> int:
    """Return how many bytes the character takes in a quoted value."""
    if " " <= character <= "~" and character not in '"\\':
        return 1
    return size_bytes(quoted(f" {character}")) - _QUOTED_BLANK


def _with_short_command(fields: Mapping[str, object], limit: int) -> Mapping[str, object]:
    """Return the fields. If the command in ``fix`` takes more than ``limit`` bytes, a short command replaces it.

    The short command prints the finding with all its commands.
    """
    command, finding_id = fields.get("fix"), fields.get("finding_id")
    if command is None or size_bytes(quoted(str(command))) <= limit:
        return fields
    return {**fields, "fix": f"stocktake explain {str(finding_id)[:8]}" if finding_id else None}


def _ordered(fields: Mapping[str, object]) -> list[_Pair]:
    shown = {name for name, value in fields.items() if value is not None and value != ""}
    shown -= {name for name, other in _REPEATED.items() if other in shown}
    others = sorted(shown - {*FIRST, *LAST})
    names = (*(name for name in FIRST if name in shown), *others, *(name for name in LAST if name in shown))
    return [_Pair(name, fields[name]) for name in names]


def _most_important(pairs: Sequence[_Pair], room: int) -> list[str]:
    """Return the texts of the fields that fit into ``room`` bytes, and a text that counts the omitted fields.

    Each value is cut to the smallest limit in ``_TIGHTER``, unless its field is in ``_WHOLE``.
    """
    texts = {pair.name: pair.text(_TIGHTER[-1]) for pair in pairs}
    others = [name for name in texts if name not in {*FIRST, *LAST}]
    expendable = [*reversed(others), *(name for name in _EXPENDABLE if name in texts)]
    for left_out, name in enumerate(expendable, start=1):
        if sum(map(size_bytes, texts.values())) <= room:
            break
        del texts[name]
        texts["left_out"] = f" left_out={left_out}"
    ends = [name for name in texts if name in LAST]
    return [*(text for name, text in texts.items() if name not in ends), *(texts[name] for name in ends)]
