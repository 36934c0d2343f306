"""What `ledger --storage` prints, for people and for programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.cmd.command_line.failures import NoDocument
from agent.cmd.commands.storage_listing import COLUMNS, storage_listing
from agent.usage_error import UsageError
from tests.rigs.reports import REPORT
from tests.rigs.screens import shown

READ = replace(REPORT, sources=REPORT.sources[:1])


def test_the_storage_list_has_a_row_for_each_volume() -> None:
    """`stocktake ledger --storage` has a row for each volume of a volume group, and one for the free space."""
    listing = storage_listing(REPORT, None)
    assert listing.columns == COLUMNS
    scratch = ("vg guests", "foreign", "guests/scratch", "linear volume scratch", 8_053_063_680,
               "lvm guests/scratch", 9_126_805_504)  # fmt: skip
    assert listing.rows == (
        scratch,
        ("vg guests", "free", "", "free extents", 1 << 30, "lvm guests", 9_126_805_504),
    )


def test_the_storage_table_ends_with_a_total() -> None:
    """`stocktake ledger --storage` shows each size in GiB and in bytes; the last line has the volume group's total."""
    listing = storage_listing(REPORT, None)
    whole = "8.500 GiB (9126805504 bytes)"
    assert shown([listing.people, *listing.foot]) == [
        "STORE      KIND     OWNER             GIB       BYTES  WHAT                   SOURCE",
        "vg guests  foreign  guests/scratch  7.500  8053063680  linear volume scratch  lvm guests/scratch",
        "vg guests  free                     1.000  1073741824  free extents           lvm guests",
        f"total vg guests: {whole}, accounted for {whole}, unaccounted 0 bytes",
    ]


def test_the_total_line_shows_unaccounted_bytes() -> None:
    """The rows of `stocktake ledger --storage` lack 1 GiB of the volume group; the last line shows this."""
    (foot,) = shown(storage_listing(replace(REPORT, storage=REPORT.storage[:1]), None).foot)
    assert foot.endswith("unaccounted 1073741824 bytes")


def test_the_storage_list_can_show_a_single_owner() -> None:
    """The operator asks `stocktake ledger --storage` for one owner; only the owner's rows and total are printed."""
    listing = storage_listing(REPORT, "guests/scratch")
    assert [row[2] for row in listing.rows] == ["guests/scratch"]
    assert shown(listing.foot) == ["total vg guests: 7.500 GiB (8053063680 bytes) of 8.500 GiB (9126805504 bytes)"]


def test_the_storage_list_fails_for_an_owner_without_storage() -> None:
    """All storage was read and the given owner has none, so `stocktake ledger --storage` fails."""
    with pytest.raises(UsageError, match=r"^nobody owns nothing in the stores of compute-17.example.org; "):
        storage_listing(READ, "nobody")


def test_the_storage_list_exits_2_if_the_owner_is_not_found() -> None:
    """`stocktake ledger --storage` exits with 2 if the given owner is not found and some storage was not read."""
    with pytest.raises(NoDocument, match="as far as the stores could be read") as raised:
        storage_listing(REPORT, "nobody")
    assert raised.value.failure.code == 2


def test_an_empty_storage_list_prints_a_note() -> None:
    """`stocktake ledger --storage` without rows prints "no store could be read, or no store is configured"."""
    listing = storage_listing(replace(REPORT, storage=()), None)
    assert listing.rows == ()
    assert shown(listing.foot) == ["no store could be read, or no store is configured"]


def test_the_storage_table_escapes_control_characters() -> None:
    """A volume's name or owner with an escape character cannot change the terminal on which the table is printed."""
    nasty = replace(REPORT.storage[0], what="volume \x1b[2J", owner="a\x1b")
    assert "\x1b" not in "".join(shown([storage_listing(replace(REPORT, storage=(nasty,)), None).people]))
