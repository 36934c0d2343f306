"""no-rival: while another program writes this provider, what it holds is that program's to keep.

Role companion lives beside nova-compute and touches only consumers of its own (the guard
``role``), so there a rival is no reason.
"""

from __future__ import annotations

from agent.findings.rival_writer import RULE
from agent.guards.base import Case, Guard
from agent.model.settings import Role


def _refuses(case: Case) -> str | None:
    if case.scene.settings.role is Role.COMPANION:
        return None
    rival = next((seen for seen in case.scene.findings if seen.finding.code == RULE.code), None)
    return f"another program writes this provider: {rival.finding.actual}" if rival else None


GUARD = Guard(name="no-rival", refuses=_refuses)
