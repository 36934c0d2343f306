"""Gather what is wrong over several readers, so that the operator sees the whole list and not its first line."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent.config.load import Loaded
from agent.errors import ConfigError

Reader = Callable[[Loaded], object]


def problems_of(loaded: Loaded, readers: Iterable[Reader]) -> tuple[str, ...]:
    """Every sentence of every ConfigError that the readers raise, in order and once."""
    problems: list[str] = []
    for read in readers:
        try:
            read(loaded)
        except ConfigError as error:
            problems += error.problems
    return tuple(dict.fromkeys(problems))


def refuse(problems: Iterable[str]) -> None:
    """Raise ConfigError with these, if there is one."""
    if found := tuple(problems):
        raise ConfigError(*found)
