"""The pictures of a host's page: their marks stay inside, their tables have their numbers, nothing unread is a zero."""

import dataclasses
import datetime
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.report import ProviderPlace, Verdict
from agent.pages.blocks import Meaning
from agent.pages.host.books import class_books
from agent.pages.host.cells import cells_of, pools_of
from agent.pages.host.pictures.capacity import capacity_picture, conclusion, scale_end
from agent.pages.host.pictures.numa import MOST_CELLS, numa_picture
from agent.pages.host.pictures.sources import sources_picture
from agent.pages.host.pictures.storage import storage_picture
from agent.pages.host.pictures.timeline import MOST_ROWS, scale_of, timeline_picture
from agent.pages.host.pictures.tree import MOST_BOXES, tree_picture
from agent.pages.host.stores import KINDS, stores_of
from agent.pages.host.tree import nodes_of
from agent.pages.shapes import WIDTH
from tests.rigs.pages import CHANGES, HOSTILE_NAMES, NOW, VIEW, assert_inside, dead, facts, large, numa_cell
from tests.rigs.screens import HOST, SCREEN, UNREAD


def looks(picture):
    return [dict(shape.attributes).get("class", "") for shape in picture.shapes]


def texts(picture):
    return [shape.text for shape in picture.shapes if shape.tag == "text"]


def cells(table):
    return [[cell.text for cell in row] for row in table.rows]


# Capacity


def test_the_capacity_picture_shows_cpu_and_disk_first():
    """In the capacity picture of a host, VCPU, PCPU and DISK_GB come before other resource classes."""
    rows = [dataclasses.replace(SCREEN.ledger[0], resource_class=name) for name in ("A", "DISK_GB", "PCPU", "VCPU")]
    found = class_books(facts(dataclasses.replace(SCREEN, ledger=tuple(rows), inventory=())))
    assert [each.resource_class for each in found] == ["VCPU", "PCPU", "DISK_GB", "A"]


def test_a_capacity_bar_shows_wrong_allocations_separately():
    """Of 28 VCPU in Placement, a capacity bar shows 16 of instances and 12 of wrong allocations separately."""
    vcpu = class_books(facts())[0]
    parts = {book.name: {part.name: part.amount for part in book.parts if part.amount} for book in vcpu.books}
    assert parts == {
        "promised": {"instances": 18},
        "held": {"instances": 18},
        "recorded": {"instances": 16, "wrong": 12},
    }
    assert (vcpu.capacity, vcpu.books[2].lacking) == (192, 2)
    assert conclusion(vcpu) == (
        "VCPU: 192 = total 48 x ratio 4; promised 18, held 18, recorded 28; "
        "free 164 = 192 (total x ratio) - 28 (recorded); 12 wrong; "
        "2 in nova's database, but not recorded in Placement."
    )


def test_a_capacity_bar_shows_a_too_large_allocation_as_wrong():
    """If an allocation has 6 VCPU and the flavor only 4, the capacity bar shows 2 VCPU as wrong."""
    row = dataclasses.replace(SCREEN.ledger[0], promised=4, recorded=6, verdict=Verdict.ALLOCATION_DIFFERS)
    recorded = class_books(facts(dataclasses.replace(SCREEN, ledger=(row,))))[0].books[2]
    assert {part.name: part.amount for part in recorded.parts if part.amount} == {"instances": 4, "wrong": 2}


def test_capacity_bars_of_placement_are_hatched_if_unread():
    """If Placement was not read, Placement's bars on the host page are hatched and have a question mark."""
    picture = capacity_picture(class_books(facts(UNREAD)))
    assert looks(picture).count("unread") == 4
    assert texts(picture).count("?") == 4
    recorded = [row for row in cells(picture.table) if row[1] == "recorded"]
    assert all(row[2:-4] == ["?"] * (len(row) - 6) and row[-1] == "" for row in recorded)


