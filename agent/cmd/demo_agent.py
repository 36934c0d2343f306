"""Run the agent of one of the demo's hosts in the demo's process, built in the same way as a real agent."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from agent.audit.parts import AuditTask, Parts
from agent.audit.run import run_audit
from agent.books.report_rows import inventory_rows
from agent.cmd.wiring import Wired, wire
from agent.config.build import require, settings_from
from agent.config.load import load
from agent.demo.cast import HostCast
from agent.demo.cloud import DemoCloud
from agent.demo.recorded_group import RecordedGroup
from agent.demo.stories import Repair
from agent.healing.heal import prepared, run_heal
from agent.healing.undo import undo
from agent.model.audit import AuditMemory, AuditRequest, AuditResult, Depth
from agent.model.placement import PlacementView
from agent.model.report import AuditReport, InventoryRow
from agent.model.resource_request import RequestGroup, ResourceRequest
from agent.model.settings import Settings
from agent.placement.http.client import PlacementClient
from agent.placement.offers import own_offers
from agent.ports import StorageSource, ViewRequest
from agent.sources.storage.lvm import Lvm
from agent.why.answer import why
from agent.why.model import TreeAnswer


class DemoAgent:
    """The agent of one host: its parts, and the memory that it keeps between audits."""

    def __init__(self, host: HostCast, settings: Settings, parts: Parts, client: PlacementClient) -> None:
        self._host = host
        self._settings = settings
        self._parts = parts
        self._client = client
        self._memory = AuditMemory()
        self._last: AuditResult | None = None
        self._request = AuditRequest(reasons=("demo",), depth=Depth.FULL)

    def audit(self) -> None:
        """Run one audit, which writes to Placement what the agent's role allows."""
        self._last = run_audit(self._request, self._settings, self._parts, self._memory, lambda: False)
        self._memory = self._last.memory

    def last(self) -> AuditReport:
        """Return the report of the last audit."""
        return self._result().report

    def repaired(self, code: str, consumer_uuid: str) -> Repair:
        """Repair one finding, chosen by its code and its consumer, then undo the repair. Return what both steps did."""
        found = [
            seen.finding
            for seen in self.last().findings
            if (seen.finding.code, seen.finding.consumer_uuid) == (code, consumer_uuid)
        ]
        finding_id, before = found[0].id if found else "", self._vcpus_used()
        parts = self._parts
        task = AuditTask(
            request=self._request,
            settings=self._settings,
            parts=parts,
            cancelled=lambda: False,
            read_by=parts.clock.monotonic(),
        )
        with parts.request_scope(parts.new_id()):
            plan = prepared(task, self._result(), frozenset(), frozenset({finding_id}))
            healed = run_heal(task, plan) if plan is not None else ()
            entry_id = healed[0].outcome.entry_id if healed else None
            after, words = self._vcpus_used(), "no repair was undone"
            if entry_id is not None and parts.journal is not None:
                entries = {entry.id: entry for entry in parts.journal.read().entries}
                words = undo(task, parts.journal, entries[entry_id], entries).words
        return Repair(
            finding_id=finding_id,
            change=healed[0].action.why if healed else "heal changed nothing",
            undo=words,
            entry_id=entry_id,
            used_before=before,
            used_after=after,
            used_at_end=self._vcpus_used(),
        )

    def _result(self) -> AuditResult:
        if self._last is None:
            raise AssertionError("no audit was run")
        return self._last

    def _vcpus_used(self) -> float | None:
        rows = (row for row in self.holds() if row.recorded and row.recorded.resource_class == "VCPU")
        return next((row.used for row in rows), None)

    def holds(self) -> tuple[InventoryRow, ...]:
        """Return the inventory that Placement records for this host, freshly read from Placement."""
        rows = inventory_rows(self._view(), None)
        return tuple(dataclasses.replace(row, wanted=row.recorded) for row in rows)

    def answer(self, vcpus: int) -> TreeAnswer | None:
        """Return whether this host can take ``vcpus`` VCPUs in one request, and why; None without a provider tree."""
        request = ResourceRequest(groups=(RequestGroup(resources=(("VCPU", vcpus),)),))
        trees = why(request, own_offers(self._client, self._view())).trees
        return next((tree for tree in trees if tree.root_uuid == self._host.root_uuid), None)

    def _view(self) -> PlacementView:
        self._parts.reader.forget()
        root_uuid, name = self._host.root_uuid, self._host.name
        wanted = ViewRequest(root_uuid=root_uuid, root_name=name, fresh_allocations=True, consumer_reads=0)
        return self._parts.reader.view(wanted)


@contextlib.contextmanager
def agent_of(built: DemoCloud, host: HostCast) -> Iterator[DemoAgent]:
    """Build the agent of the host, and close its parts after the block."""
    loaded = load([str(built.config_file(host))])
    require(loaded)
    with wire(loaded) as wired:
        yield DemoAgent(host, settings_from(loaded), _parts(built, host, wired), wired.placement)


def _parts(built: DemoCloud, host: HostCast, wired: Wired) -> Parts:
    """Return the agent's parts. If the demo simulates the volume group, the LVM part reads recorded lvm2 output."""
    recorded = [g for g in built.groups if isinstance(g, RecordedGroup) and g.name == host.group]
    if not recorded:
        return wired.parts
    lvm: StorageSource = Lvm((host.group,), 10.0, recorded[0].runner)  # type: ignore[assignment]
    return dataclasses.replace(wired.parts, storage=(lvm,))


@contextlib.contextmanager
def lvm_sees(built: DemoCloud) -> Iterator[None]:
    """During the ``with`` block, let lvm2's commands see only the demo's devices."""
    before = os.environ.get("LVM_SYSTEM_DIR")
    os.environ["LVM_SYSTEM_DIR"] = str(built.lvm_folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LVM_SYSTEM_DIR"]
        else:
            os.environ["LVM_SYSTEM_DIR"] = before
