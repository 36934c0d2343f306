"""Collect problems of the configuration, and decide whether a wrong value prevents the start.

The file that sets the value decides. A wrong value in Stocktake's own files is an error. If nova-compute accepts and
ignores a wrong value in nova.conf, the agent ignores the value too and logs a notice: a nova.conf with which
nova-compute starts must not stop the agent. If nova-compute rejects a value in nova.conf, or cannot update Placement
with this value, the value is an error for the agent too: the option's reader uses ``refuse`` and not ``Tolerated``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from agent.config.loaded import Key, Loaded
from agent.errors import ConfigError


def problems_of(loaded: Loaded, readers: Iterable[Callable[[Loaded], object]]) -> tuple[str, ...]:
    """Call each reader, and return the problems of every ConfigError raised, in order and without repetition."""
    problems: list[str] = []
    for read in readers:
        try:
            read(loaded)
        except ConfigError as error:
            problems += error.problems
    return tuple(dict.fromkeys(problems))


def refuse(problems: Iterable[str]) -> None:
    """Raise ConfigError with these problems; do nothing if there are none."""
    if found := tuple(problems):
        raise ConfigError(*found)


class Tolerated(NamedTuple):
    """An option that the agent checks and nova-compute does not check. A wrong value in nova.conf is tolerated.

    ``outcome`` says what the agent does with a wrong value in nova.conf.
    """

    key: Key
    problems: Callable[[Loaded], Iterable[str]]
    outcome: str

    def refuse_own(self, loaded: Loaded) -> None:
        """Raise ConfigError with the problems of the option's value, unless the value comes from nova.conf."""
        if not is_novas(loaded, self.key):
            refuse(self.problems(loaded))

    def notices(self, loaded: Loaded) -> Iterator[str]:
        """Yield a notice for each problem of a value that comes from nova.conf."""
        yield from novas_notices(loaded, self.key, self.problems(loaded), self.outcome)


def novas_notices(loaded: Loaded, key: Key, problems: Iterable[str], outcome: str) -> Iterator[str]:
    """Yield a notice for each problem of a value from nova.conf. ``outcome`` says how the agent treats the value."""
    if is_novas(loaded, key):
        yield from (f"{problem}. nova-compute starts despite this value; {outcome}" for problem in problems)


def is_novas(loaded: Loaded, key: Key) -> bool:
    """Return whether the effective value comes from nova.conf."""
    return loaded.origin(*key) in loaded.nova_files
