"""NUMA cells and huge pages: what nova refuses on a host, though Placement has room."""

import dataclasses

import pytest

from agent.model.host.resource_view import CellPages, ViewCell
from agent.model.resource_request import RequestGroup, ResourceRequest
from agent.model.usage import CellUsage
from agent.why.host_room import LARGE, cell_rooms, guest_shape, host_notes, host_obstacles, rooms_of, service_notes
from agent.why.model import Constraint
from tests.rigs import facts
from tests.rigs.reports import REPORT


def view_cell(number, cpus=8, memory_mib=16384, pages=((4, 4194304, 0), (2048, 512, 0)), pcpus=None):
    first = number * 8
    cpuset = tuple(range(first, first + cpus))
    return ViewCell(
        id=number,
        socket=number,
        cpuset=cpuset,
        pcpuset=cpuset if pcpus is None else tuple(range(first, first + pcpus)),
        memory_mib=memory_mib,
        siblings=(),
        pages=tuple(CellPages(size_kib=size, total=total, reserved=kept) for size, total, kept in pages),
    )


def usage(number, cpus=0, memory_mib=0, pinned=(), pages=()):
    return CellUsage(id=number, cpus=cpus, memory_mib=memory_mib, pinned=pinned, pages=pages)


def rooms(*pairs, cpu_ratio=4.0, memory_ratio=1.0):
    return cell_rooms([c for c, _ in pairs], [u for _, u in pairs], cpu_ratio, memory_ratio)


def shape(cells=None, page=None, **amounts):
    request = ResourceRequest(groups=(RequestGroup(resources=tuple(sorted(amounts.items()))),))
    return guest_shape(request, cells, page)


TWO = ((view_cell(0), usage(0, cpus=2, memory_mib=8192)), (view_cell(1), usage(1)))


def test_a_numa_cells_free_amounts_exclude_what_is_in_use():
    """The free CPUs, memory and pages of a NUMA cell do not include what guests use or what is reserved."""
    cell = view_cell(0, pages=((4, 4194304, 0), (2048, 512, 100)))
    (room,) = rooms((cell, usage(0, cpus=30, memory_mib=4096, pinned=(0, 1), pages=((2048, 12),))))
    assert (room.cpus, room.cpus_free, room.pinnable, room.memory_mib) == (2, 2, 6, 12288)
    assert room.pages == ((4, 4194304), (2048, 400))


def test_free_huge_pages_are_not_offered_to_small_page_guests():
    """`stocktake why` does not count the memory in free huge pages for a guest that uses pages of 4 KiB."""
    small = 4194304 - 8192 * 256
    (room,) = rooms((view_cell(0, pages=((4, small, 0), (2048, 4096, 0))), usage(0, pages=((4, 256),))))
    assert (room.memory_mib, room.memory_pinned_mib, room.memory_free_mib) == (8192, 8191, 16384)
    (found,) = host_obstacles(shape(1, VCPU=1, MEMORY_MB=8193), (room,))
    assert (found.resource_class, found.wanted, found.available) == ("MEMORY_MB", 8193, 8192)
    assert host_obstacles(shape(1, VCPU=1, MEMORY_MB=8192), (room,)) == ()
    assert host_obstacles(shape(1, PCPU=1, MEMORY_MB=8192), (room,)) != ()


def test_ratios_do_not_raise_the_size_of_a_guest_numa_cell():
    """Allocation ratios above 1 do not let a guest's NUMA cell have more CPUs or memory than the host's NUMA cell."""
    (room,) = rooms((view_cell(0), usage(0)), cpu_ratio=16.0, memory_ratio=2.0)
    assert (room.cpus, room.cpus_free, room.memory_mib) == (8, 128, 16384)


def test_a_guest_without_numa_may_be_larger_than_a_numa_cell():
    """A guest without a NUMA topology may be larger than a NUMA cell of the host."""
    assert host_obstacles(shape(VCPU=64, MEMORY_MB=10**6), rooms(*TWO)) == ()


@pytest.mark.parametrize("count", [1, 2])
def test_a_guest_that_fits_into_the_numa_cells_is_not_refused(count):
    assert host_obstacles(shape(count, VCPU=8, MEMORY_MB=8192), rooms(*TWO)) == ()


def test_a_guest_numa_cell_larger_than_a_host_cell_is_refused():
    """A guest with one NUMA cell of 12 VCPU is refused on a host with NUMA cells of 8 CPUs."""
    (found,) = host_obstacles(shape(1, VCPU=12, MEMORY_MB=1024), rooms(*TWO))
    assert (found.constraint, found.resource_class, found.wanted, found.available) == (
        Constraint.NUMA_CELL, "VCPU", 12, 8
    )  # fmt: skip
    assert "12 CPUs" in found.words
    assert "at most 8" in found.change
    assert host_obstacles(shape(2, VCPU=12, MEMORY_MB=1024), rooms(*TWO)) == ()


