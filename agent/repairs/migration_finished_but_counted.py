"""migration-finished-but-counted: an audit with this finding also finds allocation-stale-move. One repair ends both."""

from __future__ import annotations

import dataclasses

from agent.repairs import allocation_stale_move

REPAIR = dataclasses.replace(allocation_stale_move.REPAIR, code="migration-finished-but-counted")
