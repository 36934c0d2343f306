"""The order in which an audit writes tree, records and removals, also after a failure (scenarios 63, 66, 69)."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from agent.audit.act import decide_and_act
from agent.audit.parts import AuditTask, Parts
from agent.errors import PlacementUnavailable, ProviderInUse, RecordRefused, SourceUnavailable
from agent.model.audit import AuditMemory, AuditRequest, Identity, Publish
from agent.model.plan import (
    Applied,
    CreateComputeNode,
    DeleteComputeNode,
    DeleteProvider,
    RefusedWrite,
    SaveComputeNode,
)
from agent.model.settings import Role
from tests.rigs.facts import NODE, ROOT_UUID, node, root, settings, snapshot, view
from tests.rigs.records import about, conductor, history_after, orphan, stored, tree, with_record

OLD = orphan()
ORPHANED = snapshot(
    nova=conductor(
        nodes=(node(), node(2, uuid=OLD.uuid, hypervisor_hostname="old-name")),
        records=(stored(memory_mib=1), OLD),
    ),
    libvirt=about(),
    placement=view(provider=root(), orphans=(tree(OLD),)),
)


class Outside:
    """A writer that records the requested writes in order and raises each error of ``trouble`` (by type) once."""

    def __init__(self, **trouble):
        self.asked = []
        self.trouble = trouble

    def apply(self, asked, _more):
        writes = getattr(asked, "writes", (asked,))
        refused = []
        for write in writes:
            name = type(write).__name__
            error = self.trouble.pop(name, None)
            if isinstance(error, ProviderInUse):
                refused.append(RefusedWrite(write=write, error=error))
                continue
            if error is not None:
                raise error
            self.asked.append(name)
        return Applied(done=tuple(writes), requests=len(writes), refused=tuple(refused))


def task(outside, **changes):
    nothing = SimpleNamespace()
    parts = Parts(
        state=nothing,
        host=nothing,
        storage=(),
        reader=nothing,
        reporter=outside,
        identity_files=nothing,
        history=nothing,
        lock=SimpleNamespace(hold=contextlib.nullcontext),
        clock=SimpleNamespace(
            now=lambda: "2026-11-21T12:00:00.000Z", monotonic=lambda: 1.0, boot=str, wait=lambda _s: None
        ),
        records=outside,
    )
    request = AuditRequest(reasons=("test",), publish=changes.get("publish", Publish.BY_ROLE))
    return AuditTask(
        request=request, settings=changes.get("settings", settings()), parts=parts, cancelled=lambda: False
    )


def memory(world, audits=1):
    identity = Identity(uuid=ROOT_UUID, origin="file")
    return AuditMemory(identity=identity, node_name=NODE, history=history_after(audits, world))


def test_inventories_are_written_before_node_records():
    """The agent writes to Placement first, then to nova's compute node records, and deletes orphaned records last."""
    outside = Outside()
    acted = decide_and_act(task(outside), memory(ORPHANED), ORPHANED)
    assert outside.asked == ["PutInventories", "PutTraits", "SaveComputeNode", "DeleteComputeNode", "DeleteProvider"]
    assert [type(write) for write in acted.done][-3:] == [SaveComputeNode, DeleteComputeNode, DeleteProvider]
    assert (acted.error, acted.published) == (None, True)


def test_s69_a_provider_is_kept_if_nova_keeps_its_node():
    """Nova refuses to delete an orphaned compute node, so the agent does not delete its provider in Placement."""
    outside = Outside(DeleteComputeNode=RecordRefused("nova refuses: ConstraintNotMet"))
    acted = decide_and_act(task(outside), memory(ORPHANED), ORPHANED)
    assert "DeleteProvider" not in outside.asked
    assert isinstance(acted.error, RecordRefused)
    assert not acted.published


@pytest.mark.parametrize("trouble", [RecordRefused("no"), SourceUnavailable("state", "no answer")])
@pytest.mark.parametrize(
    ("state", "kind"),
    [(conductor(), CreateComputeNode), (with_record(stored(memory_mib=1)), SaveComputeNode)],
    ids=["s63", "s66"],
)
def test_s63_s66_a_failed_compute_node_write_is_retried(state, kind, trouble):
    """Creating or saving a compute node record in nova fails; the agent's next audit writes the record."""
    world = snapshot(nova=state, libvirt=about())
    outside = Outside(**{kind.__name__: trouble})
    first = decide_and_act(task(outside), memory(world), world)
    assert first.error is trouble
    assert kind.__name__ not in outside.asked
    second = decide_and_act(task(outside), memory(world), world)
    assert (second.error, outside.asked.count(kind.__name__)) == (None, 1)


def test_a_failed_inventory_write_stops_all_later_writes():
    """Placement does not answer the inventory write, so the agent does not write nova's compute node records."""
    outside = Outside(PutInventories=PlacementUnavailable("no answer"))
    acted = decide_and_act(task(outside), memory(ORPHANED), ORPHANED)
    assert outside.asked == []
    assert isinstance(acted.error, PlacementUnavailable)


def test_a_refused_provider_deletion_is_reported():
    """Placement keeps an orphaned provider that has allocations; the agent reports a finding `write-refused`."""
    outside = Outside(DeleteProvider=ProviderInUse("has allocations", status=409))
    acted = decide_and_act(task(outside), memory(ORPHANED), ORPHANED)
    assert [refused.write for refused in acted.refused] == [DeleteProvider(provider_uuid=OLD.uuid)]
    assert "write-refused" in {finding.code for finding in acted.decision.findings}


@pytest.mark.parametrize(
    "how", [{"publish": Publish.NEVER}, {"settings": settings(role=Role.OBSERVER)}], ids=["dry run", "observer"]
)
def test_a_dry_run_or_an_observer_writes_nothing(how):
    """Neither a dry run nor an agent with the role observer writes to Placement or nova."""
    outside = Outside()
    assert decide_and_act(task(outside, **how), memory(ORPHANED), ORPHANED).done == ()
    assert outside.asked == []
