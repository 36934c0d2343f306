"""The parser on what lvm2 2.03.16 printed (tests/rigs/lvm_recorded), and on any other text."""

import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.storage import ThinPool, Volume, VolumeGroup
from agent.sources.storage.lvm_json import (
    GROUP_COLUMNS,
    VOLUME_COLUMNS,
    ReportsDiffer,
    parse_groups,
    parse_storage,
    select,
)

RECORDED = pathlib.Path(__file__).parents[3] / "rigs" / "lvm_recorded"
EXTENT = 4 * 1024 * 1024
GROUP = VolumeGroup(name="vg0", uuid="u", size_bytes=10 * EXTENT, free_bytes=7 * EXTENT, extent_bytes=EXTENT)


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def report(kind: str, *rows: dict[str, object]) -> str:
    return json.dumps({"report": [{kind: list(rows)}]})


def volume_row(**changes: object) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(VOLUME_COLUMNS.split(","), "")
    row |= {"vg_name": "vg0", "lv_name": "lv", "lv_uuid": "x", "lv_size": str(3 * EXTENT), "segtype": "linear"}
    return row | {"seg_le_ranges": "/dev/sda:0-2"} | changes


def group_row(**changes: object) -> dict[str, object]:
    values = ("vg0", "u", str(10 * EXTENT), str(7 * EXTENT), str(EXTENT), "0")
    return dict(zip(GROUP_COLUMNS.split(","), values, strict=True)) | changes


def volumes_of(name: str) -> dict[str, Volume]:
    groups = parse_groups(recorded(f"{name}.vgs.json"))
    return {volume.path: volume for volume in parse_storage(recorded(f"{name}.lvs.json"), groups).volumes}


def test_volume_groups_in_lvm_output_are_parsed() -> None:
    """The agent reads names, sizes, free bytes and extent sizes of two volume groups from recorded output of LVM."""
    groups = parse_groups(recorded("two_groups.vgs.json"))
    assert [(g.name, g.size_bytes, g.free_bytes, g.extent_bytes, g.missing_pvs) for g in groups] == [
        ("vg0", 63 * EXTENT, 59 * EXTENT, EXTENT, 0),
        ("vg1", 31 * EXTENT, 29 * EXTENT, EXTENT, 0),
    ]
    assert all(len(group.uuid) == 38 for group in groups)


def test_logical_volumes_in_lvm_output_are_parsed() -> None:
    """The agent reads paths, sizes and tags of logical volumes from recorded output of LVM."""
    volumes = volumes_of("two_groups")
    assert list(volumes) == ["vg0/here", "vg1/lost"]
    lost = volumes["vg1/lost"]
    assert (lost.size_bytes, lost.extent_bytes, lost.tags, lost.hidden) == (
        2 * EXTENT, 2 * EXTENT, ("a=b/c", "cloud"), False,
    )  # fmt: skip


# The extents are those that tests/rigs/lvm_layouts.py assigned.
KINDS = {
    "lin": (8, None, None, None),
    "strp": (6, None, None, None),
    "tpool": (0, None, None, None),
    "tpool_tdata": (50, None, None, "tpool"),
    "tpool_tmeta": (1, None, None, "tpool"),
    "lvol0_pmspare": (1, None, None, "cp_cpool"),
    "thin": (0, "tpool", None, None),
    "thinsnap": (0, "tpool", "thin", None),
    "snap": (2, None, "lin", None),
    "r1": (0, None, None, None),
    "r1_rmeta_0": (1, None, None, "r1"),
    "r1_rimage_0": (4, None, None, "r1"),
    "r1_rmeta_1": (1, None, None, "r1"),
    "r1_rimage_1": (4, None, None, "r1"),
    "m": (0, None, None, None),
    "m_mlog": (1, None, None, "m"),
    "m_mimage_0": (4, None, None, "m"),
    "m_mimage_1": (4, None, None, "m"),
    "c": (0, None, None, None),
    "c_corig": (4, None, None, "c"),
    "cp_cpool": (0, None, None, "c"),
    "cp_cpool_cdata": (4, None, None, "cp_cpool"),
    "cp_cpool_cmeta": (1, None, None, "cp_cpool"),
    "sparse": (2, None, None, None),
    "sparse_vorigin": (0, None, None, "sparse"),
    "moved": (0, None, None, None),
    "pvmove0": (6, None, None, "moved"),
}


