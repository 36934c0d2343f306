"""The lines above the table: numbers of hosts, sums, and what is not known."""

import datetime

import pytest

from agent.fleet.head import counts, problems, sums, title
from agent.fleet.view import Away, ExpectedHosts
from tests.rigs.fleet_hosts import AT, broken, cell, clean, expected, seen, view


def test_the_title_counts_the_expected_hosts_that_were_seen():
    """The title of `stocktake watch` shows how many of the expected hosts have sent a message."""
    found = view(cell(seen(clean("a")), seen(clean("b"), age_s=999), name="cell-2", expected=expected("a", "b", "c")))
    assert title(found) == "Stocktake fleet  cell-2  2 of 3 expected hosts seen  2026-11-22 03:11:07 UTC"


def test_the_title_shows_the_number_of_unexpected_hosts():
    """The title of `stocktake watch` counts the hosts that send messages but are not expected."""
    found = view(cell(seen(clean("a")), seen(clean("b")), expected=expected("a")))
    assert "1 of 1 expected hosts seen, 1 unexpected host" in title(found)


@pytest.mark.parametrize(("hosts", "words"), [((), "0 hosts"), (("a",), "1 host"), (("a", "b"), "2 hosts")])
def test_without_a_host_list_the_title_counts_all_hosts(hosts, words):
    """Without a list of expected hosts, the title of `stocktake watch` shows the number of all hosts seen."""
    assert f"  {words}  " in title(view(cell(*(seen(clean(host)) for host in hosts))))


def test_the_title_shows_the_number_of_cells():
    """If `stocktake watch` follows two nova cells, its title contains "2 cells"."""
    assert "  2 cells  " in title(view(cell(name="a"), cell(name="b")))


def test_the_summary_counts_each_host_once():
    """The summary of `stocktake watch` counts each host once, for example as clean, silent or crashed."""
    found = view(
        cell(
            *(seen(clean(f"clean-{number}")) for number in range(5)),
            *(seen(broken(f"broken-{number}", severity=name)) for number, name in enumerate(("error", "info"))),
            seen(clean("part", outcome="partial")),
            seen(clean("refused", outcome="refused")),
            seen(clean("crashed", outcome="crashed")),
            seen(clean("silent"), age_s=999),
            expected=expected("never"),
        )
    )
    assert counts(found) == "5 clean, 2 findings, 1 partial, 1 refused, 1 crashed, 1 silent, 1 never seen"
    assert sum(int(part.split()[0]) for part in counts(found).split(", ")) == len(found.rows)


def test_watch_adds_up_the_problems_of_all_hosts():
    """`stocktake watch` prints sums over all hosts: leaked and missing allocations, and writes held back."""
    leaked = {"VCPU": 94, "MEMORY_MB": 376 * 1024, "DISK_GB": 8294}
    found = view(
        cell(seen(broken("a", leaked=leaked, missing={"VCPU": 2}, held_back=2)), seen(clean("b", leaked=None)))
    )
    assert sums(found) == (
        "leaked 94 VCPU, 376 GiB RAM, 8.1 TiB disk; missing 2 VCPU; 2 writes held back; unknown for 1 host"
    )


def test_the_totals_of_a_clean_fleet_show_no_leaks():
    """The totals of `stocktake watch` show "leaked nothing" if no host has a leaked allocation."""
    assert sums(view(cell(seen(clean())))) == "leaked nothing"


def test_watch_lists_unreachable_brokers_and_unreadable_hosts():
    """`stocktake watch` lists unreachable brokers and the number of hosts whose messages are unreadable."""
    away = Away(since=AT - datetime.timedelta(minutes=6), error="rabbit://r:5672/: Connection refused\x1b[2J")
    broken_cell = cell(
        name="cell-2", away=away, odd=1, left_out=3, expected=ExpectedHosts(hosts=None, problem="state: no")
    )
    assert problems(view(cell(name="cell-1", odd=1), broken_cell)) == (
        "cell-2: broker unreachable since 03:05: rabbit://r:5672/: Connection refused\\u001b[2J",
        "the list of expected hosts was not read: state: no",
        "2 hosts send messages that this program cannot read",
        "3 hosts are left out: too many hosts for this program",
    )


def test_no_problem_is_listed_if_everything_was_read():
    """`stocktake watch` prints no problem line if the broker, the host list and all messages could be read."""
    assert problems(view(cell(seen(clean()), expected=expected("compute-1")))) == ()
