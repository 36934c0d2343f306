"""Decide whether a wrong value ends the start, by the file that it stands in.

In our own file it is refused. A value in nova.conf that nova-compute takes and ignores is left out, with a notice: a
nova.conf that nova-compute starts with must not stop the agent. A value in nova.conf that nova-compute refuses, or that
breaks its audits, is refused here too; its reader does not come through here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.config.load import Key, Loaded
from agent.config.reading.problems import refuse


def refuse_ours(loaded: Loaded, key: Key, problems: Iterable[str]) -> None:
    """Raise ConfigError with what is wrong with an option's value, unless the value stands in nova.conf."""
    if not is_novas(loaded, key):
        refuse(problems)


def novas_notices(loaded: Loaded, key: Key, problems: Iterable[str], outcome: str) -> Iterator[str]:
    """The same sentences for a value that stands in nova.conf, and ``outcome``: what is done with it."""
    if is_novas(loaded, key):
        yield from (f"{problem}. nova-compute starts with it; {outcome}" for problem in problems)


def is_novas(loaded: Loaded, key: Key) -> bool:
    """Whether the value in force stands in nova.conf."""
    return loaded.origin(*key) in loaded.nova_files
