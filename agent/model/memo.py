"""The last answer of a pure function, given again while its arguments are what they were.

Several parts of one audit ask the same, and on a quiet host audit after audit does.
One answer is kept, and no hash is made of a thousand values to find it: unchanged
parts of the facts are the same objects from read to read, and those compare at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def for_equal_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function; asked with arguments equal to the last ones it gives the last answer. For values only."""
    last: list[tuple[tuple[object, ...], R]] = []

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"{function.__name__} takes its arguments by position")
        kept = last[0] if last else None  # read once: another thread may put its own there meanwhile
        if kept is not None and kept[0] == args:
            return kept[1]
        answer = function(*args, **kwargs)
        last[:] = [(args, answer)]
        return answer

    return asked


def for_the_same_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function; asked with the very objects of the last time it gives the last answer, and compares nothing."""
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
