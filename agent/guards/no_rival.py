"""no-rival: refuse a repair while another program writes this provider.

The other program also writes the allocations.
"""

from __future__ import annotations

from agent.findings.rival_writer import RULE
from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    rival = next((seen for seen in guarded.scene.findings if seen.finding.code == RULE.code), None)
    if rival is None:
        return None
    return f"heal changes nothing while another program writes this provider: {rival.finding.actual}"


GUARD = Guard(name="no-rival", refuses=_refuses)
