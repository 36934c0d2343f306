"""The plan of adopt, and each guard rail that alone refuses it."""

from __future__ import annotations

import dataclasses

import pytest

from agent.healing.adopt_plan import adoption
from agent.model.adoption import AdoptFacts, FileStep, IdentityFile, NameStep, RecordStep
from agent.model.nova import NovaState, StateKind
from agent.model.placement import Allocation, DetachedTree, Provider
from agent.model.plan import RenameProvider
from agent.model.settings import Role
from tests.rigs.facts import HOST, NODE, NOW, ROOT_UUID, instance, node, service, settings, state, uuid
from tests.rigs.records import conductor, stored, with_record

FILE = IdentityFile(path="/state/compute_id", text=f"{ROOT_UUID}\n")
OWNED = frozenset({"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"})
NEW = uuid("made after the reinstallation")


def provider(uuid_: str = ROOT_UUID, name: str = NODE, **changes) -> Provider:
    plain = Provider(uuid=uuid_, name=name, parent_uuid=None, generation=1, traits=OWNED)
    return dataclasses.replace(plain, **changes)


def tree(root: Provider, *children: Provider, held: bool = False) -> DetachedTree:
    allocation = Allocation(
        consumer_uuid=uuid("i1"), consumer_generation=1, provider_uuid=root.uuid, resource_class="VCPU", amount=1
    )
    return DetachedTree(uuid=root.uuid, providers=(root, *children), allocations=(allocation,) if held else ())


def facts(**changes) -> AdoptFacts:
    """Return a host whose uuid, names and record belong together."""
    plain = AdoptFacts(
        host=HOST,
        node=NODE,
        identity=ROOT_UUID,
        origin=FILE.path,
        file=FILE,
        own=tree(provider(), held=True),
        holder=None,
        state=with_record(stored()),
    )
    return dataclasses.replace(plain, **changes)


def renamed(**changes) -> AdoptFacts:
    """Return a host whose provider and record bear the old name."""
    old = provider(name="old-name")
    kept = {"own": tree(old, held=True), "state": with_record(stored(hypervisor_hostname="old-name"))}
    return facts(**{**kept, **changes})


def reinstalled(**changes) -> AdoptFacts:
    """Return a host with a new uuid; the old provider, record and allocations exist."""
    kept = {"identity": NEW, "file": IdentityFile(path=FILE.path, text=f"{NEW}\n"), "own": None}
    return facts(**{**kept, "holder": tree(provider(), held=True), **changes})


def alive(found: NovaState) -> NovaState:
    return dataclasses.replace(found, service=service(last_seen_up=NOW))


def guards(given: AdoptFacts, chosen=None) -> list[str]:
    plan = adoption(given, chosen or settings())
    assert not (plan.steps and plan.refusals)
    return sorted({refusal.guard for refusal in plan.refusals})


def test_adopt_plans_no_step_if_names_and_uuids_agree():
    """`stocktake adopt` has nothing to do if nova, Placement and the agent agree on the host's names and uuid."""
    plan = adoption(facts(), settings())
    assert (plan.steps, plan.refusals) == ((), ())
    assert "agree on the host's uuid and names" in plan.notes[0]


def test_adopt_plans_no_step_for_a_new_host():
    """`stocktake adopt` has nothing to do for a host that nova and Placement do not know yet."""
    plan = adoption(facts(identity=None, origin="", own=None, state=conductor()), settings())
    assert (plan.steps, plan.refusals) == ((), ())


def test_adopt_renames_the_provider_of_a_renamed_host():
    """`stocktake adopt` writes a host's new name to its provider in Placement and to nova's node record."""
    plan = adoption(renamed(), settings())
    name, record = plan.steps
    assert name == NameStep(before="old-name", write=RenameProvider(provider_uuid=ROOT_UUID, name=NODE))
    assert isinstance(record, RecordStep)
    assert (record.write.changed, record.write.record.hypervisor_hostname) == (("hypervisor_hostname",), NODE)
    assert plan.uuid == ROOT_UUID


