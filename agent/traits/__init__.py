"""The trait families that the agent decides, one module each. A new one is a file here and a line in BUILTIN."""

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