def test_vgpus_of_nova_and_the_host_are_not_counted():
    """The agent counts VGPUs only in Placement. The bars of nova and of the host say "not counted"."""
    vgpu = class_books(facts())[-1]
    assert [book.not_counted for book in vgpu.books] == [True, True, False]
    assert texts(capacity_picture([vgpu])).count("not counted") == 2


def test_the_capacity_scale_ends_5_percent_above_the_maximum():
    """The scale of a capacity bar ends 5 percent above the largest amount in the bar."""
    vcpu = class_books(facts())[0]
    assert scale_end(vcpu) == 1.05 * 192
    assert scale_end(dataclasses.replace(vcpu, whole=None)) == 1.05 * 30


@given(
    st.lists(st.tuples(*(st.one_of(st.none(), st.integers(0, 2**53)),) * 3, st.sampled_from(Verdict)), max_size=12),
    st.sampled_from(["VCPU", "MEMORY_MB", "CUSTOM_X"]),
)
def test_every_capacity_bar_stays_inside_the_picture(rows, name):
    """For any amounts, even huge ones, the bars stay inside the capacity picture of the host."""
    ledger = tuple(
        dataclasses.replace(
            SCREEN.ledger[0], resource_class=name, promised=one, held=two, recorded=three, verdict=verdict
        )
        for one, two, three, verdict in rows
    )
    found = class_books(facts(dataclasses.replace(SCREEN, ledger=ledger)))
    assert_inside(capacity_picture(found))
    for each in found:
        for book in each.books:
            if book.is_known:
                rows = (row for row in ledger if row.resource_class == each.resource_class)
                counted = (row for row in rows if row.verdict is not Verdict.RESERVED)
                # The screen's host keeps 512 MiB for itself, which Placement does not have.
                own = 512 if each.resource_class == "MEMORY_MB" and book.name != "recorded" else 0
                expected = sum(getattr(row, book.name) or 0 for row in counted) + own
                assert book.total == pytest.approx(expected)


# Storage


def test_the_storage_parts_add_up_to_the_volume_group():
    """In the storage picture, the space of instances, other volumes and free space add up to the volume group."""
    (store,) = stores_of(SCREEN.storage)
    assert [part.name for part in store.parts] == ["instance", "foreign", "free"]
    assert sum(part.amount for part in store.parts) == store.size_bytes
    picture = storage_picture([store], ())
    assert texts(picture) == ["vg guests", "instance", "foreign", "free", "0 GiB", "400.1 GiB"]


def test_20000_volumes_are_drawn_with_fewer_than_20_shapes():
    """The host page's storage picture merges 20000 volumes, so it has fewer than 20 shapes."""
    picture = storage_picture(stores_of(large(0, 20_000).storage), ())
    assert len(picture.shapes) < 20
    assert_inside(picture)


def test_storage_outside_of_any_volume_is_shown_as_unaccounted():
    """Bytes of a volume group that are neither free nor in a volume appear in the storage picture as "unaccounted"."""
    rows = tuple(dataclasses.replace(row, store_bytes=row.store_bytes + 1000) for row in SCREEN.storage)
    (store,) = stores_of(rows)
    assert (store.parts[-1].name, store.parts[-1].amount) == ("unaccounted", 1000)


def test_unread_storage_is_drawn_hatched():
    """If LVM was not read, the storage picture shows a hatched bar and a question mark."""
    picture = storage_picture((), ("lvm",))
    assert "unread" in looks(picture)
    assert picture.conclusion == "lvm: ?, not read."
    assert cells(picture.table) == [["lvm", "not read", "?", "?", "?"]]


def test_a_volume_of_an_unknown_owner_kind_is_drawn_as_wrong():
    """If a report contains an unknown owner_kind of a volume, the storage picture marks the volume as wrong."""
    rows = (dataclasses.replace(SCREEN.storage[0], owner_kind="invented"),)
    assert stores_of(rows)[0].parts[0].meaning is Meaning.WRONG


