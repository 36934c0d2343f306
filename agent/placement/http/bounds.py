"""Decide how large an answer may be for each kind of request: its bytes, its compression, and its memory as JSON.

The bytes of an answer say little about the memory that its JSON takes: 16 MiB of ``[],[],[]`` become 400 MiB of Python
objects. So ``Tally`` estimates the memory before anything is parsed. It counts the characters that begin a JSON value,
such as ``[``, and multiplies them by the bytes of the largest Python object that can result (``_PRICES``; CPython 3.11,
measured by ``tests/unit/placement/http/test_bounds.py``). A character inside a string counts too. The estimate is
therefore never too low, and about twice the real need for a list of allocations.

The result does not depend on how the server splits an answer. Pure: no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20
#: The largest decompression factor that the agent accepts. Placement's JSON has a factor of 5 to 10; the gzip text of
#: a repeated letter reaches 1,000.
MOST_TIMES_PACKED = 100

# How many bytes of memory each of these characters of a JSON text may need after parsing. A colon stands for one entry
# of a dictionary. An entry needs many bytes, because a dictionary that has just grown has room for four times its
# entries.
_PRICES = ((b"{", 64), (b"[", 96), (b":", 120), (b",", 40), (b'"', 32))
# The most bytes that a character of a Python string takes. All characters of a string take as many bytes as the widest
# one. json.loads may hold a string with backslash escapes twice while it decodes the string.
_WIDEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The size limit of one answer. ``subject`` names the request, ``remedy`` says what the operator can do.

    ``most_bytes`` limits the uncompressed size, ``most_memory_bytes`` the memory of text and parsed JSON together.
    """

    subject: str
    most_bytes: int
    most_memory_bytes: int
    remedy: str


_FOREIGN = "check whether a proxy, a cache or another service answers instead of"

#: The limit for one answer to the daemon. The largest answer lists the allocations on a sharing provider, for example a
#: storage that many hosts share. The limit suffices for 30,000 consumers of one resource class (storage), or for 20,000
#: consumers of three classes.
OWN = Bound(
    subject="one host's tree or one consumer",
    most_bytes=16 * MIB,
    most_memory_bytes=40 * MIB,
    remedy=f"{_FOREIGN} Placement at this URL; if Placement itself answers, a provider may have too many allocations",
)
#: The limit for Keystone's answer to a token request. The answer has a token and the service catalog. The catalog takes
#: 250 bytes for each endpoint.
TOKEN = Bound(
    subject="a token with its catalog",
    most_bytes=16 * MIB,
    most_memory_bytes=40 * MIB,
    remedy=f"{_FOREIGN} Keystone at [placement] auth_url",
)
#: The size limit for answers to requests that only a command sends. Such an answer takes 840 bytes for each provider:
#: 72 MiB in a cloud of 10,000 hosts with eight child providers each.
WHOLE_CLOUD = Bound(
    subject="the whole cloud",
    most_bytes=256 * MIB,
    most_memory_bytes=2048 * MIB,
    remedy=f"{_FOREIGN} Placement at this URL; or ask about one host only: run the command there, without --everywhere",
)


class Tally:
    """Counts the bytes of one answer while it arrives; ``problem`` says why the answer is too large."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._size_bytes = 0
        self._objects_bytes = 0
        self._is_wide = False
        self._has_escapes = False

    def add(self, piece: bytes) -> None:
        """Count the next piece of the uncompressed answer."""
        self._size_bytes += len(piece)
        self._objects_bytes += sum(price * piece.count(character) for character, price in _PRICES)
        self._is_wide = self._is_wide or not piece.isascii()
        self._has_escapes = self._has_escapes or b"\\" in piece

    @property
    def memory_bytes(self) -> int:
        """The most bytes of memory that the text and the result of json.loads together take (an estimate)."""
        text_width = _WIDEST if self._is_wide else 1
        content_width = 2 * _WIDEST if self._has_escapes else text_width
        return self._size_bytes * (text_width + content_width) + self._objects_bytes

    def problem(self, packed_bytes: int | None) -> str | None:
        """Return why the answer is too large; None if it is not. ``packed_bytes`` is its compressed size, if known."""
        bound = self._bound
        limit_and_remedy = f"the limit for {bound.subject}; {bound.remedy}"
        if self._size_bytes > bound.most_bytes:
            return f"the answer is larger than {bound.most_bytes // MIB} MiB, {limit_and_remedy}"
        if packed_bytes is not None and self._size_bytes > MOST_TIMES_PACKED * packed_bytes:
            return f"the answer unpacks to more than {MOST_TIMES_PACKED} times its size, {limit_and_remedy}"
        if self.memory_bytes > bound.most_memory_bytes:
            return f"the answer needs more than {bound.most_memory_bytes // MIB} MiB of memory, {limit_and_remedy}"
        return None
