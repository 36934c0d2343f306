"""Guard rails of heal: checks that can refuse a repair, one module per check.

Each module defines a GUARD: a name, and a pure function that returns why it refuses a GuardedFinding, or None.
agent/healing/plan.py asks the guards in the order of the tuples ``BEFORE`` and ``AFTER``; heal reports the first
refusal. The guards in ``BEFORE`` judge a finding before heal reads the record of the finding's consumer. The guards in
``AFTER`` also judge the proposed change.

Begin with base.py (``Guard``, ``GuardedFinding``), then read confirmed.py. To add a guard, add a module here and a line
in one of the two tuples.

Not here: the change itself (agent/repairs), and the plan, the checks right before a write, and the writes
(agent/healing).
"""

from __future__ import annotations

from agent.guards import (
    after_nova,
    allocation_steady,
    confirmed,
    identity,
    max_consumers,
    max_percent,
    minimum_age,
    no_rival,
    nova_at_work,
    nova_started,
    one_change,
    own_part,
    record_unmoved,
    recorded_fresh,
    repairable,
    role,
    sources_fresh,
    undone,
)
from agent.guards.base import Guard

BEFORE: tuple[Guard, ...] = (
    repairable.GUARD,
    role.GUARD,
    undone.GUARD,
    sources_fresh.GUARD,
    identity.GUARD,
    no_rival.GUARD,
    confirmed.GUARD,
    minimum_age.GUARD,
    after_nova.GUARD,
    allocation_steady.GUARD,
    nova_at_work.GUARD,
    nova_started.GUARD,
    recorded_fresh.GUARD,
)
AFTER: tuple[Guard, ...] = (
    record_unmoved.GUARD,
    own_part.GUARD,
    one_change.GUARD,
    max_consumers.GUARD,
    max_percent.GUARD,
)
BUILTIN: tuple[Guard, ...] = (*BEFORE, *AFTER)
#: The guards that limit the changes of one run. A change that these guards refuse can be made by the next run.
LIMITS_OF_A_RUN = frozenset({one_change.GUARD.name, max_consumers.GUARD.name, max_percent.GUARD.name})
