"""migration-finished-but-counted: the repair of allocation-stale-move, a finding that accompanies each of these."""

from __future__ import annotations

import dataclasses

from agent.repairs import allocation_stale_move

REPAIR = dataclasses.replace(allocation_stale_move.REPAIR, code="migration-finished-but-counted")
