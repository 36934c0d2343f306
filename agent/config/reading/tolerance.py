"""Decide whether a wrong value fails the start; the file that sets the value decides.

A wrong value in Stocktake's own files is an error. If nova-compute accepts and ignores a wrong value in nova.conf, the
agent ignores the value too and logs a notice: a nova.conf with which nova-compute starts must not stop the agent.
A value in nova.conf that nova-compute rejects, or that breaks its audits, is an error for the agent too; modules that
read such options do not use this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.config.load import Key, Loaded
from agent.config.reading.problems import refuse


def refuse_ours(loaded: Loaded, key: Key, problems: Iterable[str]) -> None:
    """Raise ConfigError with the problems of an option's value, unless the value comes from nova.conf."""
    if not is_novas(loaded, key):
        refuse(problems)


def novas_notices(loaded: Loaded, key: Key, problems: Iterable[str], outcome: str) -> Iterator[str]:
    """Yield the problems of a value that comes from nova.conf, each with ``outcome``: what the agent does instead."""
    if is_novas(loaded, key):
        yield from (f"{problem}. nova-compute starts with it; {outcome}" for problem in problems)


def is_novas(loaded: Loaded, key: Key) -> bool:
    """Return whether the effective value comes from nova.conf."""
    return loaded.origin(*key) in loaded.nova_files
