"""Which virtual IOMMUs the host offers."""

from __future__ import annotations

import pytest

from agent.model.snapshot import LIBVIRT
from agent.traits import viommu
from tests.rigs.capabilities import UNREADABLE, capable, emulator, world
from tests.rigs.facts import settings, snapshot

X86, ARM = emulator("x86_64"), emulator("aarch64", "virt")
WORLDS = {
    "x86_64": (world(capable(X86)), {"AUTO", "INTEL", "VIRTIO"}, {"SMMUV3"}),
    "aarch64": (world(capable(ARM, arch="aarch64")), {"AUTO", "SMMUV3", "VIRTIO"}, {"INTEL"}),
    "both, the one emulated": (world(capable(X86, ARM)), {"AUTO", "INTEL", "SMMUV3", "VIRTIO"}, set()),
    "neither": (world(capable(emulator("s390x"), arch="s390x")), {"AUTO", "VIRTIO"}, {"INTEL", "SMMUV3"}),
    "libvirt 8.3.0": (world(capable(X86), libvirt_version=8003000), {"AUTO", "INTEL", "VIRTIO"}, {"SMMUV3"}),
    "libvirt 8.2.0": (world(capable(X86), libvirt_version=8002000), {"AUTO", "INTEL"}, {"SMMUV3", "VIRTIO"}),
    "no domain capabilities": (world(capable(domain=None)), {"AUTO", "VIRTIO"}, set()),
    "an answer that nobody could read": (
        world(capable(ARM, missing=(UNREADABLE,)), libvirt_version=8002000),
        {"AUTO", "SMMUV3"},
        {"VIRTIO"},
    ),
    "capabilities not known yet": (world(None), {"AUTO", "VIRTIO"}, set()),
    "no libvirt": (snapshot(lost=[LIBVIRT]), {"AUTO"}, set()),
}


@pytest.mark.parametrize(("facts", "wanted", "unwanted"), WORLDS.values(), ids=WORLDS.keys())
def test_viommu_traits_depend_on_architecture_and_libvirt(facts, wanted, unwanted):
    """The traits of virtual IOMMU models depend on the emulated CPU architectures and on libvirt's version."""
    told = viommu.wish(facts, settings())
    assert told.wanted == {f"COMPUTE_VIOMMU_MODEL_{name}" for name in wanted}
    assert told.unwanted == {f"COMPUTE_VIOMMU_MODEL_{name}" for name in unwanted}
