"""The operator's configuration as immutable values; an audit uses the Settings with which it started."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from agent.model.heal import HealSettings
from agent.model.host.device_spec import PciSettings
from agent.model.provider_config import ProviderEntry


class Role(enum.Enum):
    """What this agent may write.

    OWNER: everything that nova-compute would write. COMPANION: only allocations of the agent's own consumers, while
    nova-compute writes everything else. OBSERVER: nothing.
    """

    OWNER = "owner"
    COMPANION = "companion"
    OBSERVER = "observer"


class UnmanagedPolicy(enum.Enum):
    """What the agent does about guests and logical volumes that use the host without nova's knowledge."""

    RESERVE = "reserve"
    REPORT = "report"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioPolicy:
    """An allocation ratio: ``configured`` has priority, then the ratio in Placement, then ``initial``."""

    configured: float | None
    initial: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCpu:
    """``[libvirt] cpu_*``: the guests' CPU model. ``mode`` is None if unset. Each extra flag may begin with + or -."""

    mode: str | None = None
    models: tuple[str, ...] = ()
    extra_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CephAccess:
    """The Ceph pool of the guests' disks. If ``user`` (``--id``) or ``conf`` is None, ``ceph`` uses its own default."""

    pool: str
    user: str | None = None
    conf: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tpm:
    """``[libvirt] swtpm_enabled`` and ``supported_tpm_secret_security``."""

    enabled: bool = False
    secret_security: tuple[str, ...] = ("user", "host", "deployment")


@dataclass(frozen=True, slots=True, kw_only=True)
class MdevTypeChoice:
    """One type of ``[devices] enabled_mdev_types``: its parent devices, resource class and maximum number of mdevs."""

    type_id: str
    # The devices on which mdevs of this type are created: PCI addresses, or names in /sys for other devices.
    addresses: tuple[str, ...] = ()
    resource_class: str = "VGPU"
    max_instances: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PmemLabel:
    """One entry of ``[libvirt] pmem_namespaces``: a label and the pmem namespaces that have it."""

    label: str
    namespaces: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedPages:
    """One value of ``reserved_huge_pages``: ``count`` pages of ``size_kib`` KiB in NUMA cell ``cell``."""

    cell: int
    size_kib: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAffinity:
    """The NUMA cells to which the network cards of a network are attached (the options ``numa_nodes``).

    ``physnets`` has (name, ids of the cells) for each physical network. ``tunnel`` has the ids for tunnel networks.
    """

    physnets: tuple[tuple[str, tuple[int, ...]], ...] = ()
    tunnel: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A TCP server by host name (or address) and port."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAccess:
    """The cell database of ``[state] connection``, without the password. A SQLite file has only a ``name``."""

    name: str
    server: Server | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAccess:
    """What the commands in remedies need to reach the sources: addresses and names. Contains no credentials.

    ``placement_url`` is None if Placement's URL comes from Keystone's catalog; ``auth_url`` is Keystone's URL.
    ``broker`` (the first host of transport_url) is set if nova-conductor is the state source, ``database`` if the
    agent reads the cell database itself.
    """

    placement_url: str | None = None
    auth_url: str | None = None
    broker: Server | None = None
    database: DatabaseAccess | None = None
    libvirt_uri: str = "qemu:///system"
    ceph: CephAccess | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The configuration for one audit. If a field has a unit, its name ends with the unit (``_mib``, ``_s``)."""

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
    accepted_volumes: tuple[str, ...] = ()
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
    # None: the agent uses the number that the kernel reports.
    intel_tdx_guests: int | None = None
    provider_entries: tuple[ProviderEntry, ...] = ()
    heal: HealSettings = field(default_factory=HealSettings)
    access: SourceAccess = field(default_factory=SourceAccess)

    @property
    def disk_group(self) -> str | None:
        """The volume group that DISK_GB counts, or None if DISK_GB counts another store."""
        return self.images_volume_group if self.images_type == "lvm" else None
