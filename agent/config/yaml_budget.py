"""Limit the size of one YAML file: its text before parsing, and its number of nodes once aliases are followed.

An alias costs nothing when YAML is parsed, because an alias is a reference. Afterwards an alias is expensive: code that
walks over the document visits the referenced node each time. For example, let each list have ten aliases of the list
before it: then every 50 bytes of text multiply the visited nodes by ten.
"""

from __future__ import annotations

from typing import Any, TextIO

from agent.errors import ConfigError

#: The maximum number of characters of a file. About 1,700 providers fit, each with an inventory and two traits. To read
#: such a file takes 1.5 s. An operator who has more providers may use several files.
MOST_CHARACTERS = 1 << 18
#: The maximum number of nodes. A provider.yaml file without aliases normally has fewer nodes, even if its text has the
#: maximum length.
MOST_PARTS = 50_000


def read_bounded(path: str, file: TextIO) -> str:
    """Return the file's text. Raises ConfigError if the text is too long, UnicodeDecodeError if it is not UTF-8."""
    text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(f"{path}: the file is longer than {MOST_CHARACTERS} characters: split it into several files")
    return text


def check_parts(path: str, root: Any) -> None:  # noqa: ANN401 - yaml has no types
    """Raise ConfigError if the document has too many nodes, RecursionError if the document contains itself."""
    parts = _parts(root, {})
    if parts > MOST_PARTS:
        amount = f"{parts} values" if parts < 10**12 else "more than 10^12 values"
        raise ConfigError(
            f"{path}: the file has {amount} after its aliases are replaced; the limit is {MOST_PARTS}: use fewer "
            "aliases"
        )


def _parts(node: Any, known: dict[int, int]) -> int:  # noqa: ANN401 - as above
    """Return how many nodes a walk from ``node`` visits if it follows aliases. ``known`` caches the numbers."""
    if id(node) not in known:
        children = node.value if isinstance(node.value, list) else ()
        below = (part for child in children for part in (child if isinstance(child, tuple) else (child,)))
        known[id(node)] = 1 + sum(_parts(part, known) for part in below)
    return known[id(node)]
