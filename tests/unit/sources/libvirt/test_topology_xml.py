"""NUMA cells and the places of CPUs: what the parser reads on each kind of host, and what it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.facts import Cell, Cpu, PagePool
from agent.sources.libvirt.capabilities_xml import capabilities_document
from agent.sources.libvirt.topology_xml import CpuPlace, HostTopology, cpus_of, topology_of
from tests.rigs.libvirt_documents import document, documents
from tests.rigs.xml_mutation import damaged

CAPABILITIES = """
<capabilities>
  <host>
    <uuid>0d0f6a51-1111-4222-8333-444455556666</uuid>
    <cpu><arch>x86_64</arch><model>Haswell</model></cpu>
    <topology>
      <cells num='2'>
        <cell id='1'>
          <memory unit='KiB'>4194304</memory>
          <pages unit='KiB' size='2048'>512</pages>
          <pages unit='KiB' size='4'>1048576</pages>
          <cpus num='2'>
            <cpu id='2' socket_id='1' die_id='0' core_id='0' siblings='2'/>
            <cpu id='3'/>
          </cpus>
        </cell>
        <cell id='0'>
          <cpus num='2'>
            <cpu id='0' socket_id='0' die_id='0' core_id='4' siblings='0-1'/>
            <cpu id='1' socket_id='0' die_id='0' core_id='4' siblings='0-1'/>
          </cpus>
        </cell>
      </cells>
    </topology>
  </host>
</capabilities>
"""


WHOLE = document("capabilities", "x86_64_two_sockets")


def parse_topology(xml):
    return topology_of(capabilities_document(xml))


def test_numa_cells_and_cpus_are_read_in_order():
    """The agent sorts NUMA cells and CPUs from libvirt's capabilities XML by ID."""
    assert parse_topology(CAPABILITIES) == HostTopology(
        cells=(
            Cell(id=0, memory_mib=0, cpu_ids=(0, 1), siblings=((0, 1),)),
            Cell(
                id=1,
                memory_mib=4096,
                cpu_ids=(2, 3),
                page_pools=(PagePool(size_kib=4, total=1048576), PagePool(size_kib=2048, total=512)),
                siblings=((2,),),
            ),
        ),
        places=(
            CpuPlace(id=0, cell=0, core=4, socket=0),
            CpuPlace(id=1, cell=0, core=4, socket=0),
            CpuPlace(id=2, cell=1, core=0, socket=1),
            CpuPlace(id=3, cell=1, core=None, socket=None),
        ),
    )


def test_each_group_of_sibling_cpus_is_listed_once():
    """Each NUMA cell lists the groups of CPUs that share a core, each group once and without offline CPUs."""
    first, second = parse_topology(WHOLE).cells
    assert first.siblings == ((0, 4), (1, 5))
    # CPU 3 is offline: it has no siblings of its own, and CPU 7 is alone on their core.
    assert second.siblings == ((2, 6), (7,))


def test_page_sizes_are_read_for_each_numa_cell():
    """The agent reads the memory page sizes of each NUMA cell and the number of pages of each size."""
    assert [[(pool.size_kib, pool.total) for pool in cell.page_pools] for cell in parse_topology(WHOLE).cells] == [
        [(4, 8388608), (2048, 16384)],
        [(4, 16777216), (2048, 0)],
    ]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("aarch64", [(0, 16384, 2)]),
        ("ppc64le", [(0, 131072, 4), (252, 0, 0)]),
        ("s390x", [(0, 8192, 3)]),
        ("riscv64", [(0, 4096, 1)]),
        ("xen", [(0, 8192, 2)]),
        ("lxc", [(0, 4096, 1)]),
        ("test_driver", [(0, 2048, 8), (1, 4096, 8)]),
        ("x86_64_qemu_7_2", [(0, 11226, 2)]),
        ("x86_64_two_sockets", [(0, 65536, 4), (1, 65536, 4)]),
    ],
)
def test_numa_cells_are_read_from_recorded_host_xml(name, cells):
    """libvirt's XML of nine hosts is test data.

    The agent reads each NUMA cell with its memory and its number of CPUs.
    """
    found = parse_topology(document("capabilities", name)).cells
    assert [(cell.id, cell.memory_mib, len(cell.cpu_ids)) for cell in found] == cells


def test_the_test_data_contain_nine_capabilities_documents():
    assert len(documents("capabilities")) == 9


def test_an_offline_cpu_keeps_only_its_numa_cell():
    """An offline CPU is read with its NUMA cell and without core and socket."""
    topology = HostTopology(places=tuple(CpuPlace(id=n, cell=1, core=n, socket=0) for n in range(2)))
    assert cpus_of((True, False, True), topology) == (
        Cpu(id=0, online=True, core=0, socket=0, cell=1),
        Cpu(id=1, online=False, cell=1),
        Cpu(id=2, online=True),
    )


def test_a_socket_id_of_minus_one_is_read_as_unknown():
    """On some hosts libvirt reports the CPU socket -1, and the agent reads it as unknown."""
    (place,) = parse_topology(document("capabilities", "riscv64")).places
    assert (place.socket, place.core) == (None, 0)


def test_capabilities_without_numa_cells_are_accepted():
    """The agent reads libvirt capabilities without NUMA cells as an empty topology."""
    assert parse_topology("<capabilities><host/></capabilities>") == HostTopology()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<cell id='1'>", "<cell id='0'>"),
        ("<cpu id='3'/>", "<cpu id='0'/>"),
        ("<cell id='1'>", "<cell>"),
        ("siblings='2'", "siblings='2-'"),
        ("siblings='2'", "siblings=''"),
        ("size='2048'>512", "size='2048'>"),
        ("unit='KiB'>4194304", "unit='parsec'>4194304"),
    ],
)
def test_capabilities_with_a_duplicate_numa_cell_are_rejected(old, new):
    """The agent rejects libvirt capabilities that list the same NUMA cell or the same CPU twice.

    The agent also rejects capabilities with a missing cell ID or an unreadable value.
    """
    assert old in CAPABILITIES
    with pytest.raises(SourceInconsistent, match="capabilities"):
        parse_topology(CAPABILITIES.replace(old, new))


@given(damaged(documents("capabilities").values()))
def test_damaged_capabilities_xml_is_parsed_or_rejected(xml):
    """Capabilities XML with random damage is parsed or raises SourceInconsistent. It raises no other error."""
    try:
        topology = parse_topology(xml)
    except SourceInconsistent:
        return
    ids = [cell.id for cell in topology.cells]
    assert ids == sorted(set(ids))
    for cell in topology.cells:
        assert list(cell.siblings) == sorted(set(cell.siblings))


@given(st.text(st.characters(exclude_categories=())))
def test_text_other_than_xml_is_rejected_as_capabilities(text):
    """Any text that is not XML raises SourceInconsistent if it is parsed as libvirt's capabilities."""
    with pytest.raises(SourceInconsistent):
        parse_topology(text)
