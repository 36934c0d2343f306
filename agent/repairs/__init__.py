"""The repairs, one module for each finding code that heal can repair. A new one is a file here and a line in BUILTIN.

Their order is that of a plan: where two findings ask for the same change of a
consumer, the first one names it.
"""

from __future__ import annotations

from agent.repairs import (
    allocation_leaked,
    allocation_missing,
    allocation_stale_move,
    consumer_on_several_providers,
    consumer_project_differs,
    pci_allocation_missing,
    reshape_needed,
)
from agent.repairs.base import AnyRepair

BUILTIN: tuple[AnyRepair, ...] = (
    allocation_leaked.REPAIR,
    allocation_stale_move.REPAIR,
    consumer_on_several_providers.REPAIR,
    allocation_missing.REPAIR,
    consumer_project_differs.REPAIR,
    pci_allocation_missing.REPAIR,
    reshape_needed.REPAIR,
)

BY_CODE = {repair.code: repair for repair in BUILTIN}
