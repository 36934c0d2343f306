"""The cells of a row, and which columns a terminal shows."""

import dataclasses

import pytest

from agent.fleet.expected import ExpectedHost
from agent.fleet.table import HEAD, cells_of, columns_for, middle_cut
from tests.rigs.fleet_hosts import AT, amounts, broken, cell, clean, expected, seen, view


def cells(document, age_s: float = 0.0, width: int | None = 80):
    (row,) = view(cell(seen(document, age_s))).rows
    return cells_of(row, AT, width)


def what(document, age_s: float = 0.0) -> str:
    return cells(document, age_s).what


def test_the_row_of_a_faulty_host_shows_its_finding():
    """A row of `stocktake watch` shows a host's severity, name, worst finding, leaked amount and free amounts."""
    document = broken(
        "compute-0217", number=3, causes_by_code={"allocation-leaked": 3, "volume-foreign": 1},
        leaked={"VCPU": 71, "MEMORY_MB": 4096}, resources=amounts(-43, 60_416, -7332),
    )  # fmt: skip
    found = cells(document)
    assert (found.sev, found.host, found.for_s, found.leaked, found.free) == (
        "ERROR", "compute-0217", "12m", "71 VCPU", "-43/59/-7332",
    )  # fmt: skip
    assert found.what == "allocation-leaked x3 (+1): billing: deleted, and 8 VCPU are counted"


def test_a_wide_terminal_shows_all_leaked_amounts():
    """On a terminal of 160 characters, `stocktake watch` shows all leaked amounts of a host, not only VCPU."""
    document = broken(leaked={"MEMORY_MB": 4096, "VCPU": 71, "CUSTOM_FPGA": 1, "DISK_GB": 0})
    assert cells(document, width=160).leaked == "71 VCPU, 4 GiB RAM, 1 CUSTOM_FPGA"
    assert cells(document, width=159).leaked == "71 VCPU"


@pytest.mark.parametrize(
    ("leaked", "text"), [(None, "?"), ({}, "-"), ({"VCPU": 0}, "-"), ({"MEMORY_MB": 1}, "<0.1 GiB RAM")]
)
def test_the_table_tells_an_unknown_leak_from_no_leak(leaked, text):
    """`stocktake watch` shows `?` if a host's leaked amount in Placement is unknown, and `-` if nothing is leaked."""
    assert cells(clean(leaked=leaked)).leaked == text


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        (None, "?"),
        ([], "-/-/-"),
        (amounts(None, 1024, None), "?/1/?"),
        (amounts(0.5, -1, 0), "0/-1/0"),
    ],
)
def test_free_amounts_are_rounded_down_or_marked_as_unknown(resources, text):
    """The table of hosts shows free VCPUs, memory and disk in whole units, and `?` for an unknown amount."""
    assert cells(clean(resources=resources)).free == text


def test_the_row_of_an_unseen_host_shows_the_start_of_the_wait():
    """The row of an unseen host shows since when `stocktake watch` has waited for the host's first message."""
    (row,) = view(cell(expected=expected("compute-0801"))).rows
    found = cells_of(row, AT, 80)
    assert (found.sev, found.for_s, found.leaked, found.free) == ("NEVER", "-", "-", "?")
    assert found.what == "expected host, no message since 02:58"


def test_the_row_of_an_unseen_host_says_if_it_is_disabled():
    """The row of an unseen host contains "(disabled)" if the host's nova-compute service is disabled in nova."""
    (row,) = view(cell(expected=expected(ExpectedHost(host="a", disabled=True)))).rows
    assert cells_of(row, AT, 80).what == "(disabled) expected host, no message since 02:58"


def test_the_row_of_a_silent_host_shows_the_last_message():
    """The row of a silent host shows the time and the worst finding of the host's last message."""
    assert what(clean(), 367) == "last message 03:05, due every 60 s"
    assert what(broken(), 367).endswith("; before: allocation-leaked: billing: deleted, and 8 VCPU are counted")


def test_the_table_shows_since_when_findings_are_unknown():
    """If an agent cannot check its findings any more, the host's row shows "not known since" and the time."""
    known = {"unknown_since": "2026-11-22T03:05:00.000Z"}
    assert what(broken(number=3, unknown={"allocation-leaked": 3}, **known)).startswith(
        "allocation-leaked x3, not known since 03:05: "
    )
    assert what(broken(number=3, unknown={"allocation-leaked": 2}, **known)).startswith(
        "allocation-leaked x3, 2 not known since 03:05: "
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"outcome": "crashed", "findings": None, "error": "KeyError: 'x'"}, "KeyError: 'x'"),
        ({"outcome": "crashed", "findings": None}, "crashed"),
        ({"outcome": "partial", "sources_lost": ["placement", "state"]}, "placement, state not read"),
        ({"outcome": "unreadable", "error": "e", "sources_lost": ["libvirt"]}, "e; libvirt not read"),
        ({"outcome": "refused", "error": "nova-compute is alive"}, "nova-compute is alive"),
        ({"outcome": "clean"}, "-"),
        ({"outcome": "findings", "findings": {"a": 2, "b": 1, "c": 0}, "severities": None}, "a x2, b"),
    ],
)
def test_the_table_explains_the_last_audit_of_a_host(changes, text):
    """The row of a host shows the last audit's error, the sources that were not read, or the finding codes."""
    assert what(clean(**changes)) == text


def test_a_minimum_age_is_shown_with_a_greater_than_sign():
    """If a host's first message reported a crash 30 seconds ago, the table shows the age as `>30s`."""
    assert cells(clean(outcome="crashed", findings=None), 30).for_s == ">30s"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("compute-0001", "compute-0001"),
        ("c" * 24, "c" * 24),
        ("compute-0217.rack-7.example.org", "compute-0217~example.org"),
    ],
)
def test_a_long_host_name_is_cut_in_the_middle(name, shown):
    assert middle_cut(name, 24) == shown
    assert cells(clean(name)).host == shown
    assert cells(clean(name), width=None).host == name


WIDTHS = dict(zip(HEAD._fields, (7, 6, 24, 3, 200, 7, 12), strict=True))


@pytest.mark.parametrize(
    ("width", "cells_number", "columns"),
    [
        (None, 1, "sev host for_s what leaked free"),
        (220, 2, "sev cell host for_s what leaked free"),
        (97, 1, "sev host for_s what leaked free"),
        (96, 1, "sev host for_s what leaked"),
        (80, 1, "sev host for_s what leaked"),
        (80, 2, "sev cell host for_s what leaked"),
        (20, 1, "sev host for_s what leaked"),
    ],
)
def test_a_narrow_terminal_omits_the_free_amounts(width, cells_number, columns):
    """`stocktake watch` leaves out the column of free amounts if the terminal has no room for it."""
    assert columns_for(width, WIDTHS, cells=cells_number) == tuple(columns.split())


def test_a_terminal_of_80_characters_may_show_free_amounts():
    """If all names and texts are short, `stocktake watch` shows the free amounts on a terminal of 80 characters."""
    assert "free" in columns_for(80, {**WIDTHS, "host": 12, "what": 25}, cells=1)


def test_a_row_with_unknown_values_has_no_empty_cell():
    """In the row of a host with unknown values, each cell contains a text such as `?`."""
    (row,) = view(cell(seen(clean(leaked=None, resources=None)))).rows
    unknown = cells_of(dataclasses.replace(row, for_s=None), AT, 80)
    assert all(unknown)
