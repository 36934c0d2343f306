"""Report the logical volumes of one kind with their exact sizes, for volume-foreign and volume-orphaned."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.settings import UnmanagedPolicy
from agent.resources.disk import unmanaged_claim
from agent.resources.volumes import OwnerKind


def volume_findings(audit: AuditFacts, rule: Rule, kind: OwnerKind, *, expected: str) -> Findings:
    """Yield one finding for each volume of the kind, in every audited volume group.

    The agent reserves a volume's size only in the group that DISK_GB counts, and only if ``[lvm] foreign_volumes`` is
    ``reserve``.
    """
    policy = audit.settings.foreign_volumes
    if policy is UnmanagedPolicy.IGNORE:
        return
    for owned in audit.owned:
        if owned.kind is not kind or not owned.bytes_taken:
            continue
        counted = owned.volume.group == audit.settings.disk_group
        reserved = counted and policy is UnmanagedPolicy.RESERVE
        yield rule.finding(
            audit,
            consumer_uuid=owned.owner_uuid,
            resource_class="DISK_GB" if counted else None,
            subject=owned.volume.path,
            expected=expected,
            actual=f"volume {owned.volume.path} takes {owned.bytes_taken} bytes "
            f"({'counted' if counted else 'not counted'} in DISK_GB"
            f"{'; [lvm] foreign_volumes = reserve' if reserved else ''})",
            evidence=(unmanaged_claim(owned),),
            facts=(("volume", owned.volume.path), ("size_bytes", owned.bytes_taken), ("counted_in_disk_gb", counted)),
            remedy=f"{rule.remedy}; until then the volume's size is reserved" if reserved else None,
        )
