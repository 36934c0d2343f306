"""What each key does on the live screen."""

from dataclasses import replace

import pytest

from agent.cmd.watching.ui import Action, Ui, placed, pressed, selected_row
from agent.fleet.ordering import Choice, chosen
from tests.rigs.fleet_hosts import broken, cell, clean, seen, view

FLEET = view(cell(seen(clean("clean")), *(seen(broken(f"host-{number:02d}")) for number in range(30))))
PAGE = 10


def rows(ui: Ui):
    return chosen(FLEET.rows, ui.choice)


def after(*keys: str, ui: Ui | None = None) -> Ui:
    """Return the placed Ui after these keys."""
    ui = placed(ui or Ui(), rows(ui or Ui()), PAGE)
    for key in keys:
        ui, _ = pressed(ui, key, rows(ui), PAGE)
        ui = placed(ui, rows(ui), PAGE)
    return ui


def selected(ui: Ui) -> str | None:
    row = selected_row(ui, rows(ui))
    return row and row.host


@pytest.mark.parametrize(
    ("keys", "host", "top"),
    [
        ((), "host-00", 0),
        (("down", "down", "up"), "host-01", 0),
        (("up",), "host-00", 0),
        (("down",) * 9, "host-09", 0),
        (("down",) * 10, "host-10", 1),
        (("page-down",), "host-10", 1),
        (("page-down", "page-down", "page-up"), "host-10", 10),
        (("end",), "host-29", 20),
        (("end", "down"), "host-29", 20),
        (("end", "home"), "host-00", 0),
    ],
)
def test_keys_move_the_selection_and_scroll_the_table(keys, host, top):
    ui = after(*keys)
    assert (selected(ui), ui.top) == (host, top)


def test_the_selection_stays_on_a_host_that_moves():
    """If the selected host moves to another row of the table, the host stays selected."""
    ui = after("down", "down")
    others = [row for row in rows(ui) if row.host not in ("host-00", "host-01")]
    ui = placed(ui, others, PAGE)
    assert (ui.index, others[ui.index].host) == (0, "host-02")


def test_the_next_host_is_selected_if_a_host_disappears():
    """If the selected host leaves the table, the next host in the table is selected."""
    ui = after("down", "down")
    others = [row for row in rows(ui) if row.host != "host-02"]
    assert others[placed(ui, others, PAGE).index].host == "host-03"


def test_without_a_key_press_the_first_row_stays_selected():
    """Until a key is pressed, the first row is selected, even if another host moves to that row."""
    ui = after()
    worse = [*view(cell(seen(clean("worse"), age_s=999))).rows, *rows(ui)]
    assert worse[placed(ui, worse, PAGE).index].host == "worse"


def test_an_empty_table_has_no_selected_row():
    assert selected_row(placed(Ui(), (), PAGE), ()) is None
    assert pressed(Ui(), "u", (), PAGE)[1] is Action.NOTHING


def test_the_sort_key_changes_the_order_of_hosts():
    """Pressing `s` changes the order of the hosts and scrolls the table to its top."""
    ui = after("end", "s")
    assert (ui.choice.sort, ui.top, ui.selected) == ("host", 0, None)


def test_the_a_key_shows_or_hides_hosts_without_problems():
    assert len(rows(after("a"))) == 31
    assert len(rows(after("a", "a"))) == 30


def test_the_enter_key_applies_a_typed_filter():
    ui = after("f", *"host-03x", "backspace")
    assert (ui.typed, len(rows(ui))) == ("host-03", 30)
    ui = after("enter", ui=ui)
    assert (ui.typed, [row.host for row in rows(ui)]) == (None, ["host-03"])
    assert after("f", ui=ui).typed == "host-03"
    assert after("f", "clear", "enter", ui=ui).choice.words == ()


def test_the_escape_key_keeps_the_previous_filter():
    """Pressing Escape while a new filter is typed discards the typed letters; the previous filter stays active."""
    ui = after("f", *"host-03", "enter", "f", *"q", "escape")
    assert (ui.typed, ui.choice.words) == (None, ("host-03",))


def test_letters_of_a_filter_are_not_command_keys():
    """While a filter is typed, letters such as `q` and `u` become part of the filter and run no command."""
    ui = after("f")
    for key in "qusa":
        ui, action = pressed(ui, key, rows(ui), PAGE)
        assert action is Action.NOTHING
    assert ui.typed == "qusa"


def test_the_enter_key_opens_and_closes_the_details():
    """Enter opens the details of the selected host; Enter, Escape or Backspace closes the details."""
    ui = after("down", "enter")
    assert ui.detail_top == 0
    assert after("down", "down", "up", ui=ui).detail_top == 1
    assert [after(key, ui=ui).detail_top for key in ("enter", "escape", "backspace")] == [None] * 3
    assert selected(after("down", "enter", ui=ui)) == "host-01"


@pytest.mark.parametrize("ui", [Ui(), Ui(detail_top=3)])
@pytest.mark.parametrize(("key", "action"), [("q", Action.QUIT), ("u", Action.AUDIT), ("x", Action.NOTHING)])
def test_the_q_key_quits_and_the_u_key_starts_an_audit(ui, key, action):
    assert pressed(ui, key, FLEET.rows, PAGE)[1] is action


def test_a_key_press_removes_the_status_message():
    """When the operator presses a key, `stocktake watch` removes its status message."""
    assert pressed(replace(Ui(), message="the audit begins now"), "down", FLEET.rows, PAGE)[0].message == ""


def test_the_first_screen_can_include_healthy_hosts():
    """With option --all, the first screen of `stocktake watch` also shows hosts without problems."""
    assert after(ui=Ui(choice=Choice(with_quiet=True))).choice.with_quiet