@given(
    st.lists(st.tuples(st.sampled_from([kind for kind, _ in KINDS]), st.integers(0, 2**50)), min_size=1, max_size=40)
)
def test_the_storage_parts_add_up_for_any_volumes(parts):
    """For any volumes that together fill a store, the parts of the storage picture add up to the store's size."""
    size = sum(amount for _, amount in parts)
    row = SCREEN.storage[0]
    rows = tuple(dataclasses.replace(row, owner_kind=kind, size_bytes=n, store_bytes=size) for kind, n in parts)
    (store,) = stores_of(rows)
    assert sum(part.amount for part in store.parts) == size
    assert_inside(storage_picture([store], ()))


# Provider tree


def test_a_provider_that_needs_changes_has_a_thick_outline():
    """In the picture of the provider tree, a provider that the agent wants to change has a thick outline."""
    nodes = nodes_of(SCREEN)
    assert [node.name for node in nodes] == ["compute-1", "compute-1_pci_0000_81_00_0"]
    assert nodes[0].differs == "2 classes, 2 traits"
    picture = tree_picture(nodes)
    assert [look for look in looks(picture) if "outline" in look] == ["outline thick", "outline thin"]
    assert "VCPU 28/48 x4" in texts(picture)
    assert_inside(picture)


def test_the_tree_picture_marks_nothing_without_placement():
    """If Placement was not read, the picture of the provider tree says so and marks no provider as different."""
    nodes = nodes_of(UNREAD)
    assert not any(node.differs for node in nodes)
    assert "Placement was not read" in tree_picture(nodes).conclusion
    assert "VCPU ?/48 x4" in texts(tree_picture(nodes))


def test_the_tree_picture_shows_at_most_60_providers():
    """The picture of the provider tree shows 60 of 101 providers and says that there are 41 more."""
    child = SCREEN.inventory[-1]
    rows = [dataclasses.replace(child, provider=f"child-{n:03}", provider_uuid=f"c{n}") for n in range(100)]
    picture = tree_picture(nodes_of(dataclasses.replace(SCREEN, inventory=(*SCREEN.inventory[:-1], *rows))))
    assert sum("outline" in look for look in looks(picture)) == MOST_BOXES
    assert "and 41 more children: run stocktake inventory" in texts(picture)
    assert_inside(picture)


def test_the_tree_picture_draws_providers_without_overlap():
    """In the picture of a provider tree of five levels, no box of a provider covers another box."""
    child = SCREEN.inventory[-1]
    parents = {"a": HOST, "a1": "a", "a2": "a", "b": HOST, "deep": "a2", "deeper": "deep"}
    rows = [dataclasses.replace(child, provider=name, provider_uuid=name) for name in parents]
    places = tuple(ProviderPlace(name, name, parent) for name, parent in parents.items())
    report = dataclasses.replace(SCREEN, inventory=(SCREEN.inventory[0], *rows), providers=places)
    nodes = nodes_of(report)
    assert [(node.name, node.depth) for node in nodes] == [
        *(("compute-1", 0), ("a", 1), ("a1", 2), ("a2", 2), ("deep", 3), ("deeper", 4), ("b", 1)),
    ]
    picture = tree_picture(nodes)
    assert_inside(picture)
    boxes = [dict(shape.attributes) for shape in picture.shapes if shape.tag == "rect"]
    sides = [tuple(float(box[name]) for name in ("x", "y", "width", "height")) for box in boxes]
    for one, other in itertools.combinations(sides, 2):
        is_beside = one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        assert is_beside or one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1]


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdefghx"), max_size=8))
def test_the_tree_picture_shows_providers_with_wrong_parents(parents):
    """The picture of the provider tree contains every provider, even if parent UUIDs are missing or form a loop."""
    child = SCREEN.inventory[-1]
    rows = [dataclasses.replace(child, provider=name, provider_uuid=name) for name in parents]
    places = tuple(ProviderPlace(name, name, parent) for name, parent in parents.items())
    report = dataclasses.replace(SCREEN, traits=(), inventory=(SCREEN.inventory[0], *rows), providers=places)
    nodes = nodes_of(report)
    assert sorted(node.uuid for node in nodes) == sorted([HOST, *parents])
    assert_inside(tree_picture(nodes))


