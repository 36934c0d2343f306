"""Persistent memory: one class per label, counted in namespaces. Numbers in ids are scenarios."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.storage import PmemNamespace, StorageFacts
from agent.model.nova import Flavor
from agent.model.placement import ROOT, Inventory
from agent.model.report import Verdict
from agent.model.settings import PmemLabel
from agent.model.snapshot import PMEM
from agent.resources.pmem import Pmem
from tests.rigs.facts import (
    FLAVOR_A,
    NODE,
    allocations,
    decided,
    domain,
    failed,
    good,
    host,
    instance,
    inventory,
    root,
    settings,
    snapshot,
    state,
    uuid,
    view,
    wanted_root,
)

BIG, SMALL = "CUSTOM_PMEM_NAMESPACE_4GB", "CUSTOM_PMEM_NAMESPACE_SMALL"
LABELS = settings(
    pmem_labels=(PmemLabel(label="4GB", namespaces=("ns_0",)), PmemLabel(label="SMALL", namespaces=("ns_1", "ns_2")))
)


def namespace(name):
    return PmemNamespace(name=name, device_path="/dev/dax0.0", size_bytes=4225761280, alignment_bytes=2097152)


def listing(*names, **changes):
    """Return a world in which ndctl lists namespaces of these names."""
    world = snapshot(**changes)
    read = good(PMEM, StorageFacts(pmem_namespaces=tuple(map(namespace, names))))
    return dataclasses.replace(world, storage=(*world.storage, read))


def unread(**changes):
    world = snapshot(**changes)
    return dataclasses.replace(world, storage=(*world.storage, failed(PMEM)))


ALL = ("ns_0", "ns_1", "ns_2", "ns_3")


def test_s95_a_pmem_total_is_the_number_of_namespaces():
    """The agent publishes a resource class for each PMEM label. The total is the number of namespaces of the label."""
    wanted = wanted_root(decided(listing(*ALL), LABELS))
    assert [i for i in wanted.inventories if i.resource_class.startswith("CUSTOM_PMEM")] == [
        Inventory(resource_class=BIG, total=1, reserved=0, min_unit=1, max_unit=1, step_size=1, allocation_ratio=1.0),
        Inventory(resource_class=SMALL, total=2, reserved=0, min_unit=1, max_unit=2, step_size=1, allocation_ratio=1.0),
    ]
    assert {BIG, SMALL} <= wanted.owned_classes
    assert wanted.frozen == ()


def test_s94_a_host_without_pmem_labels_has_no_pmem_class():
    """If nova's pmem_namespaces is empty, the agent publishes no resource class for persistent memory."""
    wanted = wanted_root(decided(snapshot(), settings()))
    assert [i.resource_class for i in wanted.inventories] == ["DISK_GB", "MEMORY_MB", "VCPU"]
    assert Pmem().needs(settings()) == frozenset()


LABEL_NAMES = {
    ("4GB", "4gb"): {BIG: 2},
    ("fast-tier.2", "fast  tier"): {"CUSTOM_PMEM_NAMESPACE_FAST_TIER_2": 1, "CUSTOM_PMEM_NAMESPACE_FAST_TIER": 1},
}


@pytest.mark.parametrize(("labels", "expected"), LABEL_NAMES.items())
def test_pmem_labels_with_the_same_class_are_added_up(labels, expected):
    """The labels 4GB and 4gb give the same resource class, so the agent adds up their namespaces."""
    chosen = settings(
        pmem_labels=tuple(PmemLabel(label=name, namespaces=(f"ns_{n}",)) for n, name in enumerate(labels))
    )
    found = Pmem().inventory(listing(*ALL), chosen)
    assert {i.resource_class: i.total for key, i in found if key == ROOT} == expected


