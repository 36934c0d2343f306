"""The lines of the live screen and of ``watch --once``: every line fits, and nothing is left out without a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.cmd.watching.drawing import Size, page_of, report_lines, screen_lines
from agent.cmd.watching.ui import Ui, placed
from agent.errors import SourceInconsistent
from agent.fleet.ordering import Choice, chosen
from agent.fleet.view import Away, ExpectedHosts
from tests.rigs.fleet_hosts import AT, amounts, broken, cell, clean, expected, seen, view

LONG = "compute-0217.very-long-name.rack-7.example.org"
HOSTS = (
    *(seen(clean(f"clean-{number:03d}")) for number in range(100)),
    *(seen(broken(f"broken-{number:02d}", leaked={"VCPU": 71, "DISK_GB": 9000})) for number in range(30)),
    seen(broken(LONG, number=3, resources=amounts(-43, 60_416, -7332))),
    seen(broken("\u65e5\u672c", worst={"code": "a", "severity": "error", "headline": "\u8a9e" * 90})),
)
FLEET = view(cell(*HOSTS, expected=expected("never")))
SIZES = [(80, 24), (120, 40), (220, 60), (60, 14), (40, 8), (20, 5), (10, 3)]


def drawn(fleet, ui: Ui, size: Size) -> list[str]:
    rows = chosen(fleet.rows, ui.choice)
    return [line.text for line in screen_lines(fleet, placed(ui, rows, page_of(fleet, size)), rows, size)]


@pytest.mark.parametrize("ui", [Ui(), Ui(choice=Choice(with_quiet=True)), Ui(typed="x" * 300), Ui(message="y" * 300)])
@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_the_watch_screen_fits_the_terminal(columns, lines, ui):
    """The live screen of `stocktake watch` has as many lines as the terminal, and no line is too wide."""
    shown = drawn(FLEET, ui, Size(columns, lines))
    assert len(shown) == lines
    assert max(map(cell_len, shown)) <= columns


@pytest.mark.parametrize(("columns", "lines"), SIZES[:4])
def test_the_details_of_a_host_fit_the_terminal(columns, lines):
    """On the live screen of `stocktake watch`, the details of a host have the size of the terminal."""
    shown = drawn(FLEET, Ui(selected=("", "\u65e5\u672c"), detail_top=0), Size(columns, lines))
    assert len(shown) == lines
    assert max(map(cell_len, shown)) <= columns


def test_scrolling_stops_at_the_end_of_the_host_details():
    ui = Ui(selected=("", LONG), detail_top=999)
    shown = drawn(FLEET, ui, Size(80, 14))
    assert shown[-2].startswith("run there")
    assert drawn(FLEET, Ui(selected=("", LONG), detail_top=0), Size(80, 14))[1] == f"host       {LONG}"


def test_two_successive_pages_show_no_row_twice():
    """On the live screen, the next page of hosts begins after the last host of the page before."""
    size = Size(80, 20)
    page = page_of(FLEET, size)
    first = drawn(FLEET, Ui(), size)
    rows = chosen(FLEET.rows, Choice())
    second = drawn(FLEET, Ui(selected=rows[2 * page - 1].key, index=2 * page - 1, top=page), size)
    hosts = [line.split()[1] for line in (*first, *second) if "ERROR" in line or "NEVER" in line]
    assert len(hosts) == len(set(hosts)) == 2 * page


def test_the_selected_row_is_marked():
    """On the live screen, `>` stands before the selected host and before no other line."""
    shown = drawn(FLEET, Ui(selected=("", "broken-00"), index=1), Size(80, 24))
    assert [line for line in shown if line.startswith(">")] == [line for line in shown if "broken-00" in line]


def test_a_text_that_is_cut_ends_with_a_tilde():
    """The live screen shortens a long host name or headline and writes `~` at the cut."""
    ui = Ui(selected=("", LONG))
    (line,) = [line for line in drawn(FLEET, ui, Size(80, 24)) if "compute-0217~" in line]
    assert "~  -" in line
    (line,) = [line for line in drawn(FLEET, ui, Size(220, 24)) if "compute-0217~" in line]
    assert "allocation-leaked x3: billing: deleted, and 8 VCPU are counted" in line


def test_a_report_without_a_width_limit_cuts_no_text():
    """The fleet report prints long host names and headlines in full if no width is given."""
    text = "\n".join(line.text for line in report_lines(FLEET, chosen(FLEET.rows, Choice()), None))
    assert LONG in text
    assert "\u8a9e" * 90 in text
    assert "71 VCPU, 8.8 TiB disk" in text


def test_an_empty_host_table_says_why():
    """An empty host table shows the active filter, or the key that shows the hidden hosts."""
    quiet = view(cell(seen(clean())))
    assert " no host; press a to show 1 hosts that are clean or have not reported yet" in drawn(
        quiet, Ui(), Size(80, 24)
    )
    filtered = Ui(choice=Choice(words=("x",), with_quiet=True))
    assert " no host that matches the filter x" in drawn(quiet, filtered, Size(80, 24))


def test_the_screen_shows_three_problems_and_a_count():
    """With five unreachable cells, the live screen shows three of the problems and `and 2 more problems`."""
    away = [cell(name=f"cell-{number}", away=Away(since=AT, error="e")) for number in range(5)]
    shown = drawn(view(*away), Ui(), Size(80, 24))
    assert [line.split(":")[0] for line in shown[1:4]] == ["cell-0", "cell-1", "cell-2"]
    assert shown[4] == "and 2 more problems"


def test_the_cell_column_appears_only_for_several_cells():
    """The host table has the column CELL if more than one cell is watched."""
    one, other = (cell(seen(broken("a")), name=name) for name in ("cell-1", "cell-2"))
    assert any("CELL" in line for line in drawn(view(one, other), Ui(), Size(80, 24)))
    assert not any("CELL" in line for line in drawn(view(one), Ui(), Size(80, 24)))


def test_an_unread_list_of_expected_hosts_is_reported():
    """If the agent cannot read the list of expected hosts, the live screen shows the error above the table."""
    unread = view(cell(expected=ExpectedHosts(hosts=None, problem="state: refused")))
    assert drawn(unread, Ui(), Size(80, 24))[1] == "the list of expected hosts was not read: state: refused"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TEXT = st.text(max_size=60)
HOSTILE = st.fixed_dictionaries(
    {"host": TEXT.filter(bool), "error": TEXT, "worst": st.fixed_dictionaries(
        {"code": TEXT, "severity": TEXT, "headline": TEXT}
    )},
    optional={"outcome": TEXT, "sources_lost": st.lists(TEXT, max_size=2), "agent_version": TEXT, "unknown_since": TEXT,
              "findings": st.dictionaries(TEXT, st.integers(0, 9), max_size=3), "leaked": JSON, "heal": JSON},
)  # fmt: skip


@given(HOSTILE, st.sampled_from(SIZES), st.sampled_from([None, 0]))
def test_hostile_messages_do_not_disturb_the_screen(changes, size, detail_top):
    """Random texts in a host's message put no control character on the screen."""
    try:
        host = seen(broken(**{**changes, "host": changes["host"]}))
    except SourceInconsistent:
        return
    fleet = view(cell(host))
    for line in drawn(fleet, Ui(detail_top=detail_top, choice=Choice(with_quiet=True)), Size(*size)):
        assert line.isprintable()
        assert cell_len(line) <= size[0] or line.startswith("run there")
