"""Decide what an audit reads of Placement although no generation moved, by whether it is this host's turn.

A generation that stands still does not prove that nothing was removed, so allocations
are read again every k audits. What a newcomer would get wrong: inventories, traits and
aggregates cannot change under a generation that stands still, but the page may: a
database that was put back from a backup counts on from an old generation to one that
was seen before, and a proxy may answer with an old page. So every 10 k audits all of
it is read anew. Which audit is whose turn follows from the host's identity, so that hosts that
started together do not read together. Pure.
"""

from __future__ import annotations

import enum

from agent.timing.splay import phase

# Turns for allocations to one for everything.
EVERYTHING_AFTER = 10
SALT = "full-read"


class Turn(enum.Enum):
    """What an audit reads again. EVERYTHING contains ALLOCATIONS."""

    NOTHING = "nothing"
    ALLOCATIONS = "allocations"
    EVERYTHING = "everything"


def turn(root_uuid: str, audit: int, every: int) -> Turn:
    """What the ``audit``-th audit since the start (1 is the first) reads again; ``every`` is ``full_read_every``.

    In any ``every`` audits in a row one is ALLOCATIONS or more, in any ``10 every`` one is EVERYTHING.
    """
    position = (audit + _offset(root_uuid, every)) % (every * EVERYTHING_AFTER)
    if position == 0:
        return Turn.EVERYTHING
    return Turn.ALLOCATIONS if position % every == 0 else Turn.NOTHING


def overdue(its: Turn, audits_since: int, every: int) -> Turn:
    """``its``, or EVERYTHING where that turn fell into an outage ``audits_since`` the last full read.

    It is made up for in the next turn for allocations: a fleet that comes back must not read all of it at once.
    """
    return Turn.EVERYTHING if its is Turn.ALLOCATIONS and audits_since >= every * EVERYTHING_AFTER else its


def audits_to_turn(root_uuid: str, audit: int, every: int) -> int:
    """How many audits after the ``audit``-th the next turn comes, 1 to ``every``."""
    return every - (audit + _offset(root_uuid, every)) % every


def _offset(root_uuid: str, every: int) -> int:
    return int(phase(root_uuid, SALT) * every * EVERYTHING_AFTER)
