"""volume-foreign: a logical volume belongs to no instance and to no known service such as block storage."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_volumes import volume_findings
from agent.model.finding import Severity
from agent.resources.volumes import OwnerKind


def _find(audit: AuditFacts) -> Findings:
    return volume_findings(
        audit, RULE, OwnerKind.FOREIGN, expected="every volume of the group belongs to an instance or a known service"
    )


RULE = Rule(
    code="volume-foreign",
    severity=Severity.WARNING,
    remedy="find the volume's owner; lvremove the volume if nobody needs it, or move it to another volume group",
    find=_find,
)
