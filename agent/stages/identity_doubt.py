"""Decide whether our identity fits what libvirt, the cloud and Placement say of this host.

A name that does not belong to our uuid stops every write. A row of our name with
another uuid is told, and no more: a ``compute_id`` file speaks first (design 2.3).

A renamed, cloned or reinstalled host, or a misspelt ``[DEFAULT] host``, shows as a
uuid and a name that do not belong together. nova-compute refuses to start then
(reconcile 2); here the audit runs on and says so (scenario 92).
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.compared import Subject
from agent.model.host import HostFacts
from agent.model.nova import NovaState
from agent.model.placement import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One contradiction: what should be, what is, and whether nothing may be written while it stands."""

    expected: str
    actual: str
    stops_writes: bool


def doubts(
    root: Provider | None, state: NovaState | None, host: HostFacts | None, subject: Subject
) -> tuple[Doubt, ...]:
    """Every contradiction between our uuid and our node's name; none while one of the two is not known."""
    if subject.root_uuid is None or subject.node is None:
        return ()
    found = [_of_provider(root, subject), *_of_rows(state, subject), _of_hostname(host, subject)]
    return tuple(doubt for doubt in found if doubt is not None)


def _of_provider(root: Provider | None, subject: Subject) -> Doubt | None:
    if root is None or root.name == subject.node:
        return None
    return Doubt(
        expected=f"provider {root.uuid} (identity from {subject.identity_origin}) is named {subject.node}, "
        "as libvirt says",
        actual=f"in Placement it is named {root.name}",
        stops_writes=True,
    )


def _of_hostname(host: HostFacts | None, subject: Subject) -> Doubt | None:
    """A name that changed while we run: the old one is kept, as nova-compute keeps it (scenario 92)."""
    if host is None or host.ignored_hostname is None:
        return None
    return Doubt(
        expected=f"libvirt gives the node's name as it did at the start, {subject.node}",
        actual=f"it gives {host.ignored_hostname} now; {subject.node} is kept until the agent starts anew",
        stops_writes=False,
    )


def _of_rows(state: NovaState | None, subject: Subject) -> list[Doubt | None]:
    rows = [node for node in (state.nodes if state else ()) if not node.deleted]
    return [
        Doubt(
            expected=f"this host's identity is {subject.root_uuid} (from {subject.identity_origin}), "
            f"its node {subject.node}",
            actual=f"compute node row {row.id} has uuid {row.uuid} and the name {row.hypervisor_hostname}",
            stops_writes=row.uuid == subject.root_uuid,
        )
        for row in rows
        if (row.uuid == subject.root_uuid) != (row.hypervisor_hostname == subject.node)
        # A row that shares neither is another node's: compute-node-orphaned.
    ]
