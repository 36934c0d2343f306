"""write-refused: a write that Placement rejects is reported with its error text, equal from audit to audit."""

from __future__ import annotations

import dataclasses

import pytest

from agent.audit.decide import decide, with_refusals
from agent.books.confirm import evidence_digest
from agent.errors import DuplicateName, InventoryInUse, PlacementRejected, ProviderElsewhere, ProviderInUse
from agent.model.compared import Subject
from agent.model.finding import Severity
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    HeldBack,
    MoveProvider,
    PutAggregates,
    PutInventories,
    PutTraits,
    RefusedWrite,
)
from tests.rigs.facts import NODE, ROOT_UUID, decided, inventory, root, settings, snapshot, uuid, view

CODE = "write-refused"
CHILD = uuid("child")
CREATE = CreateProvider(provider_uuid=CHILD, name=f"{NODE}_amd_sev", parent_uuid=ROOT_UUID)
INVENTORIES = PutInventories(provider_uuid=ROOT_UUID, inventories=(inventory("DISK_GB", 2**31), inventory("VCPU", 4)))


def refused(write, kind=PlacementRejected, status=400, request_id="req-1"):
    return RefusedWrite(write=write, error=kind("PUT http://p/x: too much", status=status, request_id=request_id))


def told(*refusals, world=None):
    decision = with_refusals(decided(world or snapshot()), refusals, frozenset())
    return [finding for finding in decision.findings if finding.code == CODE]


def test_an_audit_without_refused_writes_has_no_finding():
    """An audit in which Placement refuses no write has no finding `write-refused`."""
    assert told() == []


def test_a_refused_write_is_reported_with_the_error():
    """If Placement refuses a write, the finding shows the provider, the HTTP status and Placement's error."""
    (found,) = told(refused(CREATE, DuplicateName, 409))
    assert found.severity is Severity.ERROR
    assert (found.provider_uuid, found.subject) == (CHILD, f"the new provider {NODE}_amd_sev")
    assert found.expected == f"Placement accepts the new provider {NODE}_amd_sev"
    assert found.actual == "Placement rejects the write with HTTP 409, so neither the provider nor its children exist"
    assert found.facts == (("provider_name", f"{NODE}_amd_sev"), ("status", 409))
    assert f"openstack resource provider list --name {NODE}_amd_sev" in found.remedy
    assert found.remedy.endswith("Placement's error: PUT http://p/x: too much [req-1]")


WRITES = {
    "inventories": (refused(INVENTORIES), f"the inventory of {NODE} (DISK_GB, VCPU)", "impossible"),
    "in use": (refused(INVENTORIES, InventoryInUse, 409), f"the inventory of {NODE}", f"--allocations {ROOT_UUID}"),
    "traits": (refused(PutTraits(provider_uuid=ROOT_UUID, traits=())), f"the traits of {NODE}", "impossible"),
    "aggregates": (refused(PutAggregates(provider_uuid=ROOT_UUID, aggregates=())), "the aggregates of", "impossible"),
    "parent": (
        refused(MoveProvider(provider_uuid=CHILD, name=f"{NODE}_old", parent_uuid=ROOT_UUID)),
        f"the new parent of {NODE}_old",
        "impossible",
    ),
    "elsewhere": (
        refused(CREATE, ProviderElsewhere, 409),
        f"the new provider {NODE}_amd_sev",
        f"--parent-provider {ROOT_UUID} {CHILD}",
    ),
    "removal": (
        refused(DeleteProvider(provider_uuid=CHILD), ProviderInUse, 409),
        f"the removal of {NODE}_old",
        f"--allocations {CHILD}",
    ),
}


@pytest.mark.parametrize(("refusal", "what", "advice"), WRITES.values(), ids=WRITES.keys())
def test_each_kind_of_refused_write_has_a_remedy(refusal, what, advice):
    """For each kind of write that Placement may refuse, the finding shows the write and a remedy."""
    old = root(uuid=CHILD, name=f"{NODE}_old", parent_uuid=ROOT_UUID)
    (found,) = told(refusal, world=snapshot(placement=view(providers=(root(), old))))
    assert what in found.expected
    assert found.provider_uuid == refusal.write.provider_uuid
    assert advice in found.remedy


def test_a_new_request_id_does_not_make_a_new_finding():
    """If Placement rejects the same write again with another request ID, the finding keeps its ID."""
    first, second = (told(refused(INVENTORIES, request_id=one))[0] for one in ("req-1", "req-2"))
    assert first.remedy != second.remedy
    assert (first.id, evidence_digest(first)) == (second.id, evidence_digest(second))


def test_two_refused_writes_to_a_provider_are_two_findings():
    """Placement refuses an inventory and a list of traits of one provider. The agent reports two findings."""
    found = told(refused(INVENTORIES), refused(PutTraits(provider_uuid=ROOT_UUID, traits=())))
    assert len({finding.id for finding in found}) == 2


def test_a_trait_unknown_to_placement_causes_a_warning():
    """If Placement does not know a trait, the agent reports a warning and writes all other traits."""
    bare = snapshot(placement=view(provider=root(traits=frozenset({"CUSTOM_OWNER_STOCKTAKE"}))))
    subject = Subject(root_uuid=ROOT_UUID, node=NODE)
    (usual,) = [w for w in decided(bare).plan.writes if isinstance(w, PutTraits)]
    unknown = frozenset({"COMPUTE_NODE", "HW_NOBODY_WANTS_IT"})
    decision = decide(bare, settings(), subject, None, unknown_traits=unknown)
    (found,) = [f for f in decision.findings if f.code == CODE]
    assert found.severity is Severity.WARNING
    assert found.actual == "Placement does not know COMPUTE_NODE; the agent writes all other traits"
    (put,) = [w for w in decision.plan.writes if isinstance(w, PutTraits)]
    assert put == dataclasses.replace(usual, traits=tuple(t for t in usual.traits if t != "COMPUTE_NODE"))
    why = HeldBack(provider_uuid=ROOT_UUID, what="traits COMPUTE_NODE", why="this Placement does not know these traits")
    assert why in decision.plan.held_back
