"""Write amounts, verdicts (the results of comparisons) and long lists in words for people. Pure: no I/O.

Many similar entries are counted instead of listed, so that they do not hide the important entries. An unknown value is
never written as 0: it is ``unknown`` if its source could not be read, and ``not counted`` if it has no source.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from agent.model.report import Verdict
from agent.text.amounts import beside_its_class, with_unit

T = TypeVar("T")

# Up to this many similar entries are listed one by one.
FEW = 5
# If similar entries are grouped, this number of them is named.
NAMED = 3
NOT_COUNTED = "not counted"
NOT_COMPARED = "not-compared"
ON_CHILDREN = (
    "on child providers, the agent counts only what Placement records and what flavors request, not what guests use"
)
UNDECIDED = "the agent has no rule for this resource class, so it counts only Placement's allocations"

MEANINGS = {
    Verdict.AGREED: "the cloud, the host and Placement agree",
    Verdict.SETTLING: "a build, a task or a move is in progress: the agent draws no conclusion",
    Verdict.UNKNOWN: "a source or a row that the comparison needs could not be read, or there is nothing to compare",
    Verdict.UNMANAGED: "this amount belongs to a volume or a thin pool that the cloud does not manage",
    Verdict.RESERVED: "the configuration reserves this amount for the host",
    Verdict.ALLOCATION_DIFFERS: "Placement records a different amount than nova's database has for the instance",
    Verdict.ALLOCATION_MISSING: "nova's database has this amount for an instance, but Placement has no allocation",
    Verdict.GUEST_MISSING: "nova's database has this amount for an instance, but libvirt has no guest of this instance",
    Verdict.GUEST_UNKNOWN: "libvirt has the guest, but nova's database has no such instance on this host",
    Verdict.ALLOCATION_LEAKED: "the instance is deleted, and Placement still counts this amount",
    Verdict.ALLOCATION_STALE_MOVE: "the instance is not on this host: it moved away, or its move to "
    "this host failed. Placement still counts this amount here",
    Verdict.CONSUMER_UNKNOWN: "Placement has an allocation for a consumer that is not in nova's database",
    Verdict.OTHER_SERVICE: "the consumer's type shows that another service owns the consumer: Placement counts this "
    "amount, nova does not",
    Verdict.USAGE_UNLISTED: "Placement counts this amount as used, and lists no consumer that has it",
}


def printable(text: str) -> str:
    """Escape control characters, bidirectional marks and lone surrogates, in command output and in the log.

    A tenant chooses the names of instances, and a terminal obeys control characters in them.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    r"""Return the character as ``\uXXXX`` (as in Python and JSON), or as Python's ``\UXXXXXXXX`` beyond U+FFFF."""
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def amount(resource_class: str, value: float | None) -> str:
    """Return the amount as text: ``8 VCPU``, ``4096 MiB``; ``unknown`` for None."""
    return "unknown" if value is None else with_unit(resource_class, value)


def cell(resource_class: str, value: float | None) -> str:
    """Return the amount for a table that already names the class: ``8``, ``4096 MiB``; ``unknown`` for None."""
    return "unknown" if value is None else beside_its_class(resource_class, value)


def some_of(names: Sequence[str], most: int = NAMED) -> str:
    """Return a shortened list: ``a, b, c and 39 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def alike(items: Iterable[T], likeness: Callable[[T], Hashable]) -> tuple[tuple[T, ...], ...]:
    """Return the items in tuples: if more than ``FEW`` items have the same ``likeness``, they share one tuple.

    Every other item has a tuple of its own. Each tuple stands where its first member stood among the items.
    """
    grouped: dict[Hashable, list[T]] = defaultdict(list)
    keyed = [(likeness(item), item) for item in items]
    for key, item in keyed:
        grouped[key].append(item)
    together = {key: tuple(members) for key, members in grouped.items() if len(members) > FEW}
    # At the first member of a group, pop() returns the whole group. At each further member pop() returns an empty
    # tuple, which the return statement leaves out.
    grouped_once = (together.pop(key, ()) if len(grouped[key]) > FEW else (item,) for key, item in keyed)
    return tuple(members for members in grouped_once if members)


def wrapped(text: str, width: int, indent: str = "    ") -> list[str]:
    """Return lines of at most ``width`` characters. A longer word stays in one piece, because it may be a name."""
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
