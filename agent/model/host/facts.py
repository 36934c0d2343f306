"""What the hypervisor says about the host: CPUs, memory, NUMA cells and domains."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agent.model.host.capabilities import Capabilities
from agent.model.host.devices import Devices

#: Metadata key: what stands in the place of a field's value when an audit compares its facts with the last audit's.
BLANK = "blank"
#: Metadata of a field that the books rest on: if its value changes, the audit writes the books again.
COUNTED: Mapping[str, object] = MappingProxyType({"counted": True})


def blanked(value: object) -> Mapping[str, object]:
    """Metadata of a field that changes by itself and that no book rests on: the books see ``value`` instead."""
    return MappingProxyType({BLANK: value})


# What oslo.utils' strutils.bool_from_string takes for true, by which nova reads them.
_ON = frozenset({"1", "t", "true", "on", "y", "yes"})


class DomainState(enum.Enum):
    """libvirt's virDomainState, by its documented names."""

    NO_STATE = "no-state"
    RUNNING = "running"
    BLOCKED = "blocked"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    SHUTOFF = "shutoff"
    CRASHED = "crashed"
    PMSUSPENDED = "pmsuspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """One logical CPU; core, socket and cell are None where libvirt does not say."""

    id: int
    online: bool
    core: int | None = None
    socket: int | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePool:
    """Pages of one size in one cell: ``size_kib``, how many there are."""

    size_kib: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One NUMA cell; ``siblings`` are the distinct sets of CPUs that share a core, each ascending."""

    id: int
    memory_mib: int
    cpu_ids: tuple[int, ...] = ()
    page_pools: tuple[PagePool, ...] = ()
    siblings: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk of a domain.

    ``kind`` is libvirt's ``type`` (file, block, network, volume, ...), ``source``
    the path or name, or None for an empty drive; ``format`` the driver's type
    (qcow2, raw, ...), None where the XML gives none, which libvirt takes for raw.
    The domain XML carries no sizes: those of files are DiskFile's.
    """

    target: str
    kind: str
    source: str | None
    format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A defined guest, running or not.

    ``vcpus`` and ``memory_mib`` are what it may use (current vCPUs, maximum
    memory); ``maximum_vcpus`` is how many it was defined with, ``current_memory_mib``
    what its balloon leaves it now, None where libvirt does not say. ``nova_flavor``
    is (vcpus, memory MiB, disk GiB) from the ``<nova:instance>`` metadata where there
    is any; ``managed_by_nova`` says whether that metadata is there at all. ``pci_addresses`` are the host's PCI
    functions that its definition takes, as PciDevice writes them, ``mdev_uuids`` the mediated devices.
    """

    uuid: str
    name: str
    state: DomainState
    vcpus: int
    memory_mib: int
    pinned_cpus: tuple[int, ...] = ()
    disks: tuple[Disk, ...] = ()
    managed_by_nova: bool = False
    nova_flavor: NovaMetadataFlavor | None = None
    current_memory_mib: int | None = None
    pci_addresses: tuple[str, ...] = ()
    maximum_vcpus: int | None = None
    mdev_uuids: tuple[str, ...] = ()

    @property
    def running_memory_mib(self) -> int:
        """What it takes of the host while it runs."""
        return self.memory_mib if self.current_memory_mib is None else self.current_memory_mib


@dataclass(frozen=True, slots=True, kw_only=True)
class NovaMetadataFlavor:
    """The flavor that nova wrote into the domain's metadata."""

    name: str
    vcpus: int
    memory_mib: int
    root_gib: int
    ephemeral_gib: int
    swap_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OddDomain:
    """A domain that is there but cannot be understood: what it uses is unknown."""

    uuid: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A small file that could not be read, though it may be there: what it says is unknown. ``why`` is errno's word."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """One reading of libvirt and /proc, taken together.

    ``hostname`` is the node name (libvirt's, but for the test driver: design
    3.1), the first that was ever read; ``ignored_hostname`` is another one that
    libvirt gives now. ``memory_mib`` is getInfo's, ``memory_used_mib`` from /proc/meminfo:
    memory − (MemFree + Buffers + Cached), None where it cannot be read.
    ``simulated`` names what a test driver invents, for the demo to say.
    ``capabilities`` is None while libvirt has not answered yet (it probes QEMU for
    seconds after its start): then cells, the places of CPUs and the hypervisor's
    version are unknown too, not absent. ``devices`` is None where they could not be
    listed, ``devices_unknown_because`` says why. ``kernel_parameters`` are
    (``kvm_amd/sev``, its text, None where the module or parameter is not there, or
    Unread). ``tdx_capacity`` is how many guests with Intel TDX the kernel has keys for,
    None where it does not say or could not be asked.
    ``uptime_s`` and ``load`` are /proc/uptime and the three averages of
    /proc/loadavg, None where they cannot be read.
    """

    hostname: str = field(metadata=COUNTED)
    driver: str = field(metadata=COUNTED)
    libvirt_version: int = field(metadata=COUNTED)
    hypervisor_version: int = field(metadata=COUNTED)
    cpus: tuple[Cpu, ...] = field(metadata=COUNTED)
    memory_mib: int = field(metadata=COUNTED)
    memory_used_mib: int | None = field(metadata=blanked(None))
    cells: tuple[Cell, ...] = field(default=(), metadata=COUNTED)
    domains: tuple[Domain, ...] = field(default=(), metadata=COUNTED)
    odd_domains: tuple[OddDomain, ...] = field(default=(), metadata=COUNTED)
    simulated: tuple[str, ...] = field(default=(), metadata=COUNTED)
    ignored_hostname: str | None = field(default=None, metadata=COUNTED)
    capabilities: Capabilities | None = field(default=None, metadata=blanked(None))
    devices: Devices | None = field(default=None, metadata=blanked(None))
    devices_unknown_because: str = field(default="", metadata=blanked(""))
    kernel_parameters: tuple[tuple[str, str | Unread | None], ...] = field(default=(), metadata=blanked(()))
    tdx_capacity: int | None = field(default=None, metadata=blanked(None))
    uptime_s: float | None = field(default=None, metadata=blanked(None))
    load: tuple[float, float, float] | None = field(default=None, metadata=blanked(None))

    @property
    def guest_uuids(self) -> frozenset[str]:
        """Of all defined guests, those that cannot be understood included."""
        return frozenset(d.uuid for d in self.domains) | frozenset(d.uuid for d in self.odd_domains)

    @property
    def capabilities_known(self) -> bool:
        """Whether libvirt has answered what it can do."""
        return self.capabilities is not None

    def kernel_flag(self, parameter: str) -> bool | None:
        """Whether a kernel module's parameter is on; a module that is not loaded has none (hypervisor-audit 6).

        None where it could not be read, which is neither.
        """
        text = dict(self.kernel_parameters).get(parameter)
        return None if isinstance(text, Unread) else (text or "").strip().lower() in _ON

    @property
    def unread_parameters(self) -> tuple[str, ...]:
        """Those that could not be read, each with the reason."""
        return tuple(f"{name}: {text.why}" for name, text in self.kernel_parameters if isinstance(text, Unread))

    @property
    def online_cpus(self) -> tuple[int, ...]:
        """Ids of the CPUs that are online, ascending."""
        return tuple(cpu.id for cpu in self.cpus if cpu.online)
