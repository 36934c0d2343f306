"""The hosts of the fleet's page are in the order of the harm that they do, and the search contains each host."""

import dataclasses
import datetime
import itertools
import json
import re

import pytest

from agent.fleet.expected import ExpectedHost
from agent.fleet.view import ExpectedHosts
from agent.pages.blocks import Paragraph
from agent.pages.fleet import capacity, worst
from agent.pages.fleet.gathered import Folder, gathered
from agent.pages.fleet.harm import by_harm, is_calm, sold_twice_of
from agent.pages.fleet.page import fleet_page
from agent.pages.render import rendered
from agent.render.documents import report_document
from tests.rigs import fleet_reports as fleet

MADE = fleet.AT + datetime.timedelta(minutes=3)


def facts_of(documents, expected=()):
    hosts = ExpectedHosts(hosts=tuple(ExpectedHost(host=name, group="rack") for name in expected))
    return gathered([("f", one) for one in documents], Folder(source="a test", made=MADE, expected=hosts))


def tables(page):
    return {block.id: block for section in page.sections for block in section.blocks if hasattr(block, "rows")}


def test_hosts_with_resources_sold_twice_come_first():
    """The fleet page begins with the hosts on which resources are sold twice: in use, but free in Placement."""
    sells, wastes_much = fleet.report(1, fleet.missing(1)), fleet.report(2, *(fleet.leaked(2, n) for n in range(9)))
    stranger = fleet.report(3, fleet.stranger(3), ledger=fleet.strange_rows(3))
    wastes, unread, warns = fleet.report(4, fleet.leaked(4)), fleet.unread(5), fleet.report(6, fleet.orphan(6))
    clean = fleet.report(7)
    made = (clean, warns, unread, wastes, wastes_much, sells, stranger)
    facts = facts_of(map(report_document, made))
    # 6 VCPU of a stranger are more than 4 promised ones, and both come before 72 wasted ones.
    assert [row.host for row in by_harm(facts.view.rows)] == [fleet.name(number) for number in (3, 1, 2, 4, 5, 6, 7)]


def test_every_host_is_in_the_fleet_table_or_the_search():
    """The fleet page lists only some of 302 hosts in its table. The search on the page finds all others."""
    facts = facts_of(fleet.documents(300), [fleet.name(number) for number in range(1, 303)])
    table = tables(fleet_page(facts))["worst-hosts"]
    place = [column.heading for column in table.columns].index("host")
    found = [*(row[place].text for row in table.rows), *(texts[place] for texts in table.searched)]
    assert sorted(name.split(" (as of ")[0] for name in found) == sorted(row.host for row in facts.view.rows)
    assert table.search == "Find a host, a finding's code, a host's state, an agent's version or role in all 302 hosts"


def test_the_fleet_page_says_how_many_hosts_its_search_omits(monkeypatch):
    """In a large fleet, the fleet page's search field finds only some hosts.

    The page says how many hosts it leaves out.
    """
    monkeypatch.setattr(worst, "MOST_SEARCHED", 2_000)
    facts = facts_of(fleet.documents(300))
    table = tables(fleet_page(facts))["worst-hosts"]
    left_out = 300 - len(table.rows) - len(table.searched)
    assert 100 < left_out < 250
    assert f"But the search leaves out {left_out} hosts: stocktake watch --all shows all hosts." in table.foot


def test_every_host_with_resources_sold_twice_is_listed():
    """The fleet page lists every host with resources sold twice.

    Resources sold twice are in use, but free in Placement.
    """
    facts = facts_of(fleet.documents(800))
    table = tables(fleet_page(facts))["sold-twice-hosts"]
    selling = {row.host for row in facts.view.rows if sold_twice_of(row)}
    assert {row[0].text for row in table.rows} == selling
    assert len(selling) == 16


def test_the_fleet_page_shows_the_age_of_a_wasted_amount():
    """For a host with wasted resources, the fleet page shows how old the finding about the waste is."""
    leak, older = fleet.leaked(1, since=fleet.ago(hours=3, minutes=9)), fleet.orphan(1)
    page = tables(fleet_page(facts_of([report_document(fleet.report(1, leak, older))])))
    (row,) = page["wasted-hosts"].rows
    assert "2026-11-22 00:02 (age 3 h)" in [cell.text for cell in row]


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (90, "placement was not read"),
        (95, "the report of this host is old"),
        (801, "expected, but there is no report of this host"),
    ],
)
def test_a_host_of_unknown_state_is_listed_with_the_reason(number, why):
    """The fleet page says why the state of a host is unknown, for example that there is no report of this host."""
    facts = facts_of(fleet.documents(100), [fleet.name(number) for number in (*range(1, 101), 801)])
    table = tables(fleet_page(facts))["unknown-host-list"]
    (row,) = [row for row in table.rows if row[0].text.split(" (as of ")[0] == fleet.name(number)]
    assert row[1].text.startswith(why)
    assert row[2].text.startswith("2026-11-") or number == 801


