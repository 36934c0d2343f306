"""Bound what one YAML file may become: its text before it is parsed, its parts once aliases are followed.

What surprises: an alias costs nothing when YAML is parsed, since it is a reference, and
everything afterwards, since whoever walks over the document visits the referenced part
each time. Ten aliases of a list of ten aliases of … grow ten times with each 50 bytes.
"""

from __future__ import annotations

from typing import Any, TextIO

from agent.errors import ConfigError

#: Some 1700 providers with an inventory and two traits each: read in 1.5 s. There may be several files.
MOST_CHARACTERS = 1 << 18
#: More parts than such a file has.
MOST_PARTS = 50_000


def read_bounded(path: str, file: TextIO) -> str:
    """The whole text. Raises ConfigError, naming the file, where that is too long; UnicodeDecodeError."""
    text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(f"{path}: longer than {MOST_CHARACTERS} characters: use several files")
    return text


def check_parts(path: str, root: Any) -> None:  # noqa: ANN401 - yaml has no types
    """Raise ConfigError where the document of this node has too many parts, RecursionError where it holds itself."""
    parts = _parts(root, {})
    if parts > MOST_PARTS:
        amount = f"{parts} parts" if parts < 10**12 else "more than 10^12 parts"
        raise ConfigError(
            f"{path}: it has {amount} once its aliases are followed, and may have {MOST_PARTS}: write out what is meant"
        )


def _parts(node: Any, known: dict[int, int]) -> int:  # noqa: ANN401 - as above
    """How many nodes a walk from this one visits; each node is counted once, however many aliases name it."""
    if id(node) not in known:
        children = node.value if isinstance(node.value, list) else ()
        below = (part for child in children for part in (child if isinstance(child, tuple) else (child,)))
        known[id(node)] = 1 + sum(_parts(part, known) for part in below)
    return known[id(node)]
