"""Traits of the root provider that the agent decides, one family of traits per module.

A family is a pure function from a snapshot and the settings to a Wish: the traits to set and the traits to clear. The
agent leaves every trait alone that is in neither set, so a family with unknown facts changes nothing. ``BUILTIN``
lists the families; agent/provider_tree/desired.py merges their wishes.

Begin with base.py (``Wish``, ``TraitFamily``), then read sound.py, a short family. versions.py compares the versions
of libvirt and the hypervisor. To add a family, add a module here and a line in ``BUILTIN``.

Not here: traits of child providers (agent/nested), traits from provider.yaml files
(agent/provider_tree/provider_files.py), and the writes to Placement (agent/placement/writer.py).
"""

from __future__ import annotations

from agent.traits.architecture import ArchitectureTraits
from agent.traits.base import TraitFamily
from agent.traits.compute_capabilities import ComputeCapabilityTraits
from agent.traits.cpu_features import CpuFeatureTraits
from agent.traits.graphics import GraphicsTraits
from agent.traits.hyperthreading import HyperthreadingTrait
from agent.traits.image_types import ImageTypeTraits
from agent.traits.memory_encryption import MemoryEncryptionTraits
from agent.traits.network_models import NetworkModelTraits
from agent.traits.owner import OwnerTraits
from agent.traits.remote_managed_ports import RemoteManagedPortsTrait
from agent.traits.service_status import ServiceStatusTrait
from agent.traits.sound import SoundTraits
from agent.traits.storage_buses import StorageBusTraits
from agent.traits.tpm import TpmTraits
from agent.traits.viommu import ViommuTraits

BUILTIN: tuple[TraitFamily, ...] = (
    ArchitectureTraits(),
    ComputeCapabilityTraits(),
    CpuFeatureTraits(),
    GraphicsTraits(),
    HyperthreadingTrait(),
    ImageTypeTraits(),
    MemoryEncryptionTraits(),
    NetworkModelTraits(),
    OwnerTraits(),
    RemoteManagedPortsTrait(),
    ServiceStatusTrait(),
    SoundTraits(),
    StorageBusTraits(),
    TpmTraits(),
    ViommuTraits(),
)
