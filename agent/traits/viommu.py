"""COMPUTE_VIOMMU_MODEL_*: the virtual IOMMUs that a guest can have.

libvirt does not list virtual IOMMUs. Every supported QEMU has the IOMMU model of its architecture, so the trait of that
model is set if this host has an emulator of the architecture.
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, emulators, merged, wish_of, wish_of_emulators
from agent.traits.versions import at_least

_OF_ARCHITECTURE = {"aarch64": "COMPUTE_VIOMMU_MODEL_SMMUV3", "x86_64": "COMPUTE_VIOMMU_MODEL_INTEL"}


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """Return which COMPUTE_VIOMMU_MODEL_* traits to set or clear. Traits whose answer is unknown stay as they are.

    The trait with AUTO is always set, because nova then chooses the model.
    """
    answers = {"COMPUTE_VIOMMU_MODEL_AUTO": True}
    host = snapshot.host.value
    if host is not None:
        answers["COMPUTE_VIOMMU_MODEL_VIRTIO"] = at_least(host, libvirt=(8, 3, 0))
    asked = emulators(snapshot)
    if asked is None:
        return wish_of(answers)
    run = {one.arch for one in asked}
    of_architecture = {trait: arch in run for arch, trait in _OF_ARCHITECTURE.items()}
    return merged(wish_of(answers), wish_of_emulators(of_architecture, snapshot))
