"""Decide whether this host's uuid and name agree with libvirt, nova's database and Placement.

If a host was renamed, cloned or reinstalled, or if ``[DEFAULT] host`` is misspelt, the uuid and the name do not belong
together. nova-compute then refuses to start. The agent continues to audit, and reports a finding (scenario 92).

- A provider has this host's uuid and another name, or a compute node row has this host's uuid and another host. The
  agent then writes nothing.
- A compute node row has this host's node name and another uuid. The agent then reports this row and writes to no
  compute node row. It still writes to Placement, because the uuid in a ``compute_id`` file counts more than this row.
- Nova made guests on this host, but its database has neither a service nor a compute node row of this host. The agent
  then writes nothing, because the database is another cloud's or is old.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.compared import Subject
from agent.model.host.facts import HostFacts
from agent.model.nova import ComputeNode, NovaState
from agent.model.placement import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One contradiction: the expected state, the actual state, and whether the contradiction forbids all writes."""

    expected: str
    actual: str
    stops_writes: bool


def doubts(
    root: Provider | None, state: NovaState | None, host: HostFacts | None, subject: Subject
) -> tuple[Doubt, ...]:
    """Return every contradiction between this host's uuid, host name and node name, as far as they are known."""
    strange = _of_guests(state, host)
    if subject.root_uuid is None or subject.node is None:
        return (strange,) if strange else ()
    rows = [_of_row(row, state.host, subject) for row in state.nodes if not row.deleted] if state else []
    found = [_of_provider(root, subject), *rows, _of_hostname(host, subject), strange]
    return tuple(doubt for doubt in found if doubt is not None)


def guests_of_an_unknown_host(state: NovaState, host: HostFacts) -> int:
    """Return the number of nova's guests on the host if the database does not know the host, else 0.

    The database knows the host if it has a service or a compute node of the host. If the host is unknown but has
    nova's guests, the database belongs to another cloud or is empty. nova-compute then refuses to start.
    """
    is_known = state.service is not None or any(node.host == state.host for node in state.nodes)
    if not state.kind.has_cloud or is_known:
        return 0
    return sum(domain.managed_by_nova for domain in host.domains)


def _of_guests(state: NovaState | None, host: HostFacts | None) -> Doubt | None:
    count = guests_of_an_unknown_host(state, host) if state is not None and host is not None else 0
    if state is None or not count:
        return None
    guests = "one guest" if count == 1 else f"{count} guests"
    return Doubt(
        expected=f"the database should have a service or compute node of host {state.host}, "
        f"because nova made {guests} here",
        actual="the database has no service and no compute node of this host: the database belongs to another cloud, "
        "or was restored from an old backup",
        stops_writes=True,
    )


def _of_provider(root: Provider | None, subject: Subject) -> Doubt | None:
    if root is None or root.name == subject.node:
        return None
    return Doubt(
        expected=f"libvirt reports node name {subject.node}, and this host's provider {root.uuid} has the same name "
        f"(the uuid is from {subject.identity_origin})",
        actual=f"in Placement this provider is named {root.name}",
        stops_writes=True,
    )


def _of_hostname(host: HostFacts | None, subject: Subject) -> Doubt | None:
    """Return a Doubt if the host name changed; the agent keeps the old name, as nova-compute does (scenario 92)."""
    if host is None or host.ignored_hostname is None:
        return None
    return Doubt(
        expected=f"libvirt reports node name {subject.node}, as at the agent's start",
        actual=f"libvirt reports {host.ignored_hostname} now; the agent keeps {subject.node} until the agent restarts",
        stops_writes=False,
    )


def _of_row(row: ComputeNode, host: str, subject: Subject) -> Doubt | None:
    """Return a Doubt if this compute node row contradicts the host's identity, else None.

    A row with neither this host's uuid nor its node name is another node's row. Other findings cover that row:
    compute-node-orphaned and hostname-duplicated.
    """
    has_own_uuid, is_so_named = row.uuid == subject.root_uuid, row.hypervisor_hostname == subject.node
    expected = f"this host has uuid {subject.root_uuid} (from {subject.identity_origin}) and node name {subject.node}"
    if has_own_uuid and row.host != host:
        return Doubt(
            expected=f"{expected}, and the compute node row with this uuid belongs to host {host}",
            actual=f"compute node row {row.id} has uuid {row.uuid} and belongs to host {row.host}",
            stops_writes=True,
        )
    if has_own_uuid == is_so_named or row.host != host:
        return None
    return Doubt(
        expected=expected,
        actual=f"compute node row {row.id} has uuid {row.uuid} and the name {row.hypervisor_hostname}",
        stops_writes=has_own_uuid,
    )