def test_a_host_name_with_html_adds_no_tag_to_the_fleet_page():
    """If the host name in a report contains an HTML tag, the fleet page does not contain this tag."""
    document = report_document(fleet.report(3))
    document["audit"]["host"] = "</script><img src=x onerror=alert(1)>\u202e"
    page = rendered(fleet_page(facts_of([*fleet.documents(1), document])))
    (data,) = re.findall(r'<script type="application/json" id="more-worst-hosts">(.*?)</script>', page)
    (first, second) = json.loads(data)["rows"]
    assert {first[1][:9], second[1][:9]} == {"compute-0", "</script>"}
    assert "<img" not in page
    assert "\u202e" not in page


def test_the_fleet_page_lists_orphaned_providers_and_nodes():
    """The fleet page lists the orphaned providers in Placement and the orphaned compute nodes in nova's database."""
    made = [fleet.report(1, fleet.orphan(1)), fleet.report(2, fleet.orphan(2, "compute-node-orphaned"))]
    rows = tables(fleet_page(facts_of(map(report_document, made))))["orphan-list"].rows
    texts = {row[1].text: [cell.text for cell in row] for row in rows}
    assert texts["provider"][2:6] == [
        "old-node-1", fleet.uid("orphan", 1), "100 GiB disk, 64 GiB RAM, 16 VCPU", "0e7a: 2 GiB RAM; 0e7a: 2 VCPU",
    ]  # fmt: skip
    assert texts["compute node"][3:6] == [fleet.uid("orphan", 2), "24 VCPU, 128 GiB RAM, 800 GiB disk", "?"]


def test_only_clean_hosts_need_no_attention():
    """Of 100 hosts, the fleet page treats only hosts in the state "clean" as hosts that need no attention."""
    facts = facts_of(fleet.documents(100))
    calm = [row for row in facts.view.rows if is_calm(row)]
    assert len(calm) == facts.view.counts[calm[0].condition]


def figure(page, name):
    return next(each for each in page.sections[0].blocks[0].figures if each.name == name)


def test_the_fleet_page_shows_the_most_and_the_oldest_waste():
    """The fleet page shows which host wastes the most, and which host has the oldest finding about waste."""
    much = fleet.report(1, *(fleet.leaked(1, n, since=fleet.ago(hours=3, minutes=9)) for n in range(3)))
    old = fleet.report(2, fleet.leaked(2, since=fleet.ago(days=4, minutes=9)))
    most, oldest = figure(fleet_page(facts_of(map(report_document, (much, old)))), "Wasted").lines[:2]
    assert most.startswith(f"2 hosts have amounts in this sum; {fleet.name(1)} has the most: 24 VCPU")
    assert most.endswith("(age 3 h)")
    assert oldest.startswith(f"the oldest finding is on {fleet.name(2)}, first seen ")
    assert oldest.endswith("(age 4 d)")


def test_hosts_with_equal_wasted_amounts_are_sorted_by_name():
    facts = facts_of(fleet.documents(300))
    page = tables(fleet_page(facts))
    places = {row.host: place for place, row in enumerate(by_harm(facts.view.rows))}
    rows = page["wasted-hosts"].rows
    most = figure(fleet_page(facts), "Wasted").lines[0]
    assert f"{rows[0][0].text} has the most (2 other hosts have the same amounts): " in most
    pairs = [(a, b) for a, b in itertools.pairwise(rows) if a[1].text == b[1].text]
    assert pairs
    assert all(a[0].text < b[0].text for a, b in pairs)
    assert all(places[a[0].text] < places[b[0].text] for a, b in pairs)


def test_the_fleet_page_lists_the_hosts_of_each_agent_version():
    documents = [report_document(fleet.report(4 * number)) for number in range(1, 6)]
    documents[2]["agent_version"] = "0.0.7"
    for other in (0, 1, 3, 4):
        documents[other]["agent_version"] = "1.0.0"
    page = tables(fleet_page(facts_of(documents)))
    others = ", ".join(fleet.name(number) for number in (4, 8, 16, 20))
    assert [row[3].text for row in page["agent-versions"].rows] == [others, fleet.name(12)]
    table = page["worst-hosts"]
    assert table.marks == ("0.0.7 companion", "1.0.0 companion")
    kinds = {texts[1]: table.marks[place] for texts, place in zip(table.searched, table.marked, strict=True)}
    assert [name for name, kind in kinds.items() if kind == "0.0.7 companion"] == [fleet.name(12)]


