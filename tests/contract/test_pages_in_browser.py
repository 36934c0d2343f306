"""A host's page in Debian's Chromium: it requests nothing, runs nothing of a name, and anybody can read it.

With ``STOCKTAKE_PAGES=all`` the test looks at every world in every medium and width. ``STOCKTAKE_SCREENSHOTS=FOLDER``
keeps pictures and figures.
"""

import dataclasses
import os
import pathlib

import pytest

from agent.pages.host.page import host_page
from agent.pages.render import rendered
from tests.rigs import browser
from tests.rigs.pages import HOSTILE_NAMES, dead, facts, large
from tests.rigs.screens import SCREEN, UNREAD


def hostile():
    report = large(40, 60, HOSTILE_NAMES)
    name = HOSTILE_NAMES[1]
    seen = tuple(
        dataclasses.replace(
            each,
            finding=dataclasses.replace(
                each.finding,
                actual=HOSTILE_NAMES[number % len(HOSTILE_NAMES)],
                headline=name,
                subject=HOSTILE_NAMES[5],
                consumer_uuid=None,
            ),
        )
        for number, each in enumerate(report.findings)
    )
    return dataclasses.replace(report, findings=seen, node=HOSTILE_NAMES[0])


#: What the page of an old report says.
STALE = "the report is 2 days old: the daemon has ended, or its audits hang"
WORLDS = {
    "empty": lambda: dataclasses.replace(SCREEN, findings=(), ledger=(), storage=(), inventory=(), traits=()),
    "few": lambda: SCREEN,
    "placement-unread": lambda: UNREAD,
    "stale": lambda: SCREEN,
    "dead": dead,
    "hostile": hostile,
    "100": lambda: large(100, 200),
    "1000": lambda: large(1000, 20_000),
}
# What every run looks at: each world, medium and width at least once.
FEW = (
    ("few", "light", 1280),
    ("few", "dark", 360),
    ("stale", "light", 2560),
    ("placement-unread", "print", 1280),
    ("hostile", "forced", 360),
    ("dead", "dark", 1280),
    ("1000", "light", 1280),
)
# Their tables have hundreds of rows, which axe-core checks one by one.
LONG = ("hostile", "1000")
IS_ALL = os.environ.get("STOCKTAKE_PAGES") == "all"
CASES = browser.every_case(WORLDS) if IS_ALL else FEW


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    """Return the file of each world's page."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in {world for world, _, _ in CASES}:
        found[name] = folder / f"{name}.html"
        stale = STALE if name == "stale" else ""
        found[name].write_text(rendered(host_page(facts(WORLDS[name](), stale=stale))))
    return found


def keep_figures(line: str) -> None:
    """Append the number of elements and the milliseconds until the event load to a file beside the screenshots."""
    if folder := os.environ.get("STOCKTAKE_SCREENSHOTS"):
        with (pathlib.Path(folder) / "figures.csv").open("a") as file:
            file.write(f"{line}\n")


@pytest.mark.parametrize(("world", "medium", "width"), CASES, ids=str)
def test_the_host_page_is_self_contained_and_readable(started, files, world, medium, width):
    """The HTML page of a host loads no other file; no text overlaps or is cut, and the browser reports no error."""
    rules = browser.WCAG if IS_ALL or world not in LONG else ()
    shot = browser.screenshot_file(f"host-{world}-{medium}-{width}")
    look = browser.seen(started, files[world], medium, width, shot, rules)
    keep_figures(f"{world},{medium},{width},{look.elements},{look.load_ms:.0f}")
    assert (look.dialogs, look.messages, look.reports) == ([], [], [])
    assert look.requests == [files[world].as_uri()]
    assert look.violations == []
    assert (look.outside, look.overlapping, look.wider) == ([], [], [])
    assert look.elements <= 8_000


def test_the_host_page_has_a_search_and_copy_buttons(started, files):
    """On a host's HTML page, the search filters a table, and a copy button selects a command for copying."""
    look = browser.Look()
    with browser.opened(started, files["few"], look) as page:
        page.fill("#find-ledger-rows", "old-shop vcpu")
        assert page.locator("#ledger-rows tbody tr:visible").count() == 1
        page.locator("button.copy").first.click()
        line = page.locator(".line code").first.inner_text()
        assert page.evaluate("getSelection().toString()") == line
    assert (look.messages, look.reports) == ([], [])


def test_the_browser_blocks_a_script_added_to_the_page(started, files, tmp_path):
    """The Content-Security-Policy of a host's HTML page blocks scripts that the agent did not write."""
    changed = tmp_path / "changed.html"
    added = "<script>alert(1)</script><img src=x onerror=alert(2)><p style='color:red'>x</p></main>"
    changed.write_text(files["few"].read_text().replace("</main>", added))
    look = browser.Look()
    with browser.opened(started, changed, look):
        pass
    assert look.dialogs == []
    assert len(look.reports) >= 3


def test_a_printed_page_shows_tables_and_no_buttons(started, files):
    """A printed host page shows the data table of each chart and omits all buttons and search fields."""
    look = browser.Look()
    with browser.opened(started, files["few"], look, "print") as page:
        assert page.locator("details table:visible").count() == page.locator("details").count() > 0
        assert page.locator("button:visible, input:visible").count() == 0


def test_a_page_without_javascript_shows_no_buttons(started, files):
    """If JavaScript is off, a host's HTML page hides its buttons, and its tables can still be unfolded."""
    context = started.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["few"].as_uri())
    assert page.locator("button:visible, input:visible").count() == 0
    page.locator("summary").first.click()
    assert page.locator("details table:visible").count() == 1
    context.close()
