"""Roots and symptoms: one mistake in the cloud is one cause, however many findings it raises."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.causes import with_causes
from agent.model.finding import Finding, FindingState, SeenFinding, Severity
from agent.model.settings import RatioPolicy, Role, UnmanagedPolicy
from tests.rigs import facts
from tests.rigs.heal import record, view_of

DONE = facts.migration(
    1, "away", kind="evacuation", status="done", source_host=facts.HOST, source_node=facts.NODE, updated_at=facts.NOW
)
ONE_TO_ONE = facts.settings(cpu_ratio=RatioPolicy(configured=1.0, initial=1.0))


def seen(found: Finding, **changes) -> SeenFinding:
    return SeenFinding(finding=found, confirmed=True, first_seen_at="", **changes)


def caused(world, chosen=None) -> dict[str, list[SeenFinding]]:
    """Return the findings of the world by code, with their causes."""
    by_code: dict[str, list[SeenFinding]] = {}
    for one in with_causes(tuple(map(seen, facts.decided(world, chosen).findings))):
        by_code.setdefault(one.finding.code, []).append(one)
    return by_code


def plain(code: str, **changes) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, remedy="", expected="", actual="", **changes)


def test_a_stale_allocation_explains_other_findings():
    """The allocation that an evacuation left on the old host explains, for example, `over-capacity`."""
    held = {"VCPU": 8, "MEMORY_MB": 128, "DISK_GB": 1}
    world = facts.snapshot(
        placement=view_of(record("away", here=held, there=held)),
        nova=facts.state(
            facts.instance("away", host="cmp2", node="cmp2.example.org"), migrations=(), finished_evacuations=(DONE,)
        ),
        libvirt=facts.host(),
        files=facts.filesystem(100),
    )
    found = caused(world, ONE_TO_ONE)
    (root,), (several,), (counted,) = (
        found[code]
        for code in ("allocation-stale-move", "consumer-on-several-providers", "migration-finished-but-counted")
    )
    (over,) = found["over-capacity"]
    assert root.caused_by == ()
    assert set(root.symptoms) == {several.finding.id, counted.finding.id, over.finding.id}
    assert several.caused_by == counted.caused_by == over.caused_by == (root.finding.id,)
    assert {code for code, each in found.items() for one in each if not one.caused_by} == {"allocation-stale-move"}


def crowd(leaked: int, rightful: int):
    return facts.snapshot(
        nova=facts.state(facts.instance(), facts.instance("gone", deleted=True)),
        libvirt=facts.host(facts.domain()),
        placement=facts.view(
            facts.allocations(facts.uuid("i1"), VCPU=rightful, MEMORY_MB=128, DISK_GB=1),
            facts.allocations(facts.uuid("gone"), VCPU=leaked),
        ),
    )


@pytest.mark.parametrize(("leaked", "rightful", "is_symptom"), [(3, 4, True), (2, 4, True), (1, 6, False)])
def test_a_leak_explains_over_capacity_if_it_is_large_enough(leaked, rightful, is_symptom):
    """A leaked allocation explains `over-capacity` only if the other allocations would fit without it."""
    found = caused(crowd(leaked, rightful), ONE_TO_ONE)
    (over,), (leak,) = found["over-capacity"], found["allocation-leaked"]
    assert over.caused_by == ((leak.finding.id,) if is_symptom else ())
    assert leak.symptoms == ((over.finding.id,) if is_symptom else ())
    assert dict(over.finding.facts).get("leaked_part") == (None if is_symptom else leaked)


def stranger_world(vcpus: int, used: int):
    return facts.snapshot(
        nova=facts.state(facts.instance()),
        libvirt=facts.host(facts.domain(), facts.domain("stranger", vcpus=vcpus)),
        placement=facts.view(facts.allocations(facts.uuid("i1"), VCPU=used, MEMORY_MB=128, DISK_GB=1)),
    )


@pytest.mark.parametrize(
    ("policy", "used", "is_symptom"),
    [
        (UnmanagedPolicy.RESERVE, 4, True),
        (UnmanagedPolicy.RESERVE, 6, False),
        (UnmanagedPolicy.REPORT, 6, False),
    ],
)
def test_an_unknown_guest_may_explain_over_capacity(policy, used, is_symptom):
    """A guest unknown to nova uses capacity, so it may explain a finding `over-capacity`."""
    found = caused(stranger_world(1, used), dataclasses.replace(ONE_TO_ONE, unknown_guests=policy))
    (over,) = [one for one in found["over-capacity"] if one.finding.resource_class == "VCPU"]
    (guest,) = found["guest-unknown"]
    assert over.caused_by == ((guest.finding.id,) if is_symptom else ())


def test_unallocated_use_is_a_symptom_of_an_unknown_guest():
    """The finding `unmanaged-use-unplaced` is a symptom of the finding `guest-unknown`."""
    root = facts.root(facts.inventory("VCPU", 4, allocation_ratio=1.0))
    world = facts.snapshot(
        libvirt=facts.host(facts.domain("stranger", vcpus=6)),
        placement=facts.view(provider=root, typed_consumers=True),
    )
    found = caused(world, dataclasses.replace(ONE_TO_ONE, role=Role.COMPANION))
    (guest,) = found["guest-unknown"]
    assert {one.caused_by for one in found["unmanaged-use-unplaced"]} == {(guest.finding.id,)}
    assert set(guest.symptoms) == {one.finding.id for one in found["unmanaged-use-unplaced"]}


def test_unlisted_usage_does_not_explain_another_provider():
    """The finding `usage-unlisted` explains `over-capacity` of the same provider, not of another provider."""
    hidden = plain("usage-unlisted", provider_uuid="p", resource_class="VCPU", facts=(("unlisted", 4),))
    excess = (("missing", 3.0), ("allocation_ratio", 1.0))
    here = plain("over-capacity", provider_uuid="p", resource_class="VCPU", facts=excess)
    there = plain("over-capacity", provider_uuid="q", resource_class="VCPU", facts=excess)
    found = {one.finding.id: one for one in with_causes((seen(hidden), seen(here), seen(there)))}
    assert found[here.id].caused_by == (hidden.id,)
    assert found[there.id].caused_by == ()
    assert found[hidden.id].symptoms == (here.id,)


def test_a_root_cause_lists_direct_and_indirect_symptoms():
    """The finding `hostname-duplicated` lists a name conflict and the resulting refused write as symptoms."""
    twin = plain("hostname-duplicated", provider_uuid="other", facts=(("provider_name", "cmp1"),))
    conflict = plain("provider-name-conflict", provider_uuid="other", facts=(("provider_name", "cmp1"),))
    refused = plain("write-refused", provider_uuid="own", facts=(("provider_name", "cmp1"),))
    found = with_causes((seen(twin), seen(conflict), seen(refused)))
    assert [one.caused_by for one in found] == [(), (twin.id,), (twin.id,)]
    assert found[0].symptoms == (conflict.id, refused.id)
    assert found[1].symptoms == ()
    alone = with_causes((seen(conflict), seen(refused)))
    assert [one.caused_by for one in alone] == [(), (conflict.id,)]


def test_a_name_conflict_does_not_explain_every_refused_write():
    """A conflict about the provider name cmp1 does not explain a refused write to the provider cmp1_gpu."""
    conflict = plain("provider-name-conflict", provider_uuid="other", facts=(("provider_name", "cmp1"),))
    refused = plain("write-refused", provider_uuid="child", facts=(("provider_name", "cmp1_gpu"),))
    assert all(not one.caused_by for one in with_causes((seen(conflict), seen(refused))))


def test_rival_writer_is_the_cause_of_trait_unexpected():
    """On one provider, the finding `rival-writer` is the cause of the finding `trait-unexpected`."""
    rival, trait = plain("rival-writer", provider_uuid="p"), plain("trait-unexpected", provider_uuid="p", subject="T")
    found = with_causes((seen(trait), seen(rival)))
    assert [one.caused_by for one in found] == [(rival.id,), ()]


def test_an_unchecked_finding_still_counts_as_a_cause():
    """A finding that cannot be checked now still counts as the cause of other findings."""
    root = seen(plain("allocation-leaked", consumer_uuid="c"), state=FindingState.UNKNOWN)
    several = seen(plain("consumer-on-several-providers", consumer_uuid="c"))
    assert [one.caused_by for one in with_causes((root, several))] == [(), (root.finding.id,)]


def test_causes_and_symptoms_omit_ended_findings():
    """The fields caused_by and symptoms of a finding list only findings that the agent still reports."""
    several = seen(plain("consumer-on-several-providers", consumer_uuid="c"), caused_by=("gone",))
    assert with_causes((several,))[0].caused_by == ()
    other = seen(plain("allocation-leaked", consumer_uuid="another"), symptoms=("gone",))
    assert with_causes((other,))[0].symptoms == ()
