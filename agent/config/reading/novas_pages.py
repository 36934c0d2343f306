"""Parse an entry of nova.conf's ``reserved_huge_pages`` as nova-compute does. The agent's own parser accepts less.

nova (nova/virt/hardware.py:numa_get_reserved_huge_pages) reads each number with Python's int(), which accepts ``+8``,
``1_0`` and ``-8``. If int() cannot read a size, nova uses oslo.utils' string_to_bytes (``1.5MB``; ``2Mb`` is megabits).
nova ignores unknown keys. An entry may name pages that no host has, such as pages of half a KiB; nova-compute starts
with such an entry.

Pure: no I/O.
"""

from __future__ import annotations

import math
import re

from agent.model.settings import ReservedPages

KEYS = ("node", "size", "count")
_SIZE = re.compile(r"(?P<number>[-+]?\d*\.?\d+)(?:(?P<unit>[KMGTPEZYRQ])i?)?(?P<kind>b|bit|B)\Z")
_UNITS = "KMGTPEZYRQ"


def parse_novas_pages(text: str) -> ReservedPages | None:
    """Return the reserved pages; None if size, node or count has a value that no host can have.

    Raises ValueError as nova does.
    """
    pairs = [item.partition(":") for item in text.split(",")]
    if broken := [key for key, colon, _ in pairs if not colon]:
        raise ValueError(f"{broken[0].strip()!r} is not KEY:VALUE; an entry is node:N,size:S,count:C")
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    if missing := [key for key in KEYS if key not in fields]:
        raise ValueError(f"the entry lacks {' and '.join(missing)}; a whole entry is node:N,size:S,count:C")
    cell, size_bytes, count = _whole("node", fields), _size_bytes(fields["size"]), _whole("count", fields)
    size_kib, rest = divmod(size_bytes, 1 << 10)
    if rest or size_kib < 1 or cell < 0 or count < 0:
        return None
    return ReservedPages(cell=cell, size_kib=size_kib, count=count)


def _whole(key: str, fields: dict[str, str]) -> int:
    try:
        return int(fields[key])
    except ValueError:
        raise ValueError(f"{key} {fields[key]!r} is not a whole number") from None


def _size_bytes(text: str) -> int:
    try:
        return int(text) << 10
    except ValueError:
        found = _SIZE.match(text)
    if found is None:
        raise ValueError(f"size {text!r} is not a page size; write it in KiB, or with a unit as in 2MB or 1GB")
    parts = 1 if found["kind"] == "B" else 8
    power = _UNITS.index(found["unit"]) + 1 if found["unit"] else 0
    return math.ceil(float(found["number"]) / parts * math.pow(1024, power))
