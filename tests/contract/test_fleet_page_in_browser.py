"""The fleet's page in Debian's Chromium: it requests nothing, runs nothing of a name, and anybody can read it.

With ``STOCKTAKE_PAGES=all`` the test looks at every world in every medium and width. ``STOCKTAKE_SCREENSHOTS=FOLDER``
keeps pictures.
"""

import datetime
import os
import pathlib

import pytest

from agent.fleet.expected import ExpectedHost
from agent.fleet.view import ExpectedHosts
from agent.pages.fleet.gathered import Folder, gathered
from agent.pages.fleet.page import fleet_page
from agent.pages.render import rendered
from agent.render.documents import report_document
from tests.rigs import browser
from tests.rigs import fleet_reports as fleet
from tests.rigs.pages import HOSTILE_NAMES

BROKEN = ("broken.json", {"schema_version": 1, "audit": {}})


def made(number: int):
    return [*((f"{one['audit']['host']}.json", one) for one in fleet.documents(number)), BROKEN]


def hostile():
    """Return a report for each hostile name, which is the name of its host, its group, its volume and its consumer."""
    found = []
    for number, name in enumerate(HOSTILE_NAMES, start=1):
        document = report_document(
            fleet.report(number, fleet.foreign(number), fleet.orphan(number), fleet.spread(number, 1, fleet.uid("x")))
        )
        document["audit"]["host"] = name[:200]
        document["names"] = [{"name": name, "uuid": fleet.uid("x")}]
        document["agent_version"] = name
        for row in (*document["storage"], *document["audit"]["findings"]):
            row.update({key: name for key in ("owner", "store", "subject", "headline") if key in row})
        found.append((f"{name}.json", document))
    return [*found, (HOSTILE_NAMES[0], {})]


WORLDS = {"0": list, "4": lambda: made(4), "800": lambda: made(800), "hostile": hostile, "10000": lambda: made(10_000)}
FEW = (
    ("0", "light", 360),
    ("4", "dark", 2560),
    ("800", "dark", 1280),
    ("800", "light", 360),
    ("hostile", "print", 360),
)
IS_ALL = os.environ.get("STOCKTAKE_PAGES") == "all"
CASES = browser.every_case(WORLDS) if IS_ALL else FEW


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    """Return the file of each world's page."""
    folder = tmp_path_factory.mktemp("pages")
    hosts = tuple(ExpectedHost(host=fleet.name(number), group=f"rack-{number % 12:02d}") for number in range(1, 804))
    found = {}
    for name in {world for world, _, _ in CASES}:
        expected = ExpectedHosts(hosts=hosts) if name == "800" else None
        about = Folder(source="a test", made=fleet.AT + datetime.timedelta(minutes=3), expected=expected)
        found[name] = folder / f"{name}.html"
        found[name].write_text(rendered(fleet_page(gathered(WORLDS[name](), about))))
    return found


@pytest.mark.parametrize(("world", "medium", "width"), CASES, ids=str)
def test_the_fleet_page_is_self_contained_and_readable(started, files, world, medium, width):
    """The HTML page of all hosts loads no other file; no text overlaps, and the browser reports no error."""
    rules = browser.WCAG if IS_ALL or width == 1280 or world != "800" else ()
    shot = browser.screenshot_file(f"fleet-{world}-{medium}-{width}")
    look = browser.seen(started, files[world], medium, width, shot, rules)
    assert (look.dialogs, look.messages, look.reports) == ([], [], [])
    assert look.requests == [files[world].as_uri()]
    assert look.violations == []
    assert (look.outside, look.overlapping, look.wider) == ([], [], [])
    assert look.elements <= 12_000


def test_a_square_of_the_fleet_map_links_to_its_host(started, files):
    """A click on a square of the map on the fleet's HTML page leads to the table row of a host."""
    look = browser.Look()
    with browser.opened(started, files["800"], look) as page:
        page.locator("svg.picture a").nth(12).click()
        row = page.evaluate("location.hash.slice(1)")
        assert page.locator(f"#{row}").is_visible()
    assert (look.messages, look.reports) == ([], [])


@pytest.mark.parametrize(("words", "shown", "said"), [
    ("compute-0777", 1, "1 of 803 rows match"),
    ("clean rack-05", 50, "52 of 803 rows match, 50 of them are shown"),
    ("allocation-missing", 8, "8 of 803 rows match"),
    ("1.3.2 observer", 66, "200 of 803 rows match, 66 of them are shown"),
    ("no-such-host", 0, "none of 803 rows matches"),
])  # fmt: skip
def test_the_fleet_page_search_finds_all_hosts(started, files, words, shown, said):
    """The table of the fleet's HTML page shows the worst 50 hosts, and its search finds the other hosts too."""
    look = browser.Look()
    with browser.opened(started, files["800"], look) as page:
        page.fill("#find-worst-hosts", words)
        rows = page.locator("#worst-hosts tbody tr:visible")
        assert rows.count() == shown
        assert page.locator("#said").inner_text().startswith(said)
        assert page.locator("#worst-hosts caption").inner_text().startswith(f"Search: {said}")
        page.fill("#find-worst-hosts", "")
        assert rows.count() == 50
        assert page.locator("#worst-hosts caption").inner_text().startswith("123 hosts have problems, 50 shown")
    assert (look.messages, look.reports) == ([], [])


def test_the_fleet_page_search_lists_all_names_to_copy(started, files):
    """A search on the fleet's HTML page lists the names of all matching hosts as text to copy."""
    look = browser.Look()
    with browser.opened(started, files["800"], look) as page:
        listed = page.locator("#list-worst-hosts")
        assert not listed.is_visible()
        page.fill("#find-worst-hosts", "1.3.2 observer")
        lead, _, names = listed.inner_text().partition(": ")
        assert lead == "Names of all 200 matches"
        assert sorted(names.split()) == [fleet.name(number) for number in range(3, 801, 4)]
        page.fill("#find-worst-hosts", "")
        assert not listed.is_visible()
    assert (look.messages, look.reports) == ([], [])


def test_a_link_to_a_host_clears_the_search(started, files):
    """A search hides the table row of a host; a click on a link to the host clears the search and shows the row."""
    look = browser.Look()
    with browser.opened(started, files["800"], look) as page:
        page.fill("#find-worst-hosts", "no-such-host")
        link = page.locator("#wasted-hosts a").first
        row = page.locator(f"#worst-hosts {link.get_attribute('href')}")
        assert not row.is_visible()
        link.click()
        assert row.is_visible()
        assert page.input_value("#find-worst-hosts") == ""
    assert (look.messages, look.reports) == ([], [])
