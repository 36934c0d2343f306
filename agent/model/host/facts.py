"""Facts about the host from libvirt, /proc and /sys: CPUs, memory, NUMA cells, domains, devices, kernel parameters."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agent.model.host.capabilities import Capabilities
from agent.model.host.devices import Devices
from agent.model.nova import Flavor

#: The key in a field's metadata that excludes the field from comparisons of two audits' facts. Before a comparison, the
#: field gets the same value in both facts: the metadata's value for this key.
BLANK = "blank"
#: Metadata of a field that affects the amounts: if the field's value changes, the audit computes all amounts again.
COUNTED: Mapping[str, object] = MappingProxyType({"counted": True})


def blanked(value: object) -> Mapping[str, object]:
    """Return metadata for a field that comparisons of facts ignore. Before a comparison, the field gets ``value``."""
    return MappingProxyType({BLANK: value})


# The texts that oslo.utils' strutils.bool_from_string treats as true. nova uses that function for kernel parameters.
_ON = frozenset({"1", "t", "true", "on", "y", "yes"})


class DomainState(enum.Enum):
    """libvirt's virDomainState, with libvirt's documented names."""

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
    """One logical CPU; core, socket and cell are None if libvirt does not report them."""

    id: int
    online: bool
    core: int | None = None
    socket: int | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePool:
    """The memory pages of one size in one NUMA cell; ``total`` is the number of pages."""

    size_kib: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One NUMA cell; ``siblings`` are the distinct sets of CPUs that share a core, each set ascending."""

    id: int
    memory_mib: int
    cpu_ids: tuple[int, ...] = ()
    page_pools: tuple[PagePool, ...] = ()
    siblings: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk of a domain.

    ``kind`` is libvirt's ``type`` (file, block, network, volume, ...). ``source`` is the path or name, None for an
    empty drive. ``format`` is the driver's type (qcow2, raw, ...), None if the XML does not name a type; libvirt then
    uses raw. The domain XML has no sizes; DiskFile has the sizes of files.
    """

    target: str
    kind: str
    source: str | None
    format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A defined guest, running or not.

    ``vcpus``: current number of vCPUs, which the guest may use.
    ``memory_mib``: maximum memory in MiB, which the guest may use.
    ``managed_by_nova``: whether the domain has ``<nova:instance>`` metadata.
    ``nova_flavor``: the flavor in this metadata, without id and extra specs; None if the metadata has no flavor.
    ``current_memory_mib``: memory in MiB that the balloon leaves to the guest now, None if libvirt does not report it.
    ``pci_addresses``: the host's PCI functions in the guest's definition, in the notation of PciDevice.
    ``maximum_vcpus``: number of vCPUs in the guest's definition, None if libvirt does not report it.
    ``mdev_uuids``: the mediated devices in the guest's definition.
    """

    uuid: str
    name: str
    state: DomainState
    vcpus: int
    memory_mib: int
    pinned_cpus: tuple[int, ...] = ()
    disks: tuple[Disk, ...] = ()
    managed_by_nova: bool = False
    nova_flavor: Flavor | None = None
    current_memory_mib: int | None = None
    pci_addresses: tuple[str, ...] = ()
    maximum_vcpus: int | None = None
    mdev_uuids: tuple[str, ...] = ()

    @property
    def running_memory_mib(self) -> int:
        """Memory in MiB that the guest takes from the host while the guest runs."""
        return self.memory_mib if self.current_memory_mib is None else self.current_memory_mib


@dataclass(frozen=True, slots=True, kw_only=True)
class OddDomain:
    """A domain whose definition the agent cannot parse; the resources that the domain uses are unknown."""

    uuid: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A small file that may exist but could not be read, so its contents are unknown. ``why`` is errno's message."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """One read of libvirt, /proc and /sys.

    ``hostname``: the node's name, which is the first host name that libvirt reported to this process. With libvirt's
    test driver, the node's name is the configured host.
    ``ignored_hostname``: the host name that libvirt reports now, if it differs from ``hostname``.
    ``memory_mib``: the host's memory as libvirt's getInfo reports it.
    ``memory_used_mib``: memory − (MemFree + Buffers + Cached) by /proc/meminfo, None if that file cannot be read.
    ``simulated``: names of the facts that libvirt's test driver invents; the demo prints these names.
    ``capabilities``: None until libvirt reports them. After its start, libvirt probes QEMU for some seconds. During
    this time the NUMA cells, the CPU topology and the hypervisor's version are unknown too.
    ``devices``: None if libvirt could not list the devices; ``devices_unknown_because`` is the reason.
    ``kernel_parameters``: (name such as ``kvm_amd/sev``, value). The value is None if the module or the parameter does
    not exist, Unread if it could not be read.
    ``tdx_capacity``: number of guests with Intel TDX for which the kernel has keys, None if the kernel does not report
    the number or the agent cannot read it.
    ``uptime_s``: from /proc/uptime, None if that file cannot be read.
    ``load``: the three averages of /proc/loadavg, None if that file cannot be read.
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
        """Uuids of all defined guests, including those whose definition the agent cannot parse."""
        return frozenset(d.uuid for d in self.domains) | frozenset(d.uuid for d in self.odd_domains)

    def kernel_flag(self, parameter: str) -> bool | None:
        """Return whether a kernel module's parameter is on: False if the module is not loaded, None if unreadable."""
        text = dict(self.kernel_parameters).get(parameter)
        return None if isinstance(text, Unread) else (text or "").strip().lower() in _ON

    @property
    def unread_parameters(self) -> tuple[str, ...]:
        """The kernel parameters that could not be read, each with the reason."""
        return tuple(f"{name}: {text.why}" for name, text in self.kernel_parameters if isinstance(text, Unread))

    @property
    def online_cpus(self) -> tuple[int, ...]:
        """Ids of the online CPUs, ascending."""
        return tuple(cpu.id for cpu in self.cpus if cpu.online)
