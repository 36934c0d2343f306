"""Describe for the operator which values an option accepts.

oslo.config's own messages are exception texts of its types ("invalid literal for int() with base 10", a regular
expression). For a list, such a message may quote a correct item. So this module derives its text from the option's type
and never from oslo.config's message.
"""

from __future__ import annotations

from typing import Any

from oslo_config import types


def wanted(kind: Any) -> str | None:  # noqa: ANN401 - oslo.config's types have no typed base class
    """Return a text like ``must be a number`` for an oslo.config type; None if this module does not know the type."""
    if isinstance(kind, types.List):
        each = _one(kind.item_type)
        return each and f"must be a comma-separated list, each item {each}"
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