def test_numa_reasons_say_1_cpu_and_1_page_in_the_singular():
    """The reasons of `stocktake why` about NUMA cells say "1 CPU" and "1 page", and "64 CPUs" in the plural."""
    last = rooms((view_cell(0), usage(0, cpus=32, pinned=tuple(range(8)), pages=((2048, 512),))))
    (cpu,) = host_obstacles(shape(1, VCPU=1), last)
    assert cpu.words == "the guest's NUMA cell needs 1 CPU, and the host cell with the most room has only 0 left"
    (pinned,) = host_obstacles(shape(1, PCPU=1), last)
    assert pinned.words.startswith(
        "the guest's NUMA cell needs 1 CPU for pinning, and the host cell with the most room"
    )
    (pages,) = host_obstacles(shape(page=2048, MEMORY_MB=2), last)
    assert pages.words.startswith("each guest cell needs 1 free page of 2048 KiB for its 2 MiB, ")
    assert pages.change.startswith("release 1 page of 2048 KiB in one host cell")
    (uneven,) = host_obstacles(shape(page=2048, MEMORY_MB=1), last)
    assert uneven.words == "the 1 MiB of each guest cell cannot be divided into whole pages of 2048 KiB"
    (cells,) = host_obstacles(shape(2, VCPU=128), rooms(*TWO))
    assert cells.words.startswith("each of the guest's 2 NUMA cells needs a separate host cell with 64 CPUs, ")


def test_two_guest_numa_cells_need_two_host_cells():
    """A guest with two NUMA cells is refused if only one NUMA cell of the host has enough memory."""
    (found,) = host_obstacles(shape(2, VCPU=2, MEMORY_MB=24576), rooms(*TWO))
    assert (found.resource_class, found.wanted, found.available) == ("MEMORY_MB", 12288, 8192)
    assert "one of the 2 host cells with the most room" in found.words


def test_the_allocation_ratio_does_not_apply_to_pinned_cpus():
    """Of eight CPUs in a NUMA cell, two are free for pinning.

    A guest with four PCPU is refused, although the ratio is 4.
    """
    pinned = rooms((view_cell(0), usage(0, pinned=tuple(range(6)))))
    (found,) = host_obstacles(shape(1, PCPU=4), pinned)
    assert (found.resource_class, found.wanted, found.available) == ("PCPU", 4, 2)
    assert host_obstacles(shape(1, PCPU=2), pinned) == ()


def test_a_pinned_guest_needs_no_free_shared_cpus():
    """A guest with only pinned CPUs fits in a NUMA cell that has no free shared CPUs."""
    (room,) = overdrawn = rooms((view_cell(0), usage(0, cpus=40)))
    assert room.cpus == -8
    assert host_obstacles(shape(1, PCPU=4), overdrawn) == ()
    assert host_obstacles(shape(1, VCPU=1), overdrawn) != ()


def test_a_guest_with_more_numa_cells_than_the_host_is_refused():
    (found, *_) = host_obstacles(shape(3, VCPU=3, MEMORY_MB=3), rooms(*TWO))
    assert "this host has fewer" in found.words


def test_vcpus_must_divide_equally_into_numa_cells():
    """A guest with 3 VCPU and two NUMA cells is refused, because 3 VCPU cannot be divided into two equal parts."""
    (found,) = host_obstacles(shape(2, VCPU=3, MEMORY_MB=1024), rooms(*TWO))
    assert "3 VCPU cannot be cut into 2 equal" in found.words


def test_a_host_without_numa_refuses_a_guest_with_numa_cells():
    """`stocktake why` refuses a guest with a NUMA cell on a host that reports no NUMA topology."""
    (found,) = host_obstacles(shape(1, VCPU=1), ())
    assert "no NUMA topology" in found.words


@pytest.mark.parametrize(("page", "asked"), [(3000, "pages of 3000 KiB"), (LARGE, "huge pages")])
def test_a_page_size_is_refused_on_a_host_without_numa(page, asked):
    """On a host without NUMA topology, `stocktake why` refuses hw:mem_page_size and advises to drop it."""
    (found,) = host_obstacles(shape(page=page, MEMORY_MB=1024), ())
    assert found.words == f"the request needs {asked}, and this host reports no NUMA topology"
    assert (found.constraint, found.change) == (Constraint.HUGE_PAGES, "ask for no page size (hw:mem_page_size)")


def test_cpus_and_memory_must_be_free_in_the_same_numa_cell():
    """A guest with one NUMA cell is refused if one host cell has only free CPUs, and another only free memory."""
    split = rooms((view_cell(0), usage(0, memory_mib=16384)), (view_cell(1), usage(1, cpus=32)))
    (found,) = host_obstacles(shape(1, VCPU=4, MEMORY_MB=1024), split)
    assert "both enough CPUs and enough memory" in found.words