def test_the_amounts_of_a_host_without_a_report_are_unknown():
    """If an expected host has no report, the fleet page shows the host's amounts as unknown."""
    documents = [report_document(fleet.report(1)), report_document(fleet.unread(3)), {"schema_version": 7}]
    page = fleet_page(facts_of(documents, [fleet.name(1), fleet.name(5)]))
    text = rendered(page)
    files = "1 file that is not a report"
    assert figure(page, "State not fully known").amounts == (f"2 hosts and {files}",)
    assert tables(page)["unknown-host-list"].caption.startswith("2 of 2 hosts. ")
    assert f"the amounts of 2 hosts and {files} are not known" in page.heading
    assert "Wasted amounts are unknown for 2 hosts" in text
    assert "The sentences above may name different numbers of hosts" in text
    assert f"Capacity and free amounts are unknown for 2 hosts: {fleet.name(3)}, {fleet.name(5)}." in text
    assert "except wasted, sold twice, capacity and free (not known)" in text
    rows = {row[1].text: [cell.text for cell in row] for row in tables(page)["worst-hosts"].rows}
    assert rows[fleet.name(3)][-1] == "?"
    assert f"No sum contains the inventory of 2 hosts and {files}" in text


def steps_of(*reports):
    table = tables(fleet_page(facts_of(map(report_document, reports))))["first-steps"]
    return [[cell.text for cell in row] for row in table.rows], table.foot


def test_the_fleet_page_has_commands_for_each_kind_of_finding():
    """For each kind of finding, the fleet page shows a command and a host that has such a finding."""
    reports = (fleet.report(1, fleet.orphan(1)), fleet.report(2, fleet.leaked(2)), fleet.report(4, fleet.missing(4)))
    steps, _ = steps_of(*reports)
    assert [step[:4] for step in steps] == [
        ["error", "allocation-missing", "1", fleet.name(4)],
        ["error", "allocation-leaked", "1", fleet.name(2)],
        ["warning", "provider-orphaned", "1", fleet.name(1)],
    ]
    assert steps[1][4] == "stocktake explain allocation-leaked; stocktake heal --code allocation-leaked"
    assert steps[2][4] == "stocktake explain provider-orphaned"


def test_a_host_that_heal_may_repair_comes_first():
    """For a repair, the fleet page first suggests a host whose agent is not in the read-only role observer."""
    worse = fleet.report(1, fleet.leaked(1), fleet.leaked(1, 2), role="observer")
    steps, _ = steps_of(worse, fleet.report(2, fleet.leaked(2), role="owner"))
    assert steps[0][2:4] == ["2", fleet.name(2)]
    steps, _ = steps_of(worse)
    assert steps[0][4:] == [
        "stocktake explain allocation-leaked",
        "heal repairs nothing on 1 host with role observer: set [agent] role to companion or owner there, then run "
        "stocktake heal --code allocation-leaked",
    ]


def test_the_fleet_page_blames_the_host_without_the_instance():
    """If an instance has allocations on two hosts, the fleet page blames the host that does not have the instance."""
    pair = (fleet.report(40, fleet.spread(40, 41, "c")), fleet.report(41, fleet.spread(41, 40, "c")))
    steps, _ = steps_of(*pair)
    assert steps[0][1:4] == ["consumer-on-several-providers", "1", fleet.name(40)]
    page = fleet_page(facts_of(map(report_document, pair)))
    rows = tables(page)["worst-hosts"].rows
    assert rows[-1][1].text == fleet.name(41)
    what = {row[1].text: row[3].text for row in rows}
    assert (
        what[fleet.name(41)]
        == f"this host is not at fault: its errors are about 1 consumer with surplus allocations on {fleet.name(40)}"
    )
    assert not what[fleet.name(40)].startswith("this host is not at fault")
    assert figure(page, "Hosts").lines[1].startswith("1 of the hosts with an error is not at fault")
    assert (
        "not in the sum: 4 VCPU that Placement counts for 1 consumer on a wrong host" in figure(page, "Wasted").lines[0]
    )
    assert "1 consumer has surplus allocations on a second host (4 VCPU)." in rendered(page)
    assert "still counts these surplus amounts as used." in rendered(page)


