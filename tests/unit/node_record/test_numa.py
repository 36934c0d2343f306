"""NUMA cells as guests may use them: scenarios 82 to 87, on nova's test host of four cells with two CPUs each."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.capabilities import Capabilities, HostCpu
from agent.model.host.facts import Cell, Cpu, PagePool
from agent.model.settings import NetworkAffinity, ReservedPages
from agent.node_record.numa import numa_cells
from tests.rigs.facts import host, settings


def capable(arch="x86_64"):
    return Capabilities(host_cpu=HostCpu(arch=arch))


POOLS = (PagePool(size_kib=4, total=2048), PagePool(size_kib=2048, total=256), PagePool(size_kib=1048576, total=2))
FOUR_CELLS = dataclasses.replace(
    host(),
    cpus=tuple(Cpu(id=number, online=True, socket=number // 4) for number in range(8)),
    cells=tuple(
        Cell(
            id=cell,
            memory_mib=1024,
            cpu_ids=(2 * cell, 2 * cell + 1),
            siblings=((2 * cell, 2 * cell + 1),),
            page_pools=POOLS,
        )
        for cell in range(4)
    ),
    capabilities=capable(),
)


def cells(**options):
    found = numa_cells(FOUR_CELLS, settings(**options))
    assert found is not None
    return found


# (cpuset, pcpuset, siblings) of cells 0 to 3.
SETS = {
    "s82 shared 0-1, dedicated 2-6": (
        {"cpu_shared_set": (0, 1), "cpu_dedicated_set": (2, 3, 4, 5, 6)},
        [
            ((0, 1), (), ((0, 1),)),
            ((), (2, 3), ((2, 3),)),
            ((), (4, 5), ((4, 5),)),
            ((), (6,), ((6,),)),
        ],
    ),
    "s83 vcpu_pin_set 2-6 and shared 0-1": (
        {"vcpu_pin_set": (2, 3, 4, 5, 6), "cpu_shared_set": (0, 1)},
        [
            ((), (), ()),
            ((2, 3), (2, 3), ((2, 3),)),
            ((4, 5), (4, 5), ((4, 5),)),
            ((6,), (6,), ((6,),)),
        ],
    ),
    "s84 no option": (
        {},
        [((2 * n, 2 * n + 1), (2 * n, 2 * n + 1), ((2 * n, 2 * n + 1),)) for n in range(4)],
    ),
    "s85 shared 0-6 only": (
        {"cpu_shared_set": tuple(range(7))},
        [((0, 1), (), ((0, 1),)), ((2, 3), (), ((2, 3),)), ((4, 5), (), ((4, 5),)), ((6,), (), ((6,),))],
    ),
}


@pytest.mark.parametrize(("options", "expected"), SETS.values(), ids=SETS.keys())
def test_s82_s83_s84_s85_cpu_options_set_the_cpus_of_a_numa_cell(options, expected):
    """The options cpu_shared_set, cpu_dedicated_set and vcpu_pin_set decide which CPUs of a cell guests may use."""
    assert [(c.cpuset, c.pcpuset, c.siblings) for c in cells(**options)] == expected


def test_s86_a_numa_cell_has_its_physical_networks_and_tunnels():
    """The agent lists the physical networks of each NUMA cell, and whether the cell serves tunneled networks."""
    affinity = NetworkAffinity(physnets=(("foo", (1,)), ("baz", (1, 2, 3))), tunnel=(0, 2))
    found = cells(networks=affinity)
    assert [(c.physnets, c.is_tunneled) for c in found] == [
        ((), True),
        (("baz", "foo"), False),
        (("baz",), True),
        (("baz",), False),
    ]


def test_s87_reserved_huge_pages_leave_the_cell_memory_unchanged():
    """With reserved_huge_pages, a NUMA cell has reserved huge pages, and the cell's memory stays the same."""
    found = cells(
        reserved_huge_pages=(
            ReservedPages(cell=0, size_kib=2048, count=64),
            ReservedPages(cell=1, size_kib=1048576, count=1),
        )
    )
    assert [(p.size_kib, p.total, p.reserved) for p in found[0].pages] == [
        (4, 2048, 0),
        (2048, 256, 64),
        (1048576, 2, 0),
    ]
    assert [(p.size_kib, p.total, p.reserved) for p in found[1].pages] == [
        (4, 2048, 0),
        (2048, 256, 0),
        (1048576, 2, 1),
    ]
    assert {c.memory_mib for c in found} == {1024}


def test_a_numa_cell_on_two_sockets_has_no_socket_number():
    """A NUMA cell with online CPUs on two sockets has no socket number. Offline CPUs do not count."""
    assert [c.socket for c in cells()] == [0, 0, 1, 1]
    torn = dataclasses.replace(
        FOUR_CELLS, cpus=tuple(Cpu(id=n, online=n != 1, socket=None if n == 1 else n) for n in range(8))
    )
    found = numa_cells(torn, settings())
    assert found is not None
    assert [c.socket for c in found] == [0, None, None, None]


@pytest.mark.parametrize(
    ("arch", "driver", "has"),
    [
        ("x86_64", "QEMU", True),
        ("i686", "QEMU", True),
        ("aarch64", "QEMU", True),
        ("ppc64le", "LXC", True),
        ("x86_64", "LXC", False),
        ("s390x", "QEMU", False),
    ],
)
def test_numa_cells_need_a_supported_architecture_and_driver(arch, driver, has):
    """The agent lists NUMA cells for QEMU on x86_64, but not for LXC on x86_64 or for QEMU on s390x."""
    facts = dataclasses.replace(FOUR_CELLS, driver=driver, capabilities=capable(arch))
    assert (numa_cells(facts, settings()) is not None) is has


def test_the_agent_lists_no_numa_cells_if_libvirt_shows_none():
    """If libvirt returns no cells or no capabilities of the host, the agent lists no NUMA cells."""
    assert numa_cells(dataclasses.replace(FOUR_CELLS, cells=()), settings()) is None
    assert numa_cells(dataclasses.replace(FOUR_CELLS, capabilities=None), settings()) is None