def test_a_numa_cell_needs_enough_free_huge_pages():
    """A guest that needs 1024 huge pages is refused if each NUMA cell of the host has only 512 free ones."""
    (found,) = host_obstacles(shape(page=2048, VCPU=1, MEMORY_MB=2048), rooms(*TWO))
    assert (found.constraint, found.wanted, found.available) == (Constraint.HUGE_PAGES, 1024, 512)
    assert "release 512 pages" in found.change
    assert host_obstacles(shape(page=2048, VCPU=1, MEMORY_MB=1024), rooms(*TWO)) == ()


def test_page_size_large_never_means_the_smallest_page_size():
    """A guest with `hw:mem_page_size=large` is refused on a host that has only pages of 4 KiB."""
    assert host_obstacles(shape(page=LARGE, VCPU=1, MEMORY_MB=1024), rooms(*TWO)) == ()
    small = rooms((view_cell(0, pages=((4, 10**6, 0),)), usage(0)))
    (found,) = host_obstacles(shape(page=LARGE, VCPU=1, MEMORY_MB=1024), small)
    assert "pages of 4 KiB" in found.words


def test_a_guest_is_refused_if_the_host_lacks_its_page_size():
    """A guest that needs pages of 1 GiB is refused on a host with pages of 4 KiB and 2 MiB."""
    (found,) = host_obstacles(shape(page=1048576, VCPU=1, MEMORY_MB=1024), rooms(*TWO))
    assert (found.constraint, "pages of 1048576 KiB" in found.words) == (Constraint.HUGE_PAGES, True)


def test_memory_must_be_divisible_by_the_page_size():
    """A guest with 1025 MiB of memory is refused if it needs pages of 2 MiB, because the pages would not be full."""
    (found,) = host_obstacles(shape(page=2048, VCPU=1, MEMORY_MB=1025), rooms(*TWO))
    assert "cannot be divided into whole pages" in found.words


def test_a_note_shows_the_numa_cell_with_the_most_room():
    """A note of `stocktake why` shows the NUMA cell with the most room and says whether the guest would fit in it."""
    (head, *cells) = host_notes(shape(VCPU=12, MEMORY_MB=1024), rooms(*TWO))
    assert head == (
        "NUMA cell 1 has the most room, 8 CPUs and 16384 MiB; with hw:numa_nodes=1, the requested CPUs and "
        "memory would not fit"
    )
    assert len(cells) == 2
    assert "512 x 2048 KiB" in cells[0]
    assert host_notes(shape(VCPU=8, MEMORY_MB=1024), rooms(*TWO))[0].endswith("would fit")


def test_a_request_for_disk_alone_has_no_note_about_numa_cells():
    """`stocktake why` prints no note about NUMA cells if the request is only about disk or the host has no cells."""
    assert host_notes(shape(DISK_GB=10), rooms(*TWO)) == ()
    assert host_notes(shape(VCPU=1), ()) == ()


def audited(cells, usages, unknown=()):
    view = dataclasses.replace(REPORT.resource_view, cells=cells, unknown=unknown)
    return dataclasses.replace(REPORT, resource_view=view, cell_usages=usages)


ROOT = facts.root(facts.inventory("VCPU", 8, allocation_ratio=2.0), facts.inventory("MEMORY_MB", 16384))


def test_free_cpus_of_a_numa_cell_depend_on_the_ratio():
    """A NUMA cell of 8 CPUs, with 2 in use and an allocation ratio of 2.0 in Placement, has 14 free CPUs."""
    (room,) = rooms_of(audited((view_cell(0),), (usage(0, cpus=2),)), ROOT)
    assert (room.cpus_free, room.memory_mib) == (14, 16384)


@pytest.mark.parametrize(
    ("report", "root"),
    [
        (dataclasses.replace(REPORT, resource_view=None), ROOT),
        (audited(None, None, unknown=("cpu_info, numa_topology: libvirt has not told",)), ROOT),
        (audited((view_cell(0),), None), ROOT),
        (audited((view_cell(0),), (usage(0),)), None),
    ],
    ids=["no libvirt", "no capabilities", "no state", "no root"],
)
def test_numa_cell_room_is_unknown_if_a_source_is_missing(report, root):
    """The free amounts of NUMA cells are unknown if libvirt, nova's database or the root provider was not read."""
    assert rooms_of(report, root) is None


def test_a_host_without_numa_topology_has_no_numa_cells():
    """The list of NUMA cells is empty, not unknown, if libvirt shows that the host has no NUMA topology."""
    assert rooms_of(audited(None, None), ROOT) == ()


def test_the_why_command_shows_how_to_enable_a_service():
    """On a host with a disabled compute service, `stocktake why` prints the command that enables the service."""
    trait = "COMPUTE_STATUS_DISABLED"
    request = ResourceRequest(groups=(RequestGroup(resources=(("VCPU", 1),)),))
    (note,) = service_notes(frozenset({trait}), request)
    assert "openstack compute service set --enable" in note
    assert service_notes(frozenset(), request) == ()
    as_nova_asks = dataclasses.replace(request, root_forbidden=frozenset({trait}))
    assert service_notes(frozenset({trait}), as_nova_asks) == ()