def test_the_fleet_page_lists_findings_that_will_disappear():
    """The fleet page lists the findings that will disappear after the repair of another finding."""
    stale = dataclasses.replace(fleet.leaked(40), finding=dataclasses.replace(
        fleet.leaked(40).finding, code="allocation-stale-move", consumer_uuid="c"
    ))  # fmt: skip
    result = dataclasses.replace(fleet.spread(40, 41, "c"), caused_by=(stale.finding.id,))
    steps, foot = steps_of(fleet.report(40, stale, result), fleet.report(41, fleet.spread(41, 40, "c")))
    assert [step[1:4] for step in steps] == [["allocation-stale-move", "1", fleet.name(40)]]
    assert foot.endswith("go away with them: consumer-on-several-providers.")


def test_no_command_contains_shell_syntax_from_a_report():
    """If a report contains the text "x; reboot", no command on the fleet page contains this text."""
    document = report_document(fleet.report(1, fleet.leaked(1), fleet.spread(1, 2, fleet.uid("x"))))
    document["audit"]["findings"][0]["code"] = "x; reboot"
    document["audit"]["findings"][1]["consumer_uuid"] = "y; reboot"
    document["audit"]["findings"][1]["facts"].pop("instance_host")
    page = tables(fleet_page(facts_of([document])))
    commands = [row[4].text for row in page["first-steps"].rows]
    commands += [row[4].text for row in page["consumers-on-several"].rows]
    assert len(commands) == 2
    assert not [command for command in commands if "reboot" in command]


def test_the_fleet_page_shows_the_time_of_a_silent_hosts_numbers():
    """If a host's last report is five hours old, the fleet page shows the report's time beside the host's numbers."""
    silent = fleet.report(3, fleet.leaked(3), started_at=fleet.ago(hours=5))
    page = fleet_page(facts_of(map(report_document, (silent, fleet.report(4)))))
    (row,) = tables(page)["wasted-hosts"].rows
    assert row[0].text == f"{fleet.name(3)} (as of 2026-11-21 22:11)"
    (unknown,) = tables(page)["unknown-host-list"].rows
    assert unknown[4].text == "all numbers as of 2026-11-21 22:11"
    of_silent = "the part of the sum that comes from the last reports of 1 silent host: 8 VCPU, 16 GiB RAM, 80 GiB disk"
    assert of_silent in figure(page, "Wasted").lines


def test_the_numbers_of_hosts_in_each_state_add_up_to_the_total():
    facts = facts_of(fleet.documents(300), [fleet.name(number) for number in range(1, 303)])
    hosts = figure(fleet_page(facts), "Hosts")
    assert sum(int(part.split()[0]) for part in hosts.lines[0].split(" + ")) == int(hosts.amounts[0]) == 302


def test_the_fleet_page_lists_new_findings_and_big_consumers():
    """The fleet page has a list of the newest findings and a list of the ten largest consumers."""
    page = tables(fleet_page(facts_of(fleet.documents(100))))
    newest = page["newest-findings"].rows
    assert [cell.text for cell in newest[0]][1:4] == [fleet.name(90), "error", "source-unavailable"]
    largest = page["largest-consumers"].rows
    assert [cell.text for cell in largest[0]][0::2] == ["guest-73", "32 VCPU, 4 GiB RAM"]
    assert len(largest) == 10


def test_the_fleet_page_says_how_much_is_free_after_heal():
    """The fleet page shows what is free now and what will be free after a run of `stocktake heal`."""
    page = fleet_page(facts_of([report_document(fleet.report(1, fleet.leaked(1), fleet.leaked(1, 2)))]))
    (free,) = [each.text for each in page.sections[0].blocks if isinstance(each, Paragraph)]
    assert free.startswith("Free for the scheduler now: 91 VCPU, 110.8 GiB RAM, ")
    assert "; after heal: 107 VCPU, 142.8 GiB RAM, " in free


def test_the_fleet_page_shows_when_a_leak_began():
    """For a leaked allocation, the fleet page shows when the leak began and when an audit first saw the leak."""
    table = tables(fleet_page(facts_of([report_document(fleet.report(17, fleet.leaked(17)))])))["wasted-hosts"]
    headings = [column.heading for column in table.columns]
    (row,) = table.rows
    assert row[headings.index("began (UTC)")].text == "2026-11-21 07:11 (age 19 h)"
    assert row[headings.index("first seen (UTC)")].text == "2026-11-21 08:11 (age 18 h)"


def test_the_smallest_part_of_a_capacity_bar_is_visible():
    """In a capacity bar on the fleet page, every part gets a width of at least 3 pixels."""
    exact = [500.0, 0.2, 100.0, 0.5]
    widths = capacity._widths(exact)
    assert min(widths) >= 3
    assert sum(widths) == pytest.approx(sum(exact))