def test_each_lvm_extent_is_counted_only_once() -> None:
    """The agent counts each LVM extent for one volume only, also with RAID, caches, snapshots and thin pools."""
    volumes = volumes_of("every_kind").values()
    assert {v.name: (v.extent_bytes // EXTENT, v.pool, v.origin, v.parent) for v in volumes} == KINDS
    types = {v.name: v.segment_type for v in volumes}
    assert (types["lin"], types["tpool"], types["thinsnap"], types["r1"]) == ("linear", "thin-pool", "thin", "raid1")
    assert {v.name for v in volumes if v.hidden} == {name for name, (_, _, _, parent) in KINDS.items() if parent}


def test_integrity_metadata_belongs_to_the_raid_image() -> None:
    """LVM stores integrity metadata in hidden volumes.

    The agent reads the RAID image as the parent of these volumes.
    """
    image = {"lv_role": "private,raid,image", "lv_parent": "lv", "segtype": "integrity"}
    rows = (
        volume_row(segtype="raid1", seg_le_ranges="[lv_rimage_0]:0-0"),
        volume_row(
            lv_name="[lv_rimage_0]", seg_le_ranges="[lv_rimage_0_iorig]:0-0", origin="[lv_rimage_0_iorig]", **image
        ),
        volume_row(lv_name="[lv_rimage_0_iorig]", seg_le_ranges="/dev/sda:0-1"),
        volume_row(lv_name="[lv_rimage_0_imeta]", seg_le_ranges="/dev/sda:2-2", lv_role="private,integrity,metadata"),
    )
    volumes = {v.name: (v.parent, v.origin) for v in parse_storage(report("lv", *rows), (GROUP,)).volumes}
    assert volumes == {
        "lv": (None, None),
        "lv_rimage_0": ("lv", None),
        "lv_rimage_0_iorig": ("lv_rimage_0", None),
        "lv_rimage_0_imeta": ("lv_rimage_0", None),
    }


def test_a_snapshot_is_not_a_part_of_the_cached_volume() -> None:
    """A thin snapshot of a cached LVM volume is a separate volume, and not a part of the cached volume."""
    rows = (
        volume_row(lv_name="z", segtype="cache", seg_le_ranges="[z_corig]:0-2", origin="[z_corig]", pool_lv="[fast]"),
        volume_row(lv_name="[z_corig]", segtype="thin", seg_le_ranges="", pool_lv="tpool"),
        volume_row(lv_name="a", segtype="thin", seg_le_ranges="", pool_lv="tpool", origin="[z_corig]"),
        volume_row(lv_name="[fast]"),
        volume_row(lv_name="tpool", seg_le_ranges=""),
    )
    volumes = {v.name: (v.parent, v.origin) for v in parse_storage(report("lv", *rows), (GROUP,)).volumes}
    assert volumes["z_corig"] == ("z", None)
    assert volumes["a"] == (None, "z_corig")
    assert volumes["z"] == (None, None)


def thin_report(pool: dict[str, object], *thin: dict[str, object]) -> str:
    """Return the report of a pool of 3 extents, all on one disk, with thin volumes of 5 extents in it."""
    known = {"lv_name": "tpool", "segtype": "thin-pool", "lv_metadata_size": str(EXTENT), **pool}
    inside = {"segtype": "thin", "pool_lv": "tpool", "lv_size": str(5 * EXTENT), "seg_le_ranges": ""}
    return report("lv", *(volume_row(**inside, **row) for row in thin), volume_row(**known))


def test_a_thin_pool_is_read_with_its_fill_percentages() -> None:
    """The agent reads an LVM thin pool with the fill percentages of the pool's data and metadata."""
    text = thin_report(
        {"data_percent": "95.31", "metadata_percent": "11.23"},
        {"lv_name": "b", "data_percent": "50.00"},
        {"lv_name": "a", "data_percent": "0.00"},
        {"lv_name": "not-active", "data_percent": ""},
    )
    assert parse_storage(text, (GROUP,)).thin_pools == (
        ThinPool(
            group="vg0",
            name="tpool",
            size_bytes=3 * EXTENT,
            metadata_bytes=EXTENT,
            data_percent=95.31,
            metadata_percent=11.23,
            mapped=(("a", 0), ("b", 5 * EXTENT // 2)),
        ),
    )


def test_missing_fill_percentages_of_a_thin_pool_are_none() -> None:
    """If LVM reports no fill percentages for a thin pool, the percentages are None."""
    pools = parse_storage(recorded("every_kind.lvs.json"), parse_groups(recorded("every_kind.vgs.json"))).thin_pools
    (pool,) = pools
    assert (pool.path, pool.size_bytes, pool.metadata_bytes) == ("vg0/tpool", 50 * EXTENT, EXTENT)
    assert (pool.data_percent, pool.metadata_percent, pool.mapped) == (None, None, ())


def test_an_unchanged_lvm_report_is_not_parsed_again() -> None:
    """The agent returns its cached result if LVM prints exactly the same report again."""
    groups = parse_groups(recorded("every_kind.vgs.json"))
    text = recorded("every_kind.lvs.json")
    assert parse_storage(text, groups) is parse_storage(
        text.encode().decode(), parse_groups(recorded("every_kind.vgs.json"))
    )
    assert parse_storage(text + "\n", groups) is not parse_storage(text, groups)


def test_extents_on_a_missing_physical_volume_are_counted() -> None:
    """The agent counts the extents of an LVM volume even if the physical volume under it is missing."""
    (group,) = parse_groups(recorded("missing_disk.vgs.json"))
    assert group.missing_pvs == 1
    assert {v.path: v.extent_bytes // EXTENT for v in volumes_of("missing_disk").values()} == {
        "vg0/here": 4,
        "vg0/lost": 2,
    }


def test_an_lvm_report_without_volume_groups_is_accepted() -> None:
    assert parse_groups(recorded("no_devices.vgs.json")) == ()


def test_volumes_of_unselected_groups_are_ignored() -> None:
    """The agent ignores logical volumes of volume groups that are not selected, even if their values are invalid."""
    text = report("lv", volume_row(), volume_row(vg_name="other", lv_size="none of our business"))
    assert [volume.path for volume in parse_storage(text, (GROUP,)).volumes] == ["vg0/lv"]


def test_a_reversed_lvm_report_gives_the_same_volumes() -> None:
    """The agent reads the same logical volumes if LVM prints its rows in reverse order."""
    document = json.loads(recorded("every_kind.lvs.json"))
    document["report"][0]["lv"].reverse()
    groups = parse_groups(recorded("every_kind.vgs.json"))
    turned = {volume.path: volume for volume in parse_storage(json.dumps(document), groups).volumes}
    assert turned == volumes_of("every_kind")


def test_contradictory_lvm_reports_are_rejected() -> None:
    """The agent rejects LVM's reports if volumes plus free space do not equal the size of their volume group."""
    with pytest.raises(ReportsDiffer, match=r"'vg0': its volumes take 0 bytes and 29360128 are free"):
        parse_storage(report("lv"), (GROUP,))


def test_two_configured_groups_of_one_name_are_an_error() -> None:
    """Two LVM volume groups of the same name raise an error only if that name is configured for the agent."""
    twins = parse_groups(report("vg", group_row(vg_uuid="a"), group_row(vg_uuid="b"), group_row(vg_name="vg1")))
    assert [group.name for group in select(twins, ("vg1", "absent"))] == ["vg1"]
    with pytest.raises(SourceInconsistent, match="two volume groups are named 'vg0'"):
        select(twins, ("vg0",))


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no list 'report'"),
        ('{"report": []}', "no list 'report'"),
        ('{"report": [{"lv": []}]}', "no list 'vg' of JSON objects"),
        ('{"report": [{"vg": [1]}]}', "no list 'vg' of JSON objects"),
        (report("vg", {"vg_name": "vg0"}), "column vg_uuid is None"),
        (report("vg", group_row(vg_name="")), "column vg_name is not a name: ''"),
        (report("vg", group_row(vg_size=5)), "column vg_size is 5"),
        (report("vg", group_row(vg_size="1.00g")), "vg_size of 'vg0' is '1.00g'"),
        (report("vg", group_row(vg_free="-1")), "vg_free of 'vg0' is '-1'"),
        (report("vg", group_row(vg_free="9" * 5000)), "vg_free of 'vg0' is '9999"),
        (report("vg", group_row(vg_free=str(11 * EXTENT))), "'vg0' has impossible sizes: 46137344 of 41943040"),
        (report("vg", group_row(vg_extent_size="0")), "extents of 0 bytes"),
    ],
)
def test_the_error_for_invalid_volume_groups_says_why(text: str, item: str) -> None:
    """If LVM's report of volume groups is invalid, the error contains the item that is missing or wrong."""
    with pytest.raises(SourceInconsistent) as caught:
        parse_groups(text)
    assert item in str(caught.value)
    assert str(caught.value).startswith("lvm: ")


@pytest.mark.parametrize(
    ("changes", "item"),
    [
        ({"seg_le_ranges": "/dev/sda"}, "'vg0/lv' lies on '/dev/sda'"),
        ({"seg_le_ranges": "/dev/sda:5-2"}, "'vg0/lv' lies on '/dev/sda:5-2'"),
        ({"seg_le_ranges": "elsewhere:0-2"}, "'vg0/lv' lies on 'elsewhere'"),
        ({"lv_size": "many"}, "lv_size of 'vg0/lv' is 'many'"),
        ({"lv_name": "[]"}, "column lv_name is not a name"),
        ({"lv_role": None}, "column lv_role is None"),
        ({"segtype": "thin", "data_percent": "100.01"}, "data_percent of 'lv' is '100.01', not a percentage"),
        ({"segtype": "thin", "data_percent": "-1.00"}, "data_percent of 'lv' is '-1.00'"),
        ({"segtype": "thin-pool", "lv_metadata_size": "1", "metadata_percent": "full"}, "is 'full'"),
        ({"segtype": "thin-pool", "lv_metadata_size": ""}, "lv_metadata_size of 'vg0/lv' is ''"),
    ],
)
def test_the_error_for_invalid_volumes_says_why(changes: dict[str, object], item: str) -> None:
    """If LVM's report of logical volumes is invalid, the error contains the column and the value that is wrong."""
    with pytest.raises(SourceInconsistent) as caught:
        parse_storage(report("lv", volume_row(**changes)), (GROUP,))
    assert item in str(caught.value)


words = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["vg0", "lv", "[lv]", "thin", "thin-pool", "12.00", "/dev/a:0-2", "[lv]:0-2", "7"]),
)
odd = st.one_of(words, st.none(), st.integers(), st.lists(words, max_size=2))
odd_rows = st.lists(
    st.dictionaries(st.sampled_from([*GROUP_COLUMNS.split(","), *VOLUME_COLUMNS.split(",")]), odd), max_size=3
)


