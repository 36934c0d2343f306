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


def test_the_storage_listing_has_a_row_for_each_volume_and_for_free_space() -> None:
    listing = storage_listing(REPORT, None)
    assert listing.columns == COLUMNS
    scratch = ("vg guests", "foreign", "guests/scratch", "linear volume scratch", 8_053_063_680,
               "lvm guests/scratch", 9_126_805_504)  # fmt: skip
    assert listing.rows == (
        scratch,
        ("vg guests", "free", "", "free extents", 1 << 30, "lvm guests", 9_126_805_504),
    )


def test_the_storage_table_shows_sizes_in_gib_and_bytes_and_a_total_line() -> None:
    listing = storage_listing(REPORT, None)
    whole = "8.500 GiB (9126805504 bytes)"
    assert shown([listing.people, *listing.foot]) == [
        "STORE      KIND     OWNER             GIB       BYTES  WHAT                   SOURCE",
        "vg guests  foreign  guests/scratch  7.500  8053063680  linear volume scratch  lvm guests/scratch",
        "vg guests  free                     1.000  1073741824  free extents           lvm guests",
        f"total vg guests: {whole}, accounted for {whole}, unaccounted 0 bytes",
    ]


def test_the_total_line_shows_how_many_bytes_belong_to_no_listed_row() -> None:
    (foot,) = shown(storage_listing(replace(REPORT, storage=REPORT.storage[:1]), None).foot)
    assert foot.endswith("unaccounted 1073741824 bytes")


def test_the_storage_listing_of_one_owner_shows_only_the_rows_of_this_owner() -> None:
    listing = storage_listing(REPORT, "guests/scratch")
    assert [row[2] for row in listing.rows] == ["guests/scratch"]
    assert shown(listing.foot) == ["total vg guests: 7.500 GiB (8053063680 bytes) of 8.500 GiB (9126805504 bytes)"]


def test_the_storage_listing_reports_a_usage_error_if_the_owner_has_no_storage() -> None:
    """This holds only if every source was read: an unread store may contain volumes of the owner."""
    with pytest.raises(UsageError, match=r"^nobody owns nothing in the stores of compute-17.example.org; "):
        storage_listing(READ, "nobody")


def test_the_storage_listing_exits_with_2_if_the_owner_may_use_an_unread_store() -> None:
    """No storage that was read belongs to the owner that the operator named."""
    with pytest.raises(NoDocument, match="as far as the stores could be read") as raised:
        storage_listing(REPORT, "nobody")
    assert raised.value.failure.code == 2


def test_the_storage_listing_prints_a_note_if_no_store_was_read() -> None:
    listing = storage_listing(replace(REPORT, storage=()), None)
    assert listing.rows == ()
    assert shown(listing.foot) == ["no store could be read, or no store is configured"]


def test_the_storage_table_contains_no_terminal_escape_characters() -> None:
    nasty = replace(REPORT.storage[0], what="volume \x1b[2J", owner="a\x1b")
    assert "\x1b" not in "".join(shown([storage_listing(replace(REPORT, storage=(nasty,)), None).people]))
