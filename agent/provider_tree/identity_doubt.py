"""Decide whether our identity fits what libvirt, the cloud and Placement say of this host.

A name or a host that does not belong to our uuid stops every write. A row of our name
with another uuid is told, and keeps back the record alone: a ``compute_id`` file speaks
first (design 2.3). A cloud that knows nothing of a host with guests of nova's on it
is another cloud's database, or one restored from before: nothing is written either.

A renamed, cloned or reinstalled host, or a misspelt ``[DEFAULT] host``, shows as a
uuid and a name that do not belong together. nova-compute refuses to start then
(reconcile 2); here the audit runs on and says so (scenario 92).
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.compared import Subject
from agent.model.host.facts import HostFacts
from agent.model.nova import ComputeNode, NovaState, StateKind
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
    """Every contradiction between our uuid, host and node's name, as far as they are known."""
    strange = _of_guests(state, host)
    if subject.root_uuid is None or subject.node is None:
        return (strange,) if strange else ()
    found = [_of_provider(root, subject), *_of_rows(state, subject), _of_hostname(host, subject), strange]
    return tuple(doubt for doubt in found if doubt is not None)


def guests_of_an_unknown_host(state: NovaState, host: HostFacts) -> int:
    """How many guests that nova made are here although the cloud knows no service and no node of this host.

    nova-compute does not start then (reconcile 2): the database is another cloud's, or empty.
    """
    is_known = state.service is not None or any(node.host == state.host for node in state.nodes)
    if state.kind is StateKind.NONE or is_known:
        return 0
    return sum(domain.managed_by_nova for domain in host.domains)


def _of_guests(state: NovaState | None, host: HostFacts | None) -> Doubt | None:
    count = guests_of_an_unknown_host(state, host) if state is not None and host is not None else 0
    if state is None or not count:
        return None
    guests = "one guest that nova made is" if count == 1 else f"{count} guests that nova made are"
    return Doubt(
        expected=f"the database knows host {state.host}, on which {guests} defined",
        actual="it has no service and no compute node of it: another cloud's database, or one restored from before",
        stops_writes=True,
    )


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
    if state is None:
        return []
    return [_of_row(row, state.host, subject) for row in state.nodes if not row.deleted]


def _of_row(row: ComputeNode, host: str, subject: Subject) -> Doubt | None:
    """A row that shares neither uuid nor name is another node's: compute-node-orphaned, hostname-duplicated."""
    is_ours, is_so_named = row.uuid == subject.root_uuid, row.hypervisor_hostname == subject.node
    expected = f"this host's identity is {subject.root_uuid} (from {subject.identity_origin}), its node {subject.node}"
    if is_ours and row.host != host:
        return Doubt(
            expected=f"{expected}, its host {host}",
            actual=f"compute node row {row.id} has uuid {row.uuid} and is of host {row.host}",
            stops_writes=True,
        )
    if is_ours == is_so_named or row.host != host:
        return None
    return Doubt(
        expected=expected,
        actual=f"compute node row {row.id} has uuid {row.uuid} and the name {row.hypervisor_hostname}",
        stops_writes=is_ours,
    )