@given(st.one_of(st.text(), st.recursive(odd, lambda inner: st.lists(inner, max_size=3)).map(json.dumps)))
def test_random_text_from_lvm_is_parsed_or_rejected(text: str) -> None:
    """An LVM command prints random text or random JSON.

    The agent's parser accepts the text or raises SourceInconsistent, but never another error.
    """
    for parse in (parse_groups, lambda found: parse_storage(found, (GROUP,))):
        try:
            parse(text)
        except SourceInconsistent:
            continue


@given(odd_rows, odd_rows)
def test_random_lvm_rows_are_parsed_or_rejected(
    groups: list[dict[str, object]], volumes: list[dict[str, object]]
) -> None:
    """Random rows in LVM's reports are parsed or raise SourceInconsistent. They cause no other error."""
    complete = [{**group_row(), **row} for row in groups], [{**volume_row(), **row} for row in volumes]
    for vg_rows, lv_rows in ((groups, volumes), complete):
        try:
            found = parse_groups(report("vg", *vg_rows))
            parse_storage(report("lv", *lv_rows), found or (GROUP,))
        except SourceInconsistent:
            continue


@given(st.permutations(json.loads(recorded("every_kind.lvs.json"))["report"][0]["lv"]))
def test_the_order_of_lvm_rows_does_not_matter(rows: list[dict[str, object]]) -> None:
    """The agent reads the same logical volumes in whatever order LVM prints its rows."""
    groups = parse_groups(recorded("every_kind.vgs.json"))
    volumes = parse_storage(report("lv", *rows), groups).volumes
    assert {volume.path: volume for volume in volumes} == volumes_of("every_kind")
