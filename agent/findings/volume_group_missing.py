"""volume-group-missing: lvm2's report lacks a configured volume group, or a physical volume of the group."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, line
from agent.model.finding import Severity
from agent.model.snapshot import LVM


def _find(audit: AuditFacts) -> Findings:
    if not audit.snapshot.fresh(LVM):
        return
    for name in audit.settings.volume_groups:
        group = audit.snapshot.group(name)
        if group is None:
            problem = f"volume group {name} is not in lvm2's report; inventory based on the group stays unchanged"
        elif group.missing_pvs:
            problem = f"volume group {name} lacks {group.missing_pvs} physical volumes"
        else:
            continue
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: {problem}",
            resource_class="DISK_GB" if name == audit.settings.disk_group else None,
            subject=name,
            expected=f"volume group {name} with all its physical volumes "
            "([lvm] volume_groups, [libvirt] images_volume_group)",
            actual=problem,
            facts=(("volume_group", name),),
            remedies=(
                inspect("see which volume groups the host has", line("vgs")),
                inspect("see which disks are missing", line("pvs")),
                by_hand(
                    "bring the disk back; if the group has another name, correct [lvm] volume_groups or [libvirt] "
                    "images_volume_group"
                ),
            ),
        )


RULE = Rule(code="volume-group-missing", severity=Severity.ERROR, find=_find, rests_on=frozenset({LVM}))
