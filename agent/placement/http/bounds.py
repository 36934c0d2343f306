"""Decide how large an answer may be, by what was asked: its bytes, how far it unpacks, the memory that its JSON takes.

What a newcomer would get wrong: the bytes of an answer say little about the memory that
its JSON takes. 16 MiB of ``[],[],[]`` become 400 MiB of Python objects. So the
characters that begin a JSON value are counted before anything is parsed, and each has
the price of the largest object that it can begin (CPython 3.11; ``tests/unit/placement/http/test_bounds.py``
measures them). A character inside a string counts too: the estimate is never too low, and for
a list of allocations about twice what is needed.

Nothing here depends on how the server splits an answer. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20
#: JSON of Placement packs to a fifth or a tenth of its size; gzip goes up to 1,000 for one letter repeated.
MOST_TIMES_PACKED = 100

# Bytes of memory for each such character. Dictionaries pay for their tables by the colon: a table that has just
# grown has room for four times as many entries.
_PRICES = ((b"{", 64), (b"[", 96), (b":", 120), (b",", 40), (b'"', 32))
# A text holds each of its characters in as many bytes as the widest one needs. While json.loads puts a string with
# escapes together it may hold it twice.
_WIDEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The most that is taken of one answer. ``subject`` is what was asked, ``remedy`` what the operator can do.

    ``most_bytes`` is the size unpacked, ``most_memory_bytes`` what text and parsed JSON take together.
    """

    subject: str
    most_bytes: int
    most_memory_bytes: int
    remedy: str


_FOREIGN = "check what answers there: a proxy, a cache, another service"

#: What the daemon asks. The largest is who holds what of a provider that shares with our tree: 30,000 consumers of
#: one class each, as of a store, or 20,000 of three.
OWN = Bound(
    subject="one host's tree or one consumer",
    most_bytes=16 * MIB,
    most_memory_bytes=40 * MIB,
    remedy=f"{_FOREIGN}; if Placement itself answers there, count the allocations of that provider",
)
#: A token with its catalog: 250 bytes for each endpoint.
TOKEN = Bound(
    subject="a token with its catalog",
    most_bytes=16 * MIB,
    most_memory_bytes=40 * MIB,
    remedy=f"{_FOREIGN} at [placement] auth_url",
)
#: What only a command asks: 840 bytes for each provider, 72 MiB of 10,000 hosts with eight children.
WHOLE_CLOUD = Bound(
    subject="the whole cloud",
    most_bytes=256 * MIB,
    most_memory_bytes=2048 * MIB,
    remedy=f"{_FOREIGN}; ask without --everywhere on a host of its own tree",
)


class Tally:
    """What has come of one answer so far; ``problem`` says why no more of it is taken."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._size_bytes = 0
        self._objects_bytes = 0
        self._is_wide = False
        self._has_escapes = False

    def add(self, piece: bytes) -> None:
        """The next piece, unpacked."""
        self._size_bytes += len(piece)
        self._objects_bytes += sum(price * piece.count(character) for character, price in _PRICES)
        self._is_wide = self._is_wide or not piece.isascii()
        self._has_escapes = self._has_escapes or b"\\" in piece

    @property
    def memory_bytes(self) -> int:
        """At most so much: the text, and what json.loads makes of it."""
        text_width = _WIDEST if self._is_wide else 1
        content_width = 2 * _WIDEST if self._has_escapes else text_width
        return self._size_bytes * (text_width + content_width) + self._objects_bytes

    def problem(self, packed_bytes: int | None) -> str | None:
        """Why the answer is not taken; None while it is. ``packed_bytes``: so many have come; None: nobody counts."""
        bound = self._bound
        of = f"the most that is taken of {bound.subject}: {bound.remedy}"
        if self._size_bytes > bound.most_bytes:
            return f"the answer is larger than {bound.most_bytes // MIB} MiB, {of}"
        if packed_bytes is not None and self._size_bytes > MOST_TIMES_PACKED * packed_bytes:
            return f"the answer unpacks to more than {MOST_TIMES_PACKED} times its size, {of}"
        if self.memory_bytes > bound.most_memory_bytes:
            return f"the answer needs more than {bound.most_memory_bytes // MIB} MiB of memory, {of}"
        return None
