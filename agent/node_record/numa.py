"""Compute the host's NUMA cells: the CPUs, the memory and the huge pages that guests may use.

Two rules are unexpected. Without ``cpu_dedicated_set``, guests can be pinned to the shared CPUs too, unless
``cpu_shared_set`` says that these CPUs are only for sharing. Huge pages that are reserved for the host still count
in the cell's memory. ``CellPages.reserved`` is the number of these pages.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.host.facts import Cell, HostFacts
from agent.model.host.resource_view import CellPages, ViewCell
from agent.model.settings import Settings
from agent.resources import cpus

_WITH_QEMU = frozenset({"i686", "x86_64", "aarch64"})
_ALWAYS = frozenset({"ppc64", "ppc64le"})


def numa_cells(host: HostFacts, settings: Settings) -> tuple[ViewCell, ...] | None:
    """Return the cells sorted by id, or None if nova has no NUMA topology for this host.

    nova has a topology only if libvirt reports cells, and only on ppc64, or on x86 and aarch64 with driver QEMU.
    """
    arch = host.capabilities.host_cpu.arch if host.capabilities else ""
    if not host.cells or not (arch in _ALWAYS or (arch in _WITH_QEMU and host.driver == "QEMU")):
        return None
    shared = cpus.shared_cpus(host, settings)
    pinned = _pinned_cpus(shared, settings)
    sockets = {cpu.id: cpu.socket for cpu in host.cpus}
    return tuple(
        ViewCell(
            id=cell.id,
            socket=_one_socket(sockets.get(cpu_id) for cpu_id in cell.cpu_ids),
            cpuset=_in(cell.cpu_ids, shared),
            pcpuset=_in(cell.cpu_ids, pinned),
            memory_mib=cell.memory_mib,
            siblings=tuple(sorted({left for core in cell.siblings if (left := _in(core, shared | pinned))})),
            pages=_pages(cell, settings),
            physnets=tuple(sorted(name for name, cells in settings.networks.physnets if cell.id in cells)),
            is_tunneled=cell.id in settings.networks.tunnel,
        )
        for cell in sorted(host.cells, key=lambda cell: cell.id)
    )


def _pinned_cpus(shared: frozenset[int], settings: Settings) -> frozenset[int]:
    dedicated = cpus.dedicated_cpus(settings)
    for_sharing_only = settings.cpu_shared_set is not None and settings.vcpu_pin_set is None
    return dedicated if dedicated or for_sharing_only else shared


def _in(cpu_ids: Iterable[int], wanted: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(frozenset(cpu_ids) & wanted))


def _one_socket(sockets: Iterable[int | None]) -> int | None:
    """Return the socket of the cell's online CPUs; None if they are on several sockets, or if all CPUs are offline."""
    known = {socket for socket in sockets if socket is not None}
    return known.pop() if len(known) == 1 else None


def _pages(cell: Cell, settings: Settings) -> tuple[CellPages, ...]:
    kept = {(r.cell, r.size_kib): r.count for r in settings.reserved_huge_pages}
    return tuple(
        CellPages(size_kib=pool.size_kib, total=pool.total, reserved=kept.get((cell.id, pool.size_kib), 0))
        for pool in cell.page_pools
    )
