"""What one run of heal may do, by what the simulation knows about the agent, its host and its operator.

The rules in computes.py are about nova-compute and the cloud's rows, and Watched (host_agent.py) checks each write
against the truth. The rules here are about a run as a whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from agent.healing.heal import Prepared
from agent.model.heal import HealNote
from agent.model.settings import Role, Settings
from agent.repairs import BY_CODE


class BrokenRule(AssertionError):
    """heal did what one of its guard rails forbids."""


class Reported(NamedTuple):
    """Since which second of the cloud audits in a row have reported a finding, and how many of them count.

    An audit counts if it begins at least ``[agent] confirm_spacing`` after the last one that counts, at ``last``.
    """

    since: int
    last: int | None = None
    audits: int = 0

    def again(self, began: int, settings: Settings) -> Reported:
        """Return the state after another audit that reported the finding, begun at that second."""
        if self.last is not None and began - self.last < settings.confirm_spacing_s:
            return self
        return Reported(self.since, began, self.audits + 1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of heal: what it tried to change, and what the simulation knows about the moment.

    ``failed`` are the sources that the run's audit could not read. ``undone`` are ids of findings whose repair an
    operator put back, and their consumers; empty if an operator started the run. ``consumers`` is how many consumers
    the audit listed on the host. ``reported``: the reports of each finding, by its id; ``second`` is the time after the
    run. ``has_read_allocations``: the audit itself read the allocations on the host. ``is_cloned``: the host has the
    identity of another host.
    """

    host: str
    settings: Settings
    tried: tuple[HealNote, ...]
    failed: frozenset[str]
    undone: frozenset[str]
    consumers: int
    reported: Mapping[str, Reported]
    second: int
    has_read_allocations: bool
    is_cloned: bool


def check_answered(wanted: Prepared) -> None:
    """Raise BrokenRule if the plan neither repairs nor refuses a requested finding for which there is no repair."""
    refused = {refusal.finding_id for refusal in wanted.plan.refusals}
    silent = [s.finding.code for s in wanted.asked if s.finding.code not in BY_CODE and s.finding.id not in refused]
    if silent:
        raise BrokenRule(f"heal says nothing about the requested {', '.join(silent)}")


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
    if not run.has_read_allocations:
        raise BrokenRule(f"{told}, and the audit did not read the allocations on the host")
    _check_reports(run, told)
    repeated = [note.consumer_uuid for note in run.tried if {note.finding_id, note.consumer_uuid} & run.undone]
    if repeated:
        raise BrokenRule(f"{told}, and an operator has put back the repair of {', '.join(map(str, repeated))}")
    _check_limits(run, told)


def _check_reports(run: Run, told: str) -> None:
    heal, needed = run.settings.heal, run.settings.confirm_audits
    for note in run.tried:
        reported = run.reported.get(note.finding_id, Reported(run.second))
        if reported.audits < needed:
            raise BrokenRule(f"{told}, and {reported.audits} of {needed} audits in a row had seen {note.code}")
        if run.second - reported.since < heal.min_age_s:
            raise BrokenRule(f"{told}, and {note.code} was first seen {run.second - reported.since} s ago")


def _check_limits(run: Run, told: str) -> None:
    changed = [note.consumer_uuid for note in run.tried]
    if len(set(changed)) < len(changed):
        raise BrokenRule(f"{told}, two of them of one consumer")
    heal = run.settings.heal
    if len(changed) > min(heal.max_consumers, max(1, int(run.consumers * heal.max_percent / 100))):
        limits = f"max_consumers {heal.max_consumers}, max_percent {heal.max_percent:g}"
        raise BrokenRule(f"{told} of {run.consumers} consumers, with {limits}")
