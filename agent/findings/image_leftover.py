"""image-leftover: a disk folder is left from a resize, or belongs to an instance that is deleted or on another host."""

from __future__ import annotations

from agent.books.image_ledger import leftovers
from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_began import by_deletion
from agent.findings.base_headlines import size_text
from agent.findings.base_remedies import IF_NOT_NEEDED_HERE, by_hand, inspect, line, look_for_instance
from agent.model.finding import Severity
from agent.model.nova import Instance, NovaState
from agent.model.snapshot import IMAGES, LIBVIRT, STATE


def _find(audit: AuditFacts) -> Findings:
    state = audit.snapshot.nova.value
    for left in leftovers(audit.snapshot):
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: no instance of this host needs folder {left.path}, which takes "
            f"{size_text(left.size_bytes)}",
            consumer_uuid=left.owner,
            subject=left.path,
            expected="every folder named after an instance belongs to an instance of this host",
            actual=f"folder {left.path} takes {size_text(left.size_bytes)} ({left.size_bytes} bytes); "
            f"{_whereabouts(left.owner, state)}",
            began=by_deletion(_instance(left.owner, state)),
            facts=(("path", left.path), ("size_bytes", left.size_bytes)),
            remedies=(
                look_for_instance(left.owner),
                inspect("see what the folder contains", line("ls", "-lR", left.path)),
                by_hand(_REMOVE, line("rm", "-r", "--", left.path)),
            ),
        )


def _instance(uuid: str, state: NovaState | None) -> Instance | None:
    return next((i for i in state.instances if i.uuid == uuid), None) if state else None


def _whereabouts(uuid: str, state: NovaState | None) -> str:
    instance = _instance(uuid, state)
    if instance is None:
        return f"instance {uuid} is not on this host"
    if instance.deleted:
        return f"instance {uuid} is deleted"
    if state is not None and instance.host == state.host:
        return f"instance {uuid} is on this host and is not being resized"
    return f"instance {uuid} lives on {instance.host or 'no host'}"


_REMOVE = (
    f"{IF_NOT_NEEDED_HERE}, and if no other disk has a backing file in the folder (qemu-img info --backing-chain shows "
    "the backing files of a disk), remove the folder; warning: rm destroys its data, and nothing brings the data back"
)

RULE = Rule(code="image-leftover", severity=Severity.WARNING, find=_find, rests_on=frozenset({IMAGES, STATE, LIBVIRT}))
