"""volume-orphaned: a logical volume is named after an instance that is not on this host."""

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
        OwnerKind.ORPHANED,
        expected="every volume named after an instance belongs to an instance of this host",
        what="is named after an instance that is not on this host",
    )


RULE = Rule(code="volume-orphaned", severity=Severity.WARNING, find=_find, rests_on=frozenset({LVM, STATE, LIBVIRT}))
