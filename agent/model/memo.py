"""Decorators that cache the last result of a pure function and return it while the arguments stay the same.

Several parts of one audit call a function with equal arguments, and so do consecutive audits of a quiet host.
Each cache has one entry and compares the arguments instead of hashing thousands of values. The comparison is fast
because unchanged parts of the facts are the same objects from read to read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def for_equal_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Cache the last result for arguments that are equal. The arguments must be immutable values."""
    last: list[tuple[tuple[object, ...], R]] = []

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"{function.__name__} takes its arguments by position")
        kept = last[0] if last else None  # read once: another thread may replace the entry at any time
        if kept is not None and kept[0] == args:
            return kept[1]
        answer = function(*args, **kwargs)
        last[:] = [(args, answer)]
        return answer

    return asked


def for_the_same_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Cache the last result for arguments that are the same objects. The decorator never compares values."""
    last: list[tuple[tuple[object, ...], R]] = []

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"{function.__name__} takes its arguments by position")
        kept = last[0] if last else None
        if kept is not None and len(kept[0]) == len(args) and all(a is b for a, b in zip(kept[0], args, strict=True)):
            return kept[1]
        answer = function(*args, **kwargs)
        last[:] = [(args, answer)]
        return answer

    return asked
