"""confirmed: refuse to repair a finding until enough audits in a row have found it.

One audit is not enough, because it may have run during a build or a move. The finding's state "confirmed" is not enough
either: a finding stays confirmed while its source cannot be read, and after its numbers change. So the guard reads the
number of consecutive audits that found the finding. This count begins anew after an audit that could not check the
finding, and after a change of the finding's evidence.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always
from agent.model.finding import FindingState


def _refuses(guarded: GuardedFinding) -> str | None:
    seen, audits = guarded.seen, guarded.scene.settings.confirm_audits
    if seen.state is FindingState.UNKNOWN:
        return f"this audit could not check the finding: {', '.join(seen.unknown_because)} was not read"
    if seen.times >= audits:
        return None
    wanted = f"{audits} audits in a row must report the finding with unchanged evidence"
    return f"not confirmed: {wanted}; number so far: {seen.times}"


GUARD = Guard(name="confirmed", refuses=_refuses, waits=always)
