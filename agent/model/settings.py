"""What the operator decided, read once from configuration. An audit uses the Settings it started with."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from agent.model.heal import HealSettings
from agent.model.host.device_spec import PciSettings
from agent.model.provider_config import ProviderEntry


class Role(enum.Enum):
    """Who writes what (design 2.1)."""

    OWNER = "owner"
    COMPANION = "companion"
    OBSERVER = "observer"


class UnmanagedPolicy(enum.Enum):
    """What to do with use that the cloud does not know."""

    RESERVE = "reserve"
    REPORT = "report"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioPolicy:
    """An allocation ratio: ``configured`` always wins; else what Placement has; else ``initial``."""

    configured: float | None
    initial: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCpu:
    """``[libvirt] cpu_*``: what CPU guests get. ``mode`` None: unset. Flags as configured, with their sign."""

    mode: str | None = None
    models: tuple[str, ...] = ()
    extra_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tpm:
    """``[libvirt] swtpm_enabled`` and ``supported_tpm_secret_security``."""

    enabled: bool = False
    secret_security: tuple[str, ...] = ("user", "host", "deployment")


@dataclass(frozen=True, slots=True, kw_only=True)
class MdevTypeChoice:
    """One of ``[devices] enabled_mdev_types``: the parents it is bound to, its class, a cap."""

    type_id: str
    # PCI addresses; of a parent that is no PCI device its name in /sys.
    addresses: tuple[str, ...] = ()
    resource_class: str = "VGPU"
    max_instances: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PmemLabel:
    """One entry of ``[libvirt] pmem_namespaces``."""

    label: str
    namespaces: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedPages:
    """One ``reserved_huge_pages``: so many pages of that size in that NUMA cell."""

    cell: int
    size_kib: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAffinity:
    """NUMA cells of physical networks, by name, and of tunnels."""

    physnets: tuple[tuple[str, tuple[int, ...]], ...] = ()
    tunnel: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Reserves, ratios, policies. Units are in the names."""

    role: Role
    takeover: bool
    host: str
    cpu_ratio: RatioPolicy
    memory_ratio: RatioPolicy
    disk_ratio: RatioPolicy
    reserved_host_cpus: int
    reserved_host_memory_mib: int
    reserved_host_disk_mib: int
    cpu_shared_set: tuple[int, ...] | None
    cpu_dedicated_set: tuple[int, ...] | None
    vcpu_pin_set: tuple[int, ...] | None
    cpu_power_management: bool
    file_backed_memory_mib: int
    images_type: str
    images_volume_group: str | None
    instances_path: str
    volume_groups: tuple[str, ...]
    foreign_volumes: UnmanagedPolicy
    unknown_guests: UnmanagedPolicy
    confirm_audits: int
    confirm_spacing_s: float
    confirm_within_s: float | None
    service_down_time_s: int
    full_read_every: int
    consumer_reads: int
    source_deadline_s: float
    conflict_rounds: int = 4
    virt_type: str = "kvm"
    my_ip: str | None = None
    guest_cpu: GuestCpu = field(default_factory=GuestCpu)
    machine_types: tuple[tuple[str, str], ...] = ()
    tpm: Tpm = field(default_factory=Tpm)
    force_raw_images: bool = True
    image_types_excluded: frozenset[str] = frozenset()
    reserve_image_cache: bool = False
    images_rbd_pool: str = "rbd"
    mdev_types: tuple[MdevTypeChoice, ...] = ()
    pmem_labels: tuple[PmemLabel, ...] = ()
    pci: PciSettings = field(default_factory=PciSettings)
    reserved_huge_pages: tuple[ReservedPages, ...] = ()
    networks: NetworkAffinity = field(default_factory=NetworkAffinity)
    # None: as many as the kernel says.
    intel_tdx_guests: int | None = None
    provider_entries: tuple[ProviderEntry, ...] = ()
    heal: HealSettings = field(default_factory=HealSettings)

    @property
    def disk_group(self) -> str | None:
        """The volume group that DISK_GB counts, or None where it counts a file system."""
        return self.images_volume_group if self.images_type == "lvm" else None
