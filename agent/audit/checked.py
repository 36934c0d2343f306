"""Collect what one audit could read and write, and what not.

From this, agent/books/checks.py decides for each finding whether the audit could check it. The functions do no I/O.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from types import MappingProxyType

from agent.audit.parts import AuditTask
from agent.books.checks import OF_RECORDS, WRITES, Checks
from agent.errors import AgentError, WritesRefused
from agent.model.audit import AuditMemory, Publish
from agent.model.host.facts import HostFacts
from agent.model.placement import PlacementView
from agent.model.plan import EVERYTHING, Plan
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, Snapshot

_UNEXPECTED = "trait-unexpected"
# _OF_DEVICES has the codes of findings that need libvirt's list of devices. _OF_CAPABILITIES has the codes of findings
# that need libvirt's capabilities. An audit may lack the devices or the capabilities although libvirt answered.
_OF_DEVICES = ("mdev-type-unknown", "pci-device-lost", "pci-spec-conflict", "pci-spec-unmatched")
_OF_CAPABILITIES = ("capabilities-incomplete", _UNEXPECTED)
_LEFTOVER = "companion-leftover"
_REFUSED = "write-refused"
_UNLISTED = "usage-unlisted"


def checks_of(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> Checks:
    """Return what the audit read and what it could not read. The result decides which findings the audit can check.

    After the writes, ``with_writes`` marks whether the finding ``write-refused`` was checked.
    """
    view, state = snapshot.placement.value, snapshot.nova.value
    return Checks(
        unread=frozenset(reading.source for reading in snapshot.readings if not reading.ok),
        not_asked=frozenset(reading.source for reading in snapshot.readings if not reading.asked),
        parts=MappingProxyType(dict(_parts(snapshot))),
        rows="\n".join(state.unreadable) if state else "",
        codes=MappingProxyType(dict(_codes(task, memory, snapshot))),
        is_new_process=memory.audits == 0,
        recorded_is_fresh=view is not None and view.allocations_fresh,
        unrecorded=_unrecorded(memory, view),
        holders=_holders(view) if snapshot.host.value is None else frozenset(),
        shared_is_read=view is not None and view.shared_is_read and not view.unread,
    )


def with_writes(checks: Checks, task: AuditTask, plan: Plan, attempts: int, error: AgentError | None) -> Checks:
    """Return ``checks``. Mark ``write-refused`` as not checked if Placement neither accepted nor refused the writes.

    If the audit had nothing to write, the finding ``write-refused`` counts as checked. In role observer, an audit never
    writes, so the finding does not apply.
    """
    if task.settings.role is Role.OBSERVER and task.request.publish is Publish.BY_ROLE:
        return checks
    is_done = attempts > 0 or (plan.is_empty and not any(held.what == EVERYTHING for held in plan.held_back))
    if task.may_publish() and is_done and (error is None or isinstance(error, WritesRefused)):
        return checks
    return dataclasses.replace(checks, codes=MappingProxyType({**checks.codes, _REFUSED: WRITES}))


def _parts(snapshot: Snapshot) -> Iterable[tuple[str, str]]:
    """Yield (name, source) of each guest, instance or path that could not be read although its source answered."""
    host, state = snapshot.host.value, snapshot.nova.value
    for domain in host.odd_domains if host else ():
        yield domain.uuid, LIBVIRT
    for instance in state.instances if state else ():
        if instance.problem is not None:
            yield instance.uuid, STATE
    for reading in snapshot.storage:
        for path, _ in reading.value.unread if reading.value else ():
            yield path, reading.source


def _codes(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> Iterable[tuple[str, str]]:
    """Yield (code, missing source) for each finding code that this audit could not check at all."""
    host, view = snapshot.host.value, snapshot.placement.value
    yield from _codes_of_host(host)
    if view is not None and not view.usages_are_read:
        yield _UNLISTED, PLACEMENT
    unread = [reading.source for reading in snapshot.readings if not reading.ok]
    if task.settings.role is Role.OBSERVER and unread:
        # The finding companion-leftover says that one of the agent's own consumers is no longer needed. A
        # source that was not read may show that this consumer is still needed.
        yield _LEFTOVER, unread[0]
    if task.settings.role is Role.OWNER and (memory.written is None or not task.owns()):
        # In role owner, the rule of trait-unexpected needs to know what the agent last wrote to the tree. A new process
        # has written nothing yet.
        yield _UNEXPECTED, WRITES


def _codes_of_host(host: HostFacts | None) -> Iterable[tuple[str, str]]:
    if host is not None and host.devices is None and host.devices_unknown_because:
        for code in _OF_DEVICES:
            yield code, LIBVIRT
    if host is not None and host.capabilities is None:
        for code in _OF_CAPABILITIES:
            yield code, LIBVIRT


def _holders(view: PlacementView | None) -> frozenset[str]:
    return view.consumer_uuids | view.shared_consumer_uuids if view else frozenset()


def _unrecorded(memory: AuditMemory, view: PlacementView | None) -> frozenset[str]:
    """Return the consumers of this host that this process has not yet read from Placement one by one.

    Returns an empty set while no current finding needs such a read.
    """
    sightings = memory.history.sightings if memory.history else ()
    if view is None or not any(sighting.code in OF_RECORDS for sighting in sightings):
        return frozenset()
    return view.consumer_uuids - frozenset(record.consumer_uuid for record in view.consumers)
