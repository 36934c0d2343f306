"""Traits of the root provider that the agent decides, one family of traits per module.

A family is a pure function, ``wish``, from a snapshot and the settings to a Wish: the traits to set and those to clear.
The agent does not change a trait that is in neither set. So a family whose facts could not be read returns an empty
Wish and changes nothing. ``BUILTIN`` lists the families; agent/provider_tree/desired.py merges their wishes.

Begin with base.py (``Wish``), then read sound.py, a short family. versions.py compares the versions
of libvirt and the hypervisor. To add a family, add a module here and a line in ``BUILTIN``.

Not here: traits of child providers (agent/nested), traits from provider.yaml files
(agent/provider_tree/provider_files.py), and the writes to Placement (agent/placement/writer.py).
"""

from __future__ import annotations

from agent.traits import (
    architecture,
    compute_capabilities,
    cpu_features,
    graphics,
    hyperthreading,
    image_types,
    memory_encryption,
    network_models,
    owner,
    remote_managed_ports,
    service_status,
    sound,
    storage_buses,
    tpm,
    viommu,
)
from agent.traits.base import TraitFamily

BUILTIN: tuple[TraitFamily, ...] = (
    architecture.wish,
    compute_capabilities.wish,
    cpu_features.wish,
    graphics.wish,
    hyperthreading.wish,
    image_types.wish,
    memory_encryption.wish,
    network_models.wish,
    owner.wish,
    remote_managed_ports.wish,
    service_status.wish,
    sound.wish,
    storage_buses.wish,
    tpm.wish,
    viommu.wish,
)
