"""The heat strip: one character for the worst host of each group of hosts, in the order of names."""

import pytest

from agent.fleet.conditions import GLYPHS
from agent.fleet.strip import hosts_per_cell, strip
from tests.rigs.fleet_hosts import broken, cell, clean, expected, seen, view


def shown(of, cells: int) -> str:
    return "".join(GLYPHS[condition] for condition in strip(of.rows, cells))


MIXED = view(
    cell(
        seen(clean("a")),
        seen(broken("b", severity="info")),
        seen(broken("c", severity="warning")),
        seen(broken("d", severity="error")),
        seen(clean("e", outcome="refused")),
        seen(clean("f", outcome="partial")),
        seen(clean("g", outcome="unreadable")),
        seen(clean("h"), age_s=999),
        expected=expected("i"),
    )
)


def test_the_overview_line_shows_each_host_as_a_character():
    """The overview line of `stocktake watch` shows a clean host as `.`, a silent host as `?` and an error as `#`."""
    assert shown(MIXED, 80) == ".-+##!!?x"


@pytest.mark.parametrize(
    ("cells", "line"), [(9, ".-+##!!?x"), (8, "-##?x"), (5, "-##?x"), (3, "+#x"), (1, "x"), (0, "x")]
)
def test_an_overview_character_shows_the_worst_host(cells, line):
    """If a character of the overview line stands for several hosts, it shows the worst condition among them."""
    assert shown(MIXED, cells) == line


@pytest.mark.parametrize("hosts", [0, 1, 79, 80, 81, 800, 9_999])
def test_the_overview_line_has_at_most_80_characters(hosts):
    """Even for 9,999 hosts, the overview line of `stocktake watch` has at most 80 characters and omits no host."""
    fleet = view(cell(*(seen(clean(f"h-{number:05d}")) for number in range(hosts))))
    cells = len(shown(fleet, 80))
    assert cells <= 80
    assert (cells - 1) * hosts_per_cell(hosts, 80) < hosts <= cells * hosts_per_cell(hosts, 80) or hosts == cells == 0
