"""Decide which audits read Placement again although no generation changed.

Placement does not increase a generation when an allocation is removed, so the agent reads allocations again every k
audits (k is ``full_read_every``). Inventories, traits and aggregates cannot change without a new generation. But an
equal generation may still mislead in two cases. After Placement's database is restored from a backup, a generation that
the agent knows may occur a second time. A proxy may return an old response. So the agent reads everything again every
10 x k audits. The host's identity selects these audits, so that hosts that start together do not read together. Pure:
no I/O.
"""

from __future__ import annotations

import enum

from agent.timing.splay import phase

# Every tenth scheduled read covers allocations, inventories, traits and aggregates; the nine others cover allocations.
EVERYTHING_AFTER = 10
SALT = "full-read"


class Turn(enum.Enum):
    """What an audit reads from Placement although no generation changed. EVERYTHING includes ALLOCATIONS."""

    NOTHING = "nothing"
    ALLOCATIONS = "allocations"
    EVERYTHING = "everything"


def turn(root_uuid: str, audit: int, every: int) -> Turn:
    """Return what an audit reads although no generation changed. ``audit``: the audit's number since the agent's start.

    ``every`` is the option ``full_read_every``. For example with 5, one audit in 5 reads ALLOCATIONS or EVERYTHING, and
    one audit in 50 reads EVERYTHING.
    """
    position = (audit + _offset(root_uuid, every)) % (every * EVERYTHING_AFTER)
    if position == 0:
        return Turn.EVERYTHING
    return Turn.ALLOCATIONS if position % every == 0 else Turn.NOTHING


def overdue(its: Turn, audits_since: int, every: int) -> Turn:
    """Return EVERYTHING if the schedule (``its``) says ALLOCATIONS and the agent missed a full read; else ``its``.

    ``audits_since`` is the number of audits since the last full read. The agent makes up for a missed full read only at
    the next scheduled read of allocations: after an outage a whole fleet must not read everything at the same time.
    """
    return Turn.EVERYTHING if its is Turn.ALLOCATIONS and audits_since >= every * EVERYTHING_AFTER else its


def audits_to_turn(root_uuid: str, audit: int, every: int) -> int:
    """Return the number of audits from audit number ``audit`` to the next scheduled read: 1 to ``every``."""
    return every - (audit + _offset(root_uuid, every)) % every


def _offset(root_uuid: str, every: int) -> int:
    return int(phase(root_uuid, SALT) * every * EVERYTHING_AFTER)
