"""reshape-needed: consumers that hold amounts on the root that belong on children, and on which children."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT
from tests.rigs.facts import NODE, ROOT_UUID, decided, findings, inventory, proof, settings, snapshot, uuid
from tests.rigs.nested import CARDS, GPU_06, child, encrypting, mdev_type, on, standing

ONE_TYPE = settings(mdev_types=(mdev_type("nvidia-11"),))
VGPU = standing(
    held=(on(ROOT_UUID, "i1", "VGPU", 2), on(ROOT_UUID, "i2", "VGPU", 1), on(ROOT_UUID, "i2", "VCPU", 4)),
    inventories=(inventory("VGPU", 16), inventory("VCPU", 4)),
)


def test_s106_vgpus_on_the_root_provider_are_reported():
    """The finding shows the consumers of VGPU on the root provider and the child providers that offer VGPU."""
    (found,) = findings(snapshot(libvirt=CARDS, placement=VGPU), "reshape-needed", ONE_TYPE)
    assert (found.severity, found.provider_uuid, found.resource_class) == (Severity.ERROR, ROOT_UUID, "VGPU")
    assert found.expected == (
        f"only child providers offer VGPU: {NODE}_pci_0000_06_00_0 (16), {NODE}_pci_0000_07_00_0 (8)"
    )
    assert found.actual.startswith("3 VGPU used on the root provider by 2 consumers: ")
    assert f"{uuid('i1')} (2)" in found.actual
    assert proof(found) == [("placement", "VGPU", 1), ("placement", "VGPU", 2)]
    assert found.rests_on_recorded
    assert found.remedy.startswith("move VGPU to the mdev providers, all allocations at once: ")
    assert f"stocktake heal --finding {found.id[:8]}; " in found.remedy
    assert "once Placement has the mdev providers" in found.remedy
    assert "VGPU allocation must move to this device's mdev provider" in found.remedy
    assert "MEM_ENCRYPTION_CONTEXT" not in found.remedy


def test_s107_memory_encryption_on_the_root_is_reported():
    """If the root provider has the class MEM_ENCRYPTION_CONTEXT, the agent reports that a reshape is needed."""
    held = standing(
        held=(on(ROOT_UUID, "c", "MEM_ENCRYPTION_CONTEXT", 1),), inventories=(inventory("MEM_ENCRYPTION_CONTEXT", 16),)
    )
    (found,) = findings(snapshot(libvirt=encrypting(sev="Y"), placement=held), "reshape-needed")
    assert found.expected == f"only child providers offer MEM_ENCRYPTION_CONTEXT: {NODE}_amd_sev (16)"
    assert proof(found) == [("placement", "MEM_ENCRYPTION_CONTEXT", 1)]
    assert "MEM_ENCRYPTION_CONTEXT allocation must move to this device's memory-encryption provider" in found.remedy
    assert "VGPU" not in found.remedy


def test_reshape_needed_says_the_child_providers_are_unknown():
    """If libvirt is down, the finding `reshape-needed` says that the child providers for VGPU are unknown."""
    (found,) = findings(snapshot(libvirt=CARDS, placement=VGPU, lost=[LIBVIRT]), "reshape-needed", ONE_TYPE)
    assert found.expected.endswith("the child providers are unknown, because this host does not offer the class now")


QUIET = {
    "no type is enabled": (snapshot(libvirt=CARDS, placement=VGPU), settings()),
    "nobody uses it": (snapshot(libvirt=CARDS, placement=standing(inventories=(inventory("VGPU", 16),))), ONE_TYPE),
    "it is used on a child": (
        snapshot(
            libvirt=CARDS,
            placement=standing(child(GPU_06, inventory("VGPU", 16)), held=(on(uuid(GPU_06), "i1", "VGPU", 1),)),
        ),
        ONE_TYPE,
    ),
    "Placement was not read": (snapshot(libvirt=CARDS, placement=VGPU, lost=["placement"]), ONE_TYPE),
}


@pytest.mark.parametrize(("world", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_an_unneeded_reshape_of_vgpus_is_not_reported(world, chosen):
    """If, for example, all VGPU allocations are on child providers, the agent reports no reshape of VGPUs."""
    assert findings(world, "reshape-needed", chosen) == ()


def test_vgpus_that_need_a_reshape_are_not_over_capacity():
    """Instances have VGPU allocations on the root provider.

    A reshape must move VGPU to child providers. The agent does not report VGPU as over capacity.
    """
    decision = decided(snapshot(libvirt=CARDS, placement=VGPU), ONE_TYPE)
    assert [f.resource_class for f in decision.findings if f.code == "over-capacity"] == []