# Time line


def test_the_timeline_bar_of_an_unchecked_finding_ends_dashed():
    """In the host page's timeline, the bar of a finding that was not checked ends with a dashed part."""
    unknown = timeline_picture(UNREAD.findings[:1], (), {}, NOW)
    assert looks(unknown)[1:3] == ["wrong", "dashed"]
    known = timeline_picture(SCREEN.findings[:1], (), {}, NOW)
    assert "dashed" not in looks(known)


def test_the_timeline_shows_changes_by_their_journal_id():
    """In the host page's timeline, a change has a mark with the first four digits of its id in the journal."""
    picture = timeline_picture(SCREEN.findings, CHANGES, {}, NOW)
    assert texts(picture)[:3] == ["▲ 9a11", "▼ 9b22", "◆ 77aa"]
    assert_inside(picture)


def test_the_timeline_covers_30_days():
    """The host page's timeline covers the last 30 days. A finding that was first seen earlier gets an arrow."""
    old = dataclasses.replace(SCREEN.findings[0], first_seen_at="2026-01-01T00:00:00Z")
    picture = timeline_picture([old], (), {}, NOW)
    assert scale_of([old.first_seen_at], NOW).end - scale_of([old.first_seen_at], NOW).start == datetime.timedelta(30)
    assert "◀" in texts(picture)
    assert_inside(picture)


def test_the_timeline_shows_at_most_40_findings():
    """Of 50 findings, the host page's timeline shows 40 and says that these are the most urgent."""
    picture = timeline_picture([SCREEN.findings[0]] * 50, (), {}, NOW)
    assert looks(picture).count("wrong") == MOST_ROWS
    assert picture.conclusion.endswith("The picture shows the 40 most urgent findings.")


@pytest.mark.parametrize("text", ["", "not a time", "2999-01-01T00:00:00Z"])
def test_the_timeline_survives_invalid_or_future_times(text: str):
    """The host page's timeline is drawn even if a finding has no valid time or a time in the future."""
    odd = dataclasses.replace(SCREEN.findings[0], first_seen_at=text, last_seen_at=text)
    assert_inside(timeline_picture([odd], (dataclasses.replace(CHANGES[0], at=text),), {}, NOW))


# NUMA cells and PCI


def test_the_numa_picture_shows_the_use_of_each_cell():
    """The NUMA picture shows how much is used of a cell's dedicated CPUs, memory and huge pages."""
    found = cells_of(facts())
    shares = [(share.what, share.used, share.total) for share in found[0].shares]
    assert shares == [
        ("dedicated CPUs", 3, 8),
        ("memory", 32768, 65536),
        ("2 MiB pages", 512, 1024),
        ("1 GiB pages", 0, 16),
    ]
    picture = numa_picture(found)
    assert {"38 %", "50 %", "0 %", "?"} <= set(texts(picture))
    assert_inside(picture)


def test_numa_cells_with_unknown_usage_are_drawn_hatched():
    """If the usage of a NUMA cell is unknown, the host page draws a hatched bar, and not 0 %."""
    picture = numa_picture(cells_of(facts(cell_usages=None)))
    assert looks(picture).count("unread") == 8
    assert not {"0 %"} & set(texts(picture))


