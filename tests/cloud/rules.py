"""What one run of heal may do, by what the simulation knows about the agent, its host and its operator.

The rules in computes.py are about nova-compute and the cloud's rows, and Watched (host_agent.py) checks each write
against the truth. The rules here are about a run as a whole.
"""

from __future__ import annotations

import dataclasses

from agent.model.heal import HealNote
from agent.model.settings import Role, Settings


class BrokenRule(AssertionError):
    """heal did what one of its guard rails forbids."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of heal: what it tried to change, and what the simulation knows about the moment.

    ``failed`` are the sources that the run's audit could not read. ``undone`` are ids of findings whose repair an
    operator put back, and their consumers; empty if an operator started the run. ``consumers`` is how many consumers
    the audit listed on the host. ``is_cloned``: the host has the identity of another host.
    """

    host: str
    settings: Settings
    tried: tuple[HealNote, ...]
    failed: frozenset[str]
    undone: frozenset[str]
    consumers: int
    is_cloned: bool


def check_run(run: Run) -> None:
    """Raise BrokenRule if the run tried a change that it may not make."""
    if not run.tried:
        return
    told = f"heal of {run.host} tried {len(run.tried)} changes"
    if run.settings.role is Role.OBSERVER:
        raise BrokenRule(f"{told} in role observer")
    if run.failed:
        raise BrokenRule(f"{told}, and the audit could not read {', '.join(sorted(run.failed))}")
    if run.is_cloned:
        raise BrokenRule(f"{told} with the identity of another host")
    repeated = [note.consumer_uuid for note in run.tried if {note.finding_id, note.consumer_uuid} & run.undone]
    if repeated:
        raise BrokenRule(f"{told}, and an operator has put back the repair of {', '.join(map(str, repeated))}")
    _check_limits(run, told)


def _check_limits(run: Run, told: str) -> None:
    changed = [note.consumer_uuid for note in run.tried]
    if len(set(changed)) < len(changed):
        raise BrokenRule(f"{told}, two of them of one consumer")
    heal = run.settings.heal
    if len(changed) > min(heal.max_consumers, max(1, int(run.consumers * heal.max_percent / 100))):
        limits = f"max_consumers {heal.max_consumers}, max_percent {heal.max_percent:g}"
        raise BrokenRule(f"{told} of {run.consumers} consumers, with {limits}")
