"""What a value of an option must be, in an operator's words.

oslo.config's own messages are its types' exceptions ("invalid literal for int() with
base 10", a regular expression). Of a list they may quote other items than the wrong
one, so what is said here rests on the type and never on the message.
"""

from __future__ import annotations

from typing import Any

from oslo_config import types


def wanted(kind: Any) -> str | None:  # noqa: ANN401 - oslo.config's types have no common one that is typed
    """``must be …`` of a type of oslo.config; None where only the type itself knows."""
    if isinstance(kind, types.List):
        each = _one(kind.item_type)
        return each and f"must be a list with commas between, each {each}"
    one = _one(kind)
    return one and f"must be {one}"


def _one(kind: Any) -> str | None:  # noqa: ANN401 - as above
    if choices := getattr(kind, "choices", None):
        return f"one of {', '.join(map(str, choices))}"
    if isinstance(kind, types.Boolean):
        return "true or false"
    if isinstance(kind, types.Number):
        noun = "a whole number" if isinstance(kind, types.Integer) else "a number"
        bounds = (("at least", kind.min), ("at most", kind.max))
        return ", ".join((noun, *(f"{words} {bound}" for words, bound in bounds if bound is not None)))
    return None