def test_the_numa_picture_shows_at_most_16_numa_cells():
    """Of 20 NUMA cells, the host page shows 16 and says that there are 4 more."""
    view = {"numa_topology": {"nova_object.data": {"cells": [numa_cell(n) for n in range(20)]}}}
    picture = numa_picture(cells_of(facts(view=view)))
    assert sum(text.startswith("cell ") for text in texts(picture)) == MOST_CELLS
    assert picture.conclusion.endswith("And 4 more cells.")
    assert_inside(picture)


@pytest.mark.parametrize(
    "topology", [[], "x", {"nova_object.data": []}, {"nova_object.data": {"cells": [None, 7, {}]}}]
)
def test_the_numa_picture_is_empty_if_the_topology_is_malformed(topology: object):
    """If the NUMA topology of the host is not in nova's format, the host page shows no NUMA cells."""
    assert cells_of(facts(view={**VIEW, "numa_topology": topology})) == ()


def test_free_pci_devices_are_unknown_without_pci_stats():
    """If nova's compute node record has no pci_stats, the host page shows the free PCI devices as unknown."""
    (pool,) = pools_of(facts())
    assert (pool.address, pool.ids, pool.kind, pool.cell, pool.count) == (
        "0000:81:00.0",
        "8086:1515",
        "type-VF",
        "0",
        7,
    )
    assert pools_of(facts(view=None)) is None
    assert pools_of(facts(view={**VIEW, "pci_stats": None})) is None


# Sources


def test_an_unread_source_is_drawn_hatched_with_its_error():
    """If Placement did not answer, the host page draws a hatched bar for this source and shows the error."""
    picture = sources_picture(UNREAD.sources)
    assert looks(picture)[1] == "unread"
    assert "? http://placement.example.org: no answer within 30 s" in texts(picture)
    assert picture.conclusion == (
        "3 of 4 sources were read; of these, lvm took longest, 210 ms; not read: placement (given up after 30000 ms)."
    )
    assert_inside(picture)


def test_unread_sources_have_no_time_bar():
    """In the host page's picture of the sources, only a source that was read has a bar with the time that it took."""
    picture = sources_picture(dead().sources)
    assert looks(picture).count("unread") == 4
    assert "counted" not in looks(picture)


def test_the_source_picture_shortens_a_long_error():
    """If the error of a source has 5000 characters, the host page's picture shows at most 80 of them."""
    long = dataclasses.replace(UNREAD.sources[0], error="e" * 5000)
    picture = sources_picture([long])
    assert max(map(len, texts(picture))) <= 82
    assert_inside(picture)


# Names


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_a_long_or_malicious_name_stays_inside_the_pictures(name: str):
    """The pictures of the host page contain no text beyond their edges, even if a name has 4096 characters."""
    rows = tuple(dataclasses.replace(row, provider=name) for row in SCREEN.inventory)
    assert_inside(tree_picture(nodes_of(dataclasses.replace(SCREEN, inventory=rows))))
    stores = stores_of(tuple(dataclasses.replace(row, store=name) for row in SCREEN.storage))
    assert_inside(storage_picture(stores, (name[:10],)))
    uuid = SCREEN.findings[0].finding.consumer_uuid
    assert_inside(timeline_picture(SCREEN.findings, (), {uuid: name}, NOW))
    assert WIDTH == 960


def test_a_class_without_inventory_has_no_free_amount():
    """If Placement has no inventory of DISK_GB on the host, the host page shows no free amount of disk."""
    disk = next(each for each in class_books(facts()) if each.resource_class == "DISK_GB")
    assert (disk.capacity, disk.free, disk.is_offered) == (280, None, False)
    assert "free" not in conclusion(disk)


def test_allocations_outside_of_the_tree_are_in_no_capacity_bar():
    """The host page's capacity bars leave out allocations on providers outside of this host's provider tree."""
    shared = dataclasses.replace(SCREEN.ledger[0], outside_tree=True, recorded=1000)
    vcpu = class_books(facts(dataclasses.replace(SCREEN, ledger=(*SCREEN.ledger, shared))))[0]
    assert vcpu.books[2].total == 28
