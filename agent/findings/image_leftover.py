"""image-leftover: a disk folder belongs to an instance that is deleted or elsewhere, or is left over from a resize."""

from __future__ import annotations

from agent.books.image_ledger import leftovers
from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity
from agent.model.nova import NovaState


def _find(audit: AuditFacts) -> Findings:
    state = audit.snapshot.nova.value
    for left in leftovers(audit.snapshot):
        yield RULE.finding(
            audit,
            consumer_uuid=left.owner,
            subject=left.path,
            expected="every folder named after an instance belongs to an instance of this host",
            actual=f"folder {left.path} takes {left.size_bytes} bytes; {_whereabouts(left.owner, state)}",
            facts=(("path", left.path), ("size_bytes", left.size_bytes)),
        )


def _whereabouts(uuid: str, state: NovaState | None) -> str:
    instance = next((i for i in state.instances if i.uuid == uuid), None) if state else None
    if instance is None:
        return f"instance {uuid} is not on this host"
    if instance.deleted:
        return f"instance {uuid} is deleted"
    if state is not None and instance.host == state.host:
        return f"instance {uuid} is on this host and is not being resized"
    return f"instance {uuid} lives on {instance.host or 'no host'}"


RULE = Rule(
    code="image-leftover",
    severity=Severity.WARNING,
    remedy="check that the instance is deleted or lives elsewhere with its disk, and that no other disk has a backing "
    "file in the folder (qemu-img info --backing-chain), then remove the folder",
    find=_find,
)
