"""Describe the host as a compute node record does.

The figures come from libvirt and the host. A record also says what nova's instances use, but this module does not know
that. A figure is unknown if its source was not read. ``ResourceView.unknown`` names the unknown figures.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.books import DesiredTree
from agent.model.host.capabilities import GuestKind
from agent.model.host.facts import DomainState, HostFacts
from agent.model.host.resource_view import ResourceView
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.node_record.numa import numa_cells
from agent.node_record.overcommit import LeastDisk, disk_available_least
from agent.node_record.pci_usage import free_pools, owned_addresses
from agent.resources import cpus
from agent.resources.counted_store import counted_store
from agent.resources.store_doubt import store_doubt

OFF = frozenset({DomainState.SHUTOFF, DomainState.CRASHED, DomainState.NO_STATE})
_ARCHES = {"i386": "i686", "i486": "i686", "i586": "i686", "x86_32": "i686", "x86_32p": "i686", "amd64": "x86_64"}
_HYPERVISORS = {"xapi": "xen"}
_MODES = {"pv": "xen", "hv": "hvm", "baremetal": "hvm"}
# The names that nova knows, from nova/virt/arch.py and nova/objects/fields.py. nova cannot store a compute node record
# with any other name.
_KNOWN_ARCHES = frozenset(
    """
    alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips mipsel mips64
    mips64el openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x sh4 sh4eb sparc sparc64
    unicore32 x86_64 xtensa xtensaeb
    """.split()  # noqa: SIM905 - a table of names, for people to read
)
_KNOWN_HYPERVISORS = frozenset(
    """
    baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz parallels phyp prsm qemu test uml
    vbox vmware vz xen zvm
    """.split()  # noqa: SIM905 - a table of names, for people to read
)
_KNOWN_MODES = frozenset({"exe", "hvm", "uml", "xen"})


def resource_view(
    snapshot: Snapshot, settings: Settings, node: str | None, tree: DesiredTree | None = None
) -> ResourceView | None:
    """Return the host's figures for a compute node record; None without libvirt's data or the node's name.

    ``tree`` contains the providers of PCI devices, if the host has such providers.
    """
    host = snapshot.host.value
    if host is None or node is None:
        return None
    disk, least = counted_store(snapshot, settings), disk_available_least(snapshot, settings)
    capabilities = host.capabilities
    obstacle = cpus.obstacle(host, settings)
    state = snapshot.nova.value
    # libvirt does not show the devices of an instance that is suspended or not yet defined. nova's pci_devices rows do
    # show such devices, so the agent needs these rows to find the free devices.
    owned = owned_addresses(state, node) if state else frozenset()
    return ResourceView(
        hypervisor_type=host.driver,
        hypervisor_version=host.hypervisor_version if capabilities else None,
        hypervisor_hostname=node,
        host_ip=settings.my_ip,
        vcpus=len(cpus.shared_cpus(host, settings)) if obstacle is None else None,
        vcpus_used=sum(domain.vcpus for domain in host.domains if domain.state not in OFF),
        memory_mib=settings.file_backed_memory_mib or host.memory_mib,
        memory_used_mib=_memory_used_mib(host, settings),
        disk_total_bytes=disk.size_bytes if disk else None,
        disk_used_bytes=disk.used_bytes if disk else None,
        disk_available_least_gib=least.gib,
        cpu=capabilities.host_cpu if capabilities else None,
        cells=numa_cells(host, settings) if obstacle is None else None,
        pci_devices=len(host.devices.pci) if host.devices else None,
        pci_pools=free_pools(host, settings, tree, owned),
        supported_instances=supported_instances(capabilities.guests if capabilities else ()),
        uptime_s=host.uptime_s,
        load=host.load,
        unknown=_unknown(snapshot, settings, obstacle, least),
    )


def _memory_used_mib(host: HostFacts, settings: Settings) -> int | None:
    """Return the used memory in MiB: the value from /proc/meminfo.

    If the guests have file-backed memory, return the sum of the running guests' memory instead. File-backed memory is
    not part of the host memory in /proc/meminfo (nova bug 1801702).
    """
    if not settings.file_backed_memory_mib:
        return host.memory_used_mib
    return sum(domain.running_memory_mib for domain in host.domains if domain.state not in OFF)


def supported_instances(guests: Iterable[GuestKind]) -> tuple[tuple[str, str, str], ...]:
    """Return (architecture, hypervisor, mode) of each guest kind and domain type, in nova's spelling.

    The order is libvirt's. Names that nova does not know are left out: nova could not store them.
    """
    named = (
        (_ARCHES.get(arch, arch), _HYPERVISORS.get(kind, kind), _MODES.get(mode, mode))
        for guest in guests
        for kind in map(str.lower, guest.domain_types)
        for arch, mode in ((guest.arch.lower(), guest.os_type.lower()),)
    )
    return tuple(
        dict.fromkeys(
            (arch, kind, mode)
            for arch, kind, mode in named
            if arch in _KNOWN_ARCHES and kind in _KNOWN_HYPERVISORS and mode in _KNOWN_MODES
        )
    )


def _unknown(snapshot: Snapshot, settings: Settings, obstacle: str | None, least: LeastDisk) -> tuple[str, ...]:
    host = snapshot.host.value
    reasons = []
    if host is not None and host.capabilities is None:
        reasons.append("cpu_info, numa_topology, supported_instances: libvirt has not reported its capabilities yet")
    if host is not None and host.devices is None:
        reasons.append(f"pci_stats: {host.devices_unknown_because or 'not listed'}")
    if obstacle is not None:
        reasons.append(f"vcpus, numa_topology: {obstacle}")
    if host is not None and host.memory_used_mib is None and not settings.file_backed_memory_mib:
        reasons.append("memory_mb_used: /proc/meminfo cannot be read, or reports more free memory than libvirt's total")
    if counted_store(snapshot, settings) is None:
        doubt = store_doubt(snapshot, settings)
        reasons.append(f"local_gb, local_gb_used: {doubt.why if doubt else 'not measured'}")
    if least.size_bytes is None:
        reasons.append("disk_available_least: the agent has not measured the free space or the guests' files")
    reasons.extend(f"disk_available_least: domain {d.uuid} ({d.name}): {d.reason}" for d in least.unknown)
    return tuple(reasons)
