"""identity-changed: the provider uuid of this host, its hypervisor name and the cloud's records contradict each other.

agent/provider_tree/identity_doubt.py decides which contradictions stop all writes (``Doubt.stops_writes``).
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, line
from agent.model.finding import Remedy, Severity
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE


def _find(audit: AuditFacts) -> Findings:
    for doubt in audit.doubts:
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: {doubt.actual}",
            subject=doubt.actual,
            expected=doubt.expected,
            actual=doubt.actual,
            remedies=_remedies(audit),
        )


def _remedies(audit: AuditFacts) -> tuple[Remedy, ...]:
    if audit.settings.role is Role.OWNER:
        return (
            inspect(
                "if the host was renamed or reinstalled, see what the command adopt would do",
                line("stocktake", "adopt"),
            ),
            by_hand("if the host was renamed by mistake, restore the old name"),
            _CLONED,
            *_OTHERS,
        )
    return (
        by_hand("if the host was renamed, restore the old name"),
        _CLONED,
        by_hand("if the host was reinstalled, write the provider's old uuid into nova's compute_id file"),
        *_OTHERS,
    )


_CLONED = by_hand("if the host's disk was cloned, remove the copied compute_id file")
_OTHERS = (
    by_hand("if [DEFAULT] host is misspelt, correct it, and remove a compute_id file created under the wrong name"),
    by_hand(
        "if [state] names a wrong database, correct [state]; if the database is an old backup, restore a newer one"
    ),
)

RULE = Rule(
    code="identity-changed", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT, STATE, LIBVIRT})
)