BEFORE = view(provider=root(inventory(BIG, 1), inventory(SMALL, 5), inventory("CUSTOM_PMEM", 3)))
NO_SUCH = "[libvirt] pmem_namespaces: ndctl lists no devdax namespace of this name: "
FROZEN = {
    "a namespace is gone": (listing("ns_0", "ns_2", placement=BEFORE), NO_SUCH + "ns_1"),
    "ndctl lists none": (listing(placement=BEFORE), NO_SUCH + "ns_0, ns_1, ns_2"),
    "a name that is there twice": (
        listing(*ALL, "ns_1", placement=BEFORE),
        "[libvirt] pmem_namespaces: ndctl lists several namespaces of this name: ns_1",
    ),
    "ndctl failed": (unread(placement=BEFORE), "pmem could not be read"),
}


@pytest.mark.parametrize(("world", "why"), FROZEN.values(), ids=FROZEN.keys())
def test_pmem_inventories_stay_if_namespaces_are_unclear(world, why):
    """If ndctl lists a configured namespace twice or not at all, Placement's pmem inventories stay unchanged."""
    decision = decided(world, LABELS)
    frozen = {f.name: f.why for f in wanted_root(decision).frozen}
    assert frozen == {BIG: why, SMALL: why}
    (put,) = [w for w in decision.plan.writes if hasattr(w, "inventories")]
    assert {inventory(BIG, 1), inventory(SMALL, 5)} <= set(put.inventories)


def test_a_missing_namespace_prevents_a_pmem_inventory():
    """If ndctl does not list a configured namespace, the agent creates no inventory of persistent memory."""
    held = decided(listing("ns_0"), LABELS).plan.held_back
    assert ("pmem", NO_SUCH + "ns_1, ns_2") in {(one.what, one.why) for one in held}


def test_a_pmem_class_is_removed_with_its_label():
    """If pmem_namespaces no longer contains a label, the agent removes the label's class from the inventory."""
    decision = decided(snapshot(placement=BEFORE), settings())
    (put,) = [w for w in decision.plan.writes if hasattr(w, "inventories")]
    assert {i.resource_class for i in put.inventories} == {"CUSTOM_PMEM", "DISK_GB", "MEMORY_MB", "VCPU"}


def flavor(**specs: str) -> Flavor:
    return dataclasses.replace(FLAVOR_A, extra_specs=tuple(specs.items()))


PROMISED = {
    "one of each": (flavor(**{"hw:pmem": "4GB,SMALL"}), {BIG: 1, SMALL: 1}),
    "two of a label": (flavor(**{"hw:pmem": " SMALL, SMALL ,"}), {SMALL: 2}),
    "by its class": (flavor(**{"resources:CUSTOM_PMEM_NAMESPACE_SMALL": "2"}), {SMALL: 2}),
    "none": (FLAVOR_A, {}),
}


@pytest.mark.parametrize(("asked", "expected"), PROMISED.values(), ids=PROMISED.keys())
def test_an_allocation_agrees_with_the_pmem_of_the_flavor(asked, expected):
    """If an allocation contains the persistent memory that the flavor requests, the agent reports no difference."""
    recorded = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1, **expected}
    world = listing(
        *ALL,
        nova=state(instance(flavor=asked)),
        libvirt=host(domain()),
        placement=view(allocations(uuid("i1"), **recorded), provider=root(inventory(BIG, 1), inventory(SMALL, 2))),
    )
    decision = decided(world, LABELS)
    promised = {r.resource_class: r.promised for r in decision.rows if Pmem().owns(r.resource_class)}
    assert promised == expected
    assert {row.verdict for row in decision.rows} == {Verdict.AGREED}
    assert {claim.consumer.name for row in decision.rows for claim in row.claims if claim.source.system == "nova"} == {
        "i1"
    }


def test_unrequested_pmem_causes_a_finding():
    """If an allocation contains persistent memory that the flavor does not request, the agent reports a finding."""
    world = listing(
        *ALL,
        nova=state(instance(node=NODE)),
        libvirt=host(domain()),
        placement=view(
            allocations(uuid("i1"), VCPU=1, MEMORY_MB=128, DISK_GB=1, **{SMALL: 1}), provider=root(inventory(SMALL, 2))
        ),
    )
    found = [f for f in decided(world, LABELS).findings if f.code == "allocation-differs"]
    assert [f.resource_class for f in found] == [SMALL]
