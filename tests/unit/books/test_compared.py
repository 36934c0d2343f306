"""The books are rebuilt when a fact that they rest on changes, and only then."""

import dataclasses
import datetime

import pytest
from hypothesis import given

from agent.audit.decide import decide
from agent.books.compared import compared
from agent.model.compared import Subject
from agent.model.host.facts import BLANK, COUNTED, HostFacts
from agent.model.placement import Provider
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT, STATE
from tests.rigs.facts import (
    NODE,
    NOW,
    ROOT_UUID,
    allocations,
    domain,
    filesystem,
    group,
    host,
    instance,
    lvm_settings,
    migration,
    root,
    service,
    snapshot,
    state,
    uuid,
    view,
    volume,
    without,
)
from tests.unit.strategies import worlds

SUBJECT = Subject(root_uuid=ROOT_UUID, node=NODE)
LATER = NOW + datetime.timedelta(minutes=1)
HELD = allocations(uuid("i1"), VCPU=1)

NOVA = state(instance(), service=service(), now=NOW)
HOST = host(domain("i1"))
WORLD = {"placement": view(HELD), "nova": NOVA, "libvirt": HOST, "lvm": group(20, volume("spare", 1))}

MOVES_BY_ITSELF = {
    "the database's clock": {"nova": dataclasses.replace(NOVA, now=LATER)},
    "the service's heartbeat": {"nova": dataclasses.replace(NOVA, service=service(last_seen_up=LATER))},
    "measured memory": {"libvirt": dataclasses.replace(HOST, memory_used_mib=4321)},
    "free space": {"files": filesystem(5.5)},
    "the price of reading": {"placement": view(HELD, requests=5, allocations_fresh=False)},
    "a generation": {"placement": view(HELD, provider=root(generation=8))},
}
MATTERS = {
    "an allocation": {"placement": view(HELD, allocations(uuid("i2"), VCPU=1))},
    "an amount": {"placement": view(allocations(uuid("i1"), VCPU=2))},
    "an instance": {"nova": state(instance(), instance("i2"))},
    "a task": {"nova": state(instance(task_state="deleting"))},
    "a migration": {"nova": state(instance(task_state="resize_migrating"), migrations=(migration(),))},
    "a guest": {"libvirt": host(domain("i1"), domain("i2"))},
    "a guest's size": {"libvirt": host(domain("i1", vcpus=3))},
    "a volume": {"lvm": group(20, volume("spare", 1), volume("other", 1))},
}


def kept(world, before=None, chosen=None):
    return compared(world, chosen or lvm_settings(), SUBJECT, before)


@pytest.mark.parametrize("what", MOVES_BY_ITSELF)
def test_an_irrelevant_change_keeps_the_cached_comparison(what):
    """The agent keeps its comparison of nova, libvirt and Placement if, for example, only free space changed."""
    first = kept(snapshot(**WORLD))
    again = kept(snapshot(**{**WORLD, **MOVES_BY_ITSELF[what]}), first)
    assert again.books is first.books
    assert again.rows is first.rows
    assert again.ledger is first.ledger


@pytest.mark.parametrize("what", MATTERS)
def test_a_relevant_change_renews_the_cached_comparison(what):
    """After a change of, for example, an allocation the agent compares nova, libvirt and Placement again."""
    changed = snapshot(**{**WORLD, **MATTERS[what]})
    again = kept(changed, kept(snapshot(**WORLD)))
    assert again == kept(changed)
    assert again.rows != kept(snapshot(**WORLD)).rows


def test_each_host_field_is_marked_as_relevant_or_not():
    """Each field of the host's data has a mark that says whether its change causes a new comparison."""
    silent = [f.name for f in dataclasses.fields(HostFacts) if f.metadata != COUNTED and BLANK not in f.metadata]
    assert silent == []


@pytest.mark.parametrize("source", [PLACEMENT, STATE, LIBVIRT, LVM])
def test_a_comparison_is_not_reused_if_a_source_is_lost(source):
    """If a source such as Placement cannot be read now, the agent does not reuse the last audit's comparison."""
    world = snapshot(**WORLD)
    lost = without(world, source)
    again = kept(lost, kept(world))
    assert (again.books, again.rows) == (kept(lost).books, kept(lost).rows)


def test_the_ledger_shows_the_new_name_of_a_renamed_provider():
    """The ledger, the agent's list of amounts, shows the name that a provider has in Placement now."""
    child = Provider(uuid=uuid("numa0"), name="numa0", parent_uuid=ROOT_UUID, generation=1)
    held = dataclasses.replace(HELD[0], provider_uuid=child.uuid)
    world = {**WORLD, "placement": view((held,), providers=(root(), child))}
    renamed = {**WORLD, "placement": view((held,), providers=(root(), dataclasses.replace(child, name="cell0")))}
    again = kept(snapshot(**renamed), kept(snapshot(**world)))
    assert [row.provider for row in again.ledger if row.provider_uuid == child.uuid] == ["cell0"]


def test_a_new_root_provider_renews_the_cached_comparison():
    """The agent compares nova, the host and Placement again if the uuid of the host's root provider has changed."""
    first = kept(snapshot(**WORLD))
    again = compared(snapshot(**WORLD), lvm_settings(), Subject(root_uuid=uuid("other"), node=NODE), first)
    assert {row.provider_uuid for row in again.ledger} == {uuid("other")}


def test_a_changed_setting_renews_the_cached_comparison():
    """The agent compares nova, the host and Placement again if, for example, cpu_dedicated_set has changed."""
    first = kept(snapshot(**WORLD))
    again = kept(snapshot(**WORLD), first, dataclasses.replace(lvm_settings(), cpu_dedicated_set=(2, 3)))
    assert again.books is not first.books


@given(worlds(), worlds())
def test_cached_results_do_not_change_a_decision(one, other):
    """An audit may reuse the last audit's comparison of nova, host and Placement. Its decisions stay the same."""
    before = decide(one.facts, one.chosen, SUBJECT, one.written).compared
    for world in (one, other):
        assert decide(world.facts, world.chosen, SUBJECT, world.written, before) == decide(
            world.facts, world.chosen, SUBJECT, world.written
        )


def test_a_later_audit_compares_a_just_deleted_instance_anew():
    """Nova may still free a just deleted instance's allocation, so a later audit compares the instance anew."""
    young = instance(deleted=True, vm_state="deleted", deleted_at=NOW)

    def at(moment):
        return snapshot(nova=state(young, now=moment), placement=view(HELD))

    first = compared(at(NOW), lvm_settings(), SUBJECT, None)
    second = compared(at(LATER), lvm_settings(), SUBJECT, first)
    third = compared(at(LATER + datetime.timedelta(minutes=1)), lvm_settings(), SUBJECT, second)
    assert [row.verdict.value for row in first.rows] == ["settling"]
    assert [row.verdict.value for row in second.rows] == ["allocation-leaked"]
    assert third.rows is second.rows