def test_adopt_renames_only_child_providers_of_the_agent():
    """`stocktake adopt` renames only the child providers that carry the agent's trait CUSTOM_OWNER_STOCKTAKE."""
    ours = provider(uuid("sev"), "old-name_amd_sev", parent_uuid=ROOT_UUID)
    theirs = provider(uuid("nic"), "old-name:NIC", parent_uuid=ROOT_UUID, traits=frozenset())
    unowned = provider(uuid("x"), "old-name_x", parent_uuid=ROOT_UUID, traits=frozenset())
    plan = adoption(renamed(own=tree(provider(name="old-name"), ours, theirs, unowned)), settings())
    names = [(s.write.provider_uuid, s.write.name) for s in plan.steps if isinstance(s, NameStep)]
    # The root comes last: if the run is interrupted, the root still has the name that identifies the children.
    assert names == [(uuid("sev"), f"{NODE}_amd_sev"), (ROOT_UUID, NODE)]


def test_adopt_skips_an_already_renamed_child_provider():
    """`stocktake adopt` continues after an interruption: it renames only the providers that have the old name."""
    done = provider(uuid("sev"), "cmp_1_amd_sev", parent_uuid=ROOT_UUID)
    left = provider(uuid("es"), "cmp_amd_sev_es", parent_uuid=ROOT_UUID)
    plan = adoption(renamed(node="cmp_1", own=tree(provider(name="cmp"), done, left)), settings())
    names = [(s.write.provider_uuid, s.write.name) for s in plan.steps if isinstance(s, NameStep)]
    assert names == [(uuid("es"), "cmp_1_amd_sev_es"), (ROOT_UUID, "cmp_1")]


def test_adopt_prints_a_note_about_a_row_it_cannot_write():
    """If `stocktake adopt` cannot write the host's row in nova's compute_nodes, it prints a note about the row."""
    row = node(5, hypervisor_hostname="old-name")
    plan = adoption(renamed(state=state(nodes=(row,))), settings())
    assert [type(step) for step in plan.steps] == [NameStep]
    assert any("row 5 has host cmp1 and node old-name" in note for note in plan.notes)


def test_without_nova_data_adopt_only_renames_the_provider():
    """If the agent reads no nova data, `stocktake adopt` changes only the provider's name in Placement."""
    plan = adoption(renamed(state=NovaState(kind=StateKind.NONE, host=HOST)), settings())
    assert [type(step) for step in plan.steps] == [NameStep]


def test_s61_adopt_takes_over_the_record_of_a_lost_host():
    """If the compute node record belongs to a lost host, `stocktake adopt` assigns the record to this host."""
    there = with_record(stored(host="cmp0", service_id=9), service=None)
    gone = dataclasses.replace(there, host="cmp0", service=service(id=9))
    here = conductor(nodes=there.nodes)
    (step,) = adoption(facts(state=here, others=(gone,)), settings()).steps
    assert isinstance(step, RecordStep)
    assert (step.write.record.host, step.write.record.service_id) == (HOST, 3)
    assert set(step.write.changed) == {"host", "service_id"}


def test_adopt_restores_the_uuid_of_a_reinstalled_host():
    """A reinstalled host has a new uuid. `stocktake adopt` writes the old uuid back into the compute_id file."""
    plan = adoption(reinstalled(), settings())
    assert plan.steps == (FileStep(path=FILE.path, before=f"{NEW}\n", after=f"{ROOT_UUID}\n"),)
    assert plan.uuid == ROOT_UUID
    assert any("restart" in note for note in plan.notes)


def test_adopt_restores_a_missing_compute_id_file():
    """If the compute_id file is missing, `stocktake adopt` writes it with the uuid of the host's old provider."""
    given = reinstalled(identity=None, origin="", file=IdentityFile(path=FILE.path, text=None), state=conductor())
    assert adoption(given, settings()).steps == (FileStep(path=FILE.path, before=None, after=f"{ROOT_UUID}\n"),)


def test_plans_for_different_changes_have_different_digests():
    """The plans of `stocktake adopt` for a renamed host and for a reinstalled host have different digests."""
    assert adoption(renamed(), settings()).digest == adoption(renamed(), settings()).digest
    assert adoption(renamed(), settings()).digest != adoption(reinstalled(), settings()).digest


# Each of these plans would be carried out but for one guard rail ----------------------------------------------------


