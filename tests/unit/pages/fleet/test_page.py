"""The fleet's page keeps its bounds, and no report of a folder, however odd, crashes it or becomes a tag."""

import datetime
import json
import os
import re

import pytest

from agent.cmd.fleet_facts import facts_of_folder, facts_of_view
from agent.pages.fleet.fleet_map import MOST_SQUARES
from agent.pages.fleet.gathered import Folder, gathered
from agent.pages.fleet.page import SECTIONS, fleet_page
from agent.pages.render import rendered
from agent.render.documents import report_document, report_to_json
from tests.rigs import fleet_hosts
from tests.rigs import fleet_reports as fleet

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "</script>",
    "\u202eevil\x00\x1b[2J",
)
FOLDER = Folder(source="a test", made=fleet.AT + datetime.timedelta(minutes=3))


def page_of(number: int) -> str:
    documents = fleet.documents(number)
    return rendered(fleet_page(gathered((("f", one) for one in documents), FOLDER)))


def elements(page: str) -> int:
    return len(re.findall(r"<[a-z]", page))


@pytest.mark.parametrize("number", [0, 1, 4, 800])
def test_the_fleet_page_has_every_section_for_any_fleet_size(number):
    """The fleet page has the same sections for no host at all as for 800 hosts."""
    page = page_of(number)
    assert page.count("<h2 ") == len(SECTIONS)
    assert page.count("<h1>") == 1


@pytest.mark.parametrize("number", [MOST_SQUARES, MOST_SQUARES + 1])
def test_the_fleet_page_is_smaller_than_1_mb(number):
    """Even for a large fleet, the fleet page has less than 1 MB and at most 12000 HTML elements."""
    page = page_of(number)
    assert len(page.encode()) < 1_000_000
    assert elements(page) <= 12_000


def test_the_fleet_page_lists_hosts_with_an_unreadable_source():
    """The fleet page lists the hosts that could not read a source, such as Placement, in their last audit."""
    page = page_of(200)
    assert "2 hosts could not read placement in the last audit: compute-0090, compute-0190." in page


@pytest.mark.parametrize(
    ("minutes", "age"),
    [(0, ""), (3, ", when the numbers were 3 min old"), (5760, ", when the numbers were 4 d old")],
)
def test_the_fleet_page_shows_the_age_of_its_data(minutes, age):
    """The fleet page says how old its data was when the page was made, for example three minutes."""
    made = Folder(source="a test", made=fleet.AT + datetime.timedelta(minutes=minutes))
    page = fleet_page(gathered((("f", one) for one in fleet.documents(4)), made))
    assert [text for text in page.about if text.startswith("page made")] == [
        f"page made {made.made:%Y-%m-%d %H:%M:%S} UTC{age}"
    ]


def test_only_the_50_worst_hosts_are_links_in_the_fleet_map():
    """In the map of 800 hosts, the squares of the 50 worst hosts are links to the table rows of these hosts."""
    page = page_of(800)
    targets = set(re.findall(r'href="#(host-\d+)"', page))
    assert targets == set(re.findall(r'id="(host-\d+)"', page))
    assert len(targets) == 50


def test_hostile_names_in_reports_never_become_html_elements(tmp_path):
    """A name such as "<script>" in a report adds no element to the fleet page."""
    for number, name in enumerate(HOSTILE):
        document = json.loads(report_to_json(fleet.report(number, fleet.foreign(number), fleet.orphan(number))))
        document["audit"]["host"] = name
        document["agent_version"] = name
        for row in (*document["storage"], *document["audit"]["findings"]):
            row.update({key: name for key in ("owner", "store", "subject", "headline") if key in row})
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    page = rendered(fleet_page(facts_of_folder(str(tmp_path), None)))
    assert "<script>alert" not in page
    assert "<img" not in page
    assert not set(page) & set("\u202e\x00\x1b")


ODD = {
    "empty": b"",
    "truncated": report_to_json(fleet.report(1, fleet.leaked(1))).encode()[:900],
    "not-json": b"hello",
    "not-utf-8": b"\xff\xfe{}",
    "a-list": b"[]",
    "deep": b"[" * 100_000,
    "another-version": b'{"schema_version": 7}',
    "no-audit": b'{"schema_version": 1}',
    "huge-number": b'{"schema_version": 1, "audit": ' + b"9" * 5000 + b"}",
}


