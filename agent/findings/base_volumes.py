"""Make the findings volume-foreign and volume-orphaned: one finding for each volume, with the volume's exact size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_began import by_deletion
from agent.findings.base_headlines import size_text
from agent.findings.base_remedies import (
    IF_NOT_NEEDED_HERE,
    by_hand,
    inspect,
    line,
    look_for_instance,
    reload_agent,
    wait,
)
from agent.model.finding import Remedy
from agent.model.nova import Instance
from agent.model.settings import Role, UnmanagedPolicy
from agent.resources.disk import unmanaged_claim
from agent.resources.volumes import OwnedVolume, OwnerKind
from agent.text.headline import short_name


def volume_findings(audit: AuditFacts, rule: Rule, kind: OwnerKind, *, expected: str, what: str) -> Findings:
    """Yield one finding for each volume whose owner is of this kind, in every audited volume group.

    The agent reserves a volume's size only in the volume group that DISK_GB is computed from, and only if
    ``[lvm] foreign_volumes`` is ``reserve``. ``what`` names the kind in the finding's headline.
    """
    policy = audit.settings.foreign_volumes
    if policy is UnmanagedPolicy.IGNORE:
        return
    for owned in audit.owned:
        if owned.kind is not kind or not owned.bytes_taken or _is_accepted(audit, owned):
            continue
        counted = owned.volume.group == audit.settings.disk_group
        reserved = counted and policy is UnmanagedPolicy.RESERVE
        yield rule.finding(
            audit,
            headline=f"{owned.volume.path}: this volume of {size_text(owned.bytes_taken)} on {audit.host} {what}",
            consumer_uuid=owned.owner_uuid,
            resource_class="DISK_GB" if counted else None,
            subject=owned.volume.path,
            expected=expected,
            actual=f"volume {owned.volume.path} takes {size_text(owned.bytes_taken)} ({owned.bytes_taken} bytes, "
            f"{'counted' if counted else 'not counted'} in DISK_GB"
            f"{'; [lvm] foreign_volumes = reserve' if reserved else ''})",
            evidence=(unmanaged_claim(owned),),
            known=_known(audit, owned),
            began=by_deletion(_instance(audit, owned)),
            facts=(("volume", owned.volume.path), ("size_bytes", owned.bytes_taken), ("counted_in_disk_gb", counted)),
            remedies=(
                *_remedies(owned),
                *(_of_reserve(audit) if reserved else ()),
                _keep(owned.volume.path),
            ),
        )


def _of_reserve(audit: AuditFacts) -> tuple[Remedy, ...]:
    """Return the remedies for a reservation, which ends in the first audit after the volume is removed.

    If no daemon runs, the operator must start that audit with ``stocktake audit --publish``.
    """
    until = wait("as long as the volume exists, the agent reserves its size")
    if audit.settings.role is Role.OBSERVER:
        return (until,)
    words = "after you remove the volume, add its space to the inventory in Placement (a running agent does so itself)"
    return (until, by_hand(words, line("stocktake", "audit", "--publish")))


def _is_accepted(audit: AuditFacts, owned: OwnedVolume) -> bool:
    return any(_matches(owned.volume.path, pattern) for pattern in audit.settings.accepted_volumes)


def _matches(path: str, pattern: str) -> bool:
    """Return whether the whole path matches the pattern, in which * stands for any text and ? for any character."""
    # Not the standard library's fnmatch: fnmatch imports os, and pure code must not import modules that do I/O.
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, path) is not None


def _instance(audit: AuditFacts, owned: OwnedVolume) -> Instance | None:
    every = audit.state.instances if audit.state else ()
    return next((each for each in every if each.uuid == owned.owner_uuid), None)


def _known(audit: AuditFacts, owned: OwnedVolume) -> Iterator[str]:
    """Yield what nova's database says about the instance whose uuid is in the volume's name."""
    instance = _instance(audit, owned)
    if instance is not None:
        where = "is deleted" if instance.deleted else f"lives on {instance.host or 'no host'}"
        yield f"instance {instance.uuid} ({short_name(instance.name)}) {where}"
    elif owned.owner_uuid is not None:
        yield f"the database has no instance {owned.owner_uuid} on host {audit.host}"


def _remedies(owned: OwnedVolume) -> tuple[Remedy, ...]:
    path = owned.volume.path
    remove = line("lvremove", path)
    if owned.owner_uuid is not None:
        words = f"{IF_NOT_NEEDED_HERE}, remove the volume; {_LOST}"
        return (look_for_instance(owned.owner_uuid), by_hand(words, remove))
    return (
        inspect("find the volume's owner", line("lvs", "-o", "+lv_time,lv_tags", path)),
        by_hand(f"if the volume is not needed, remove it; {_LOST}", remove),
        by_hand("if the volume is needed, move it to another volume group"),
    )


def _keep(path: str) -> Remedy:
    listed = f"add {path} to [lvm] accepted_volumes, and reload the agent"
    return reload_agent(f"to keep the volume without this finding, {listed}")


_LOST = "warning: lvremove destroys the volume's data, and nothing brings the data back"
