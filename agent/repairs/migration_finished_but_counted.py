"""migration-finished-but-counted: the same repair as for allocation-stale-move; an audit always finds both."""

from __future__ import annotations

import dataclasses

from agent.repairs import allocation_stale_move

REPAIR = dataclasses.replace(allocation_stale_move.REPAIR, code="migration-finished-but-counted")
