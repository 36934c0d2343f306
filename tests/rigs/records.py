"""Compute node records written by hand, and the world of a host whose state comes from nova-conductor."""

from __future__ import annotations

import dataclasses
from typing import Any

from agent.audit.decide import Decision, decide
from agent.books.confirm import AuditReads, confirm
from agent.model.compared import Subject
from agent.model.finding import History
from agent.model.host.capabilities import Capabilities, HostCpu
from agent.model.host.devices import Devices
from agent.model.node_record import NodeRecord
from agent.model.nova import Instance, NovaState, Service, StateKind
from agent.model.placement import Allocation, DetachedTree, Provider
from agent.model.settings import Settings
from tests.rigs.facts import HOST, NODE, ROOT_UUID, host, node, service, settings, snapshot, state

CAPABLE = Capabilities(host_cpu=HostCpu(arch="x86_64", model="EPYC", vendor="AMD", sockets=1, cores=4, threads=1))


def about(**changes: Any) -> Any:
    """Return the host of facts.host with all facts that a record needs."""
    return host(**{"capabilities": CAPABLE, "devices": Devices(), **changes})


def seen_long_ago(**changes: Any) -> Service:
    """Return this host's service, whose nova-compute is gone."""
    return service(**{"id": 3, **changes})


def conductor(*instances: Instance, **changes: Any) -> NovaState:
    """Return nova-conductor's state of this host: the service, but no compute node."""
    return state(*instances, **{"kind": StateKind.CONDUCTOR, "nodes": (), "service": seen_long_ago(), **changes})


def with_record(record: NodeRecord, *instances: Instance, **changes: Any) -> NovaState:
    """Return the same state with that record stored, and with the row that belongs to it."""
    row = node(record.id or 0, uuid=record.uuid, host=record.host, hypervisor_hostname=record.hypervisor_hostname)
    return conductor(*instances, **{"nodes": (row,), "records": (record,), **changes})


def decision(world: Any, chosen: Settings | None = None, history: History | None = None) -> Decision:
    """Return the decision on this host's root and node in that world."""
    return decide(world, chosen or settings(), Subject(root_uuid=ROOT_UUID, node=NODE), None, history=history)


def created(chosen: Settings | None = None, *instances: Instance, **facts: Any) -> NodeRecord:
    """Return the record that a first audit creates."""
    world = snapshot(nova=conductor(*instances), libvirt=about(**facts))
    (write,) = decision(world, chosen).plan.records
    return write.record


def stored(number: int = 1, **changes: Any) -> NodeRecord:
    """Return that record as nova then stores it."""
    return dataclasses.replace(created(), **{"id": number, **changes})


def history_after(audits: int, world: Any, chosen: Settings | None = None) -> History:
    """Return the history after ``audits`` audits that wrote nothing."""
    used = chosen or settings()
    known = History()
    for number in range(audits):
        look = AuditReads(now=f"2026-11-21T12:00:0{number}.000Z", confirm_audits=used.confirm_audits)
        known = confirm(known, decision(world, used, known).findings, look).history
    return known


def orphan(number: int = 2, name: str = "old-name", uuid: str = "00000000-0000-4000-8000-00000000c002") -> NodeRecord:
    """Return a record of this host under another name."""
    return stored(number, uuid=uuid, hypervisor_hostname=name, host=HOST)


def tree(record: NodeRecord, *held: Allocation, **changes: Any) -> DetachedTree:
    """Return the record's provider, made by nova-compute, with these allocations."""
    plain = Provider(
        uuid=record.uuid,
        name=record.hypervisor_hostname,
        parent_uuid=None,
        generation=1,
        traits=frozenset({"COMPUTE_NODE", "OWNER_NOVA"}),
    )
    return DetachedTree(uuid=record.uuid, providers=(dataclasses.replace(plain, **changes),), allocations=held)
