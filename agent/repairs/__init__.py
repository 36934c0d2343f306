"""Repairs: the change that fixes a finding, one module per finding code that heal can repair.

Each module defines a REPAIR: the code, the sources that it needs, and a pure function that proposes a change or
declines with the reason. The order of ``BUILTIN`` is the order of a plan. If two findings need the same change of a
consumer, the plan contains the change once, for the first finding.

Begin with base.py (``Repair``; ``Scene``: all facts of a run), then read allocation_leaked.py, the shortest repair. To
add a repair, add a module here, its import and a line in ``BUILTIN``.

Not here: the detection of the difference (agent/findings), the decision whether heal may make the change
(agent/guards), and the plan and the writes (agent/healing).
"""

from __future__ import annotations

from agent.repairs import (
    allocation_differs,
    allocation_leaked,
    allocation_missing,
    allocation_stale_move,
    consumer_on_several_providers,
    consumer_project_differs,
    migration_finished_but_counted,
    pci_allocation_missing,
    reshape_needed,
)
from agent.repairs.base import AnyRepair, StartedBy

BUILTIN: tuple[AnyRepair, ...] = (
    allocation_leaked.REPAIR,
    allocation_stale_move.REPAIR,
    consumer_on_several_providers.REPAIR,
    migration_finished_but_counted.REPAIR,
    allocation_missing.REPAIR,
    consumer_project_differs.REPAIR,
    allocation_differs.REPAIR,
    pci_allocation_missing.REPAIR,
    reshape_needed.REPAIR,
)

BY_CODE = {repair.code: repair for repair in BUILTIN}
#: The codes that the daemon may repair; an operator's ``stocktake heal`` may repair the findings of all codes.
DAEMON_CODES = frozenset(repair.code for repair in BUILTIN if repair.started_by is StartedBy.DAEMON_TOO)