@pytest.mark.parametrize("given", [renamed(), reinstalled()], ids=["rename", "reinstall"])
@pytest.mark.parametrize("role", [Role.OBSERVER, Role.COMPANION])
def test_adopt_is_refused_outside_role_owner(given, role):
    """`stocktake adopt` is allowed only in role owner, in which the agent runs in nova-compute's place."""
    assert guards(given) == []
    assert guards(given, settings(role=role)) == ["role"]


@pytest.mark.parametrize("given", [renamed(), reinstalled()], ids=["rename", "reinstall"])
def test_adopt_is_refused_if_nova_could_not_be_read(given):
    """`stocktake adopt` is refused on a renamed or reinstalled host if nova's database could not be read."""
    assert guards(dataclasses.replace(given, state=None, state_error="down")) == ["state"]


@pytest.mark.parametrize("given", [renamed(), reinstalled()], ids=["rename", "reinstall"])
def test_adopt_is_refused_while_nova_compute_is_running(given):
    """`stocktake adopt` is refused while nova-compute is running on the renamed or reinstalled host."""
    assert guards(dataclasses.replace(given, state=alive(given.state))) == ["alive"]


def test_adopt_takes_a_record_only_from_a_host_that_is_down():
    """`stocktake adopt` takes over another host's compute node record only if this other host is known to be down."""
    theirs = dataclasses.replace(stored(), host="cmp2")
    row = node(1, host="cmp2")
    other = dataclasses.replace(with_record(theirs), host="cmp2")
    for given in (facts(), reinstalled()):
        cloned = dataclasses.replace(given, state=conductor(nodes=(row,)), others=(other,))
        assert guards(cloned) == []
        assert guards(dataclasses.replace(cloned, others=(alive(other),))) == ["alive"]
    assert guards(dataclasses.replace(cloned, others=())) == ["alive"]


def test_adopt_only_mentions_a_row_that_it_read_in_part():
    """`stocktake adopt` does not change a compute node row that it could read only in part, and mentions the row."""
    plan = adoption(facts(state=conductor(nodes=(node(7, host="cmp2"),))), settings())
    assert plan.steps == ()
    assert plan.notes[0].startswith(f"compute node row 7 has host cmp2 and node {NODE}")


def test_adopt_is_refused_if_nova_has_a_compute_id_file():
    """`stocktake adopt` is refused if the host's uuid comes from nova's own file /var/lib/nova/compute_id."""
    assert guards(reinstalled(origin="/var/lib/nova/compute_id")) == ["file"]
    assert guards(reinstalled(origin="compute_nodes id 4")) == []


@pytest.mark.parametrize("held", [True, False])
def test_adopt_is_refused_if_the_new_provider_is_in_use(held):
    """`stocktake adopt` is refused if the host's new provider in Placement already has allocations."""
    mine = tree(provider(NEW, "another-name"), held=True)
    assert guards(reinstalled(own=mine, holder=tree(provider(), held=held))) == ["allocations"]
    assert guards(reinstalled(own=tree(provider(NEW, "another-name")))) == []


def test_adopt_is_refused_if_shared_storage_has_the_node_name():
    """`stocktake adopt` is refused if a provider of shared storage has the name of this host's node."""
    stranger = tree(provider(traits=frozenset({"MISC_SHARES_VIA_AGGREGATE"})))
    assert guards(reinstalled(holder=stranger)) == ["owner"]


def test_adopt_is_refused_if_nova_has_a_second_row():
    """`stocktake adopt` is refused if nova has a compute node row for this host with a different uuid."""
    given = reinstalled(state=conductor(nodes=(node(4, uuid=NEW),)))
    assert guards(given) == ["row"]


def test_adopt_is_refused_if_an_instance_has_the_old_node():
    """`stocktake adopt` is refused if an undeleted instance in nova still has the host's old node name."""
    old = stored(hypervisor_hostname="old-name")
    assert guards(renamed(state=with_record(old, instance(node="old-name")))) == ["instances"]
    assert guards(renamed(state=with_record(old, instance(node=NODE)))) == []
    assert guards(renamed(state=with_record(old, instance(node="old-name", deleted=True)))) == []