def _wrong(*path: str | int, value: object) -> bytes:
    document = json.loads(report_to_json(fleet.report(1, fleet.leaked(1), fleet.spread(1, 2, fleet.uid("x")))))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document).encode()


ODD |= {
    f"{'.'.join(map(str, path))}={str(value)[:8]}": _wrong(*path, value=value)
    for path in (("audit",), ("audit", "host"), ("audit", "started_at"), ("audit", "outcome"), ("audit", "role"))
    for value in (None, 7, [], {}, "x" * 5000)
    if not (path[-1] in {"role"} and isinstance(value, str))
}


@pytest.mark.parametrize("content", ODD.values(), ids=ODD.keys())
def test_the_fleet_page_lists_an_invalid_report_file(tmp_path, content):
    """The fleet page lists a report file that cannot be used, and still counts the amounts of all valid reports."""
    (tmp_path / "odd.json").write_bytes(content)
    (tmp_path / "good.json").write_text(report_to_json(fleet.report(2, fleet.leaked(2))))
    facts = facts_of_folder(str(tmp_path), None)
    assert [each.file for each in facts.unreadable] == ["odd.json"]
    assert facts.view.sums.leaked["VCPU"] == 8
    assert "odd.json" in rendered(fleet_page(facts))


@pytest.mark.parametrize("value", [None, 7, "x", [7], {"a": 7}, [{"name": 7}], [[]], 10**30, float("nan")])
@pytest.mark.parametrize(
    "path",
    [("storage",), ("names",), ("inventory",), ("audit", "findings"), ("audit", "sources"), ("audit", "plan"),
     ("audit", "findings", 0, "evidence"), ("audit", "findings", 1, "facts"), ("inventory", 0, "used"),
     ("agent_version",), ("ledger",), ("audit", "findings", 1, "consumer_uuid")],
    ids=str,
)  # fmt: skip
def test_an_odd_value_in_a_report_does_not_stop_the_fleet_page(tmp_path, path, value):
    """The fleet page is written even if a report contains a value of an unexpected type or size."""
    (tmp_path / "odd.json").write_bytes(_wrong(*path, value=value))
    facts = facts_of_folder(str(tmp_path), None)
    rendered(fleet_page(facts))
    assert len(facts.view.rows) + len(facts.unreadable) == 1


def test_a_pipe_or_folder_named_like_a_report_is_unreadable(tmp_path):
    """If a pipe or a folder is named like a report, the fleet page lists it as an unreadable file."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "host-a").mkdir()
    (tmp_path / "host-a" / "report.json").mkdir()
    (tmp_path / "host-b").mkdir()
    (tmp_path / "host-b" / "report.json").write_text(report_to_json(fleet.report(1)))
    (tmp_path / "notes.txt").write_text("not looked at")
    facts = facts_of_folder(str(tmp_path), None)
    assert [each.file for each in facts.unreadable] == ["host-a/report.json", "link.json", "pipe.json"]
    assert [row.host for row in facts.view.rows] == [fleet.name(1)]


def test_a_fleet_page_from_bus_messages_says_what_it_lacks():
    """A fleet page made from messages on nova's message bus says that these messages contain no consumers."""
    view = fleet_hosts.view(
        fleet_hosts.cell(
            fleet_hosts.seen(fleet_hosts.broken("compute-1", "consumer-on-several-providers")),
            fleet_hosts.seen(fleet_hosts.broken("compute-2", leaked={"VCPU": 8})),
            fleet_hosts.seen(fleet_hosts.clean("compute-3"), 900.0),
        ),
        everywhere=fleet_hosts.expected("compute-1", "compute-4"),
        waited=True,
    )
    page = rendered(fleet_page(facts_of_view(view)))
    assert "The scheduler cannot allocate 8 VCPU" in page
    assert "Messages do not name the consumers" in page
    assert "1 silent, 1 never seen" in page


def test_a_report_without_a_version_shows_version_unknown():
    """If a report contains no `agent_version`, the fleet page shows the host's agent version as "unknown"."""
    document = report_document(fleet.report(1))
    facts = gathered([("a", document)], FOLDER)
    (row,) = facts.view.rows
    assert row.seen is not None
    assert row.seen.agent_version == "unknown"
