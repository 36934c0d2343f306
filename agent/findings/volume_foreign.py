"""volume-foreign: a logical volume belongs to no instance and to no known service such as block storage."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_volumes import volume_findings
from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, LVM, STATE
from agent.resources.volumes import OwnerKind


def _find(audit: AuditFacts) -> Findings:
    return volume_findings(
        audit,
        RULE,
        OwnerKind.FOREIGN,
        expected="every volume of the group belongs to an instance or a known service",
        what="belongs to no instance and to no known service",
    )


RULE = Rule(code="volume-foreign", severity=Severity.WARNING, find=_find, rests_on=frozenset({LVM, STATE, LIBVIRT}))
