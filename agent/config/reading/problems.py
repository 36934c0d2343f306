"""Collect the problems of several functions, so that the operator sees the whole list and not only the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent.config.load import Loaded
from agent.errors import ConfigError

Reader = Callable[[Loaded], object]


def problems_of(loaded: Loaded, readers: Iterable[Reader]) -> tuple[str, ...]:
    """Return every sentence of every ConfigError that the readers raise, in order and without repetition."""
    problems: list[str] = []
    for read in readers:
        try:
            read(loaded)
        except ConfigError as error:
            problems += error.problems
    return tuple(dict.fromkeys(problems))


def refuse(problems: Iterable[str]) -> None:
    """Raise ConfigError with these problems, if there are any."""
    if found := tuple(problems):
        raise ConfigError(*found)
