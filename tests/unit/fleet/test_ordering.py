"""Which rows are shown and in which order: worst first, sorts, filters, clean hosts only on request."""

import pytest

from agent.fleet.expected import ExpectedHost
from agent.fleet.ordering import SORTS, Choice, chosen, next_sort
from tests.rigs.fleet_hosts import amounts, broken, cell, clean, expected, seen, view

OLDER = "2026-11-22T01:00:00.000Z"
FLEET = view(
    cell(
        seen(clean("clean-1")),
        seen(broken("info-1", "cpu-offline", "info")),
        seen(broken("warn-1", "volume-foreign", "warning", leaked={"VCPU": 1}), age_s=5),
        seen(clean("part-1", outcome="partial", sources_lost=["placement"], leaked=None)),
        seen(broken("err-new", leaked={"VCPU": 71})),
        seen(broken("err-old", "rival-writer", oldest_at=OLDER, resources=amounts(-43)), age_s=50),
        seen(clean("refused-1", outcome="refused", error="nova-compute is alive")),
        seen(clean("crashed-1", outcome="crashed", resources=None)),
        seen(clean("silent-1", resources=amounts(3)), age_s=400),
        name="cell-1",
        expected=expected(ExpectedHost(host="never-1", group="rack-2"), ExpectedHost(host="err-new", group="Rack-1")),
    )
)


def names(**choice) -> list[str]:
    return [row.host for row in chosen(FLEET.rows, Choice(**choice))]


def test_hosts_are_sorted_from_worst_to_best():
    """`stocktake watch` lists silent hosts before hosts with errors, and errors before warnings."""
    assert names() == [
        "never-1", "silent-1", "crashed-1", "refused-1", "err-old", "err-new", "part-1", "warn-1", "info-1",
    ]  # fmt: skip


def test_clean_hosts_are_listed_last_and_only_on_request():
    assert names(with_quiet=True) == [*names(), "clean-1"]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("host", ["crashed-1", "err-new", "err-old"]),
        ("age", ["never-1", "silent-1", "err-old", "warn-1"]),
        ("leaked", ["err-new", "warn-1"]),
        ("free", ["err-old", "silent-1"]),
    ],
)
def test_hosts_are_listed_in_the_chosen_order(sort, first):
    """The operator can sort the hosts of `stocktake watch` by name, age, leaked amount or free amount."""
    assert names(sort=sort)[: len(first)] == first


@pytest.mark.parametrize("sort", ["leaked", "free"])
def test_hosts_with_unknown_amounts_come_last(sort):
    """If the hosts are sorted by leaked or free amounts, hosts with unknown amounts come last."""
    assert "never-1" in names(sort=sort)[-3:]


def test_the_first_sort_order_follows_the_last():
    """The sort orders of `stocktake watch` are worst, host, age, leaked and free. After free, worst follows."""
    sort, found = "worst", []
    for _ in SORTS:
        found.append(sort)
        sort = next_sort(sort)
    assert (found, sort) == (["worst", "host", "age", "leaked", "free"], "worst")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("ERR",), ["err-old", "err-new"]),
        (("rival",), ["err-old"]),
        (("code:rival-writer",), ["err-old"]),
        (("code:rival",), []),
        (("sev:error",), ["err-old", "err-new"]),
        (("sev:silent",), ["silent-1"]),
        (("sev:partial",), ["part-1"]),
        (("group:rack-1",), ["err-new"]),
        (("group:rack-2",), ["never-1"]),
        (("cell:cell-1", "sev:info"), ["info-1"]),
        (("err", "code:allocation-leaked"), ["err-new"]),
        (("host:1",), []),
    ],
)
def test_a_filter_shows_hosts_that_match_all_its_words(words, found):
    """A filter of `stocktake watch` may contain text and words such as sev:error, and a host must match all of them."""
    assert names(words=words) == found
