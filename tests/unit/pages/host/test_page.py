"""The whole page of one host: its sections, its bounds, and what it shows while nothing can be read."""

import dataclasses
import re

import pytest

from agent.pages.blocks import Meaning, Note, Sentences, Table
from agent.pages.host.page import host_page
from agent.pages.render import rendered
from agent.pages.sizes import RULE
from tests.rigs.pages import CHANGES, HOSTILE_NAMES, assert_inside, dead, facts, large, pictures
from tests.rigs.screens import SCREEN, UNREAD
from tests.unit.pages.test_render import Elements

ORDER = [
    *("verdict", "findings", "capacity", "storage", "ledger", "providers", "timeline", "numa"),
    *("sources", "configuration", "journal", "unknown"),
]


def section(report, name, **changes):
    return next(each for each in host_page(facts(report, **changes)).sections if each.id == name)


def texts_of(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


@pytest.mark.parametrize("report", [SCREEN, UNREAD, dead()], ids=["read", "placement unread", "dead"])
def test_the_host_page_always_has_the_same_sections(report):
    """The host page has the same sections even if Placement or every source of the audit was unreadable."""
    page = host_page(facts(report))
    assert [each.id for each in page.sections] == ORDER
    assert all(each.blocks for each in page.sections)
    assert page.title == "Stocktake: compute-1"
    assert "numbers from the audit at 2026-11-22 03:11:07 UTC (53 s before this page was made)" in page.about


def test_the_host_page_shows_no_amounts_if_nothing_was_read():
    """If no source could be read, the host page says so and shows no amount, not even zero."""
    report = dead()
    page = host_page(facts(report, view=None, cell_usages=None, changes=None, options=None, unread=("no journal",)))
    text = " ".join(Elements(rendered(page)).texts).replace(RULE, "")
    assert len(re.findall("(?:was|were) not read", text)) >= 8
    # Amounts of the pictures' scales aside, a dead host has no number with a unit.
    assert re.findall(r"\b\d+ (?:VCPU|MiB|GiB|bytes)\b", text) == []
    assert {each.id for each in pictures(page)} == {"capacity-picture", "storage-picture", "sources-picture"}


def test_the_page_of_a_large_host_is_smaller_than_1_mb():
    """The page of a host with 1000 guests and 20000 volumes has less than 1 MB and at most 8000 HTML elements."""
    text = rendered(host_page(facts(large(1000, 20_000))))
    assert len(text.encode()) < 1_000_000
    assert len(Elements(text).found) <= 8_000


def test_malicious_names_do_not_break_the_host_page():
    """Names that contain HTML add no tag to the host page, and long names stay inside its pictures."""
    page = host_page(facts(large(300, 500, HOSTILE_NAMES)))
    text = rendered(page)
    assert len(text.encode()) < 1_000_000
    for picture in pictures(page):
        assert_inside(picture)
    for tag, attributes in Elements(text).found:
        assert tag not in {"img", "iframe"}
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_every_element_id_of_a_page_is_unique():
    ids = [each["id"] for _, each in Elements(rendered(host_page(facts()))).found if "id" in each]
    assert len(ids) == len(set(ids))


def test_the_ledger_table_shows_differences_first():
    """Of 615 rows, the host page shows 200.

    The rows with different amounts in nova, libvirt and Placement come first.
    """
    most, said, table = section(large(200), "ledger").blocks
    assert most.caption.startswith("The 5 of 20")
    assert len(table.rows) == 200
    assert table.foot == "and 415 more; stocktake ledger shows all"
    assert said.text == "In 6 of 615 rows the amounts differ or could not be compared; these rows are first."
    assert {row[-2].meaning for row in table.rows[:6]} <= {Meaning.WRONG, Meaning.FOREIGN}
    assert table.search


def test_the_ledger_shows_a_question_mark_without_placement():
    """If Placement was not read, the ledger on the host page shows "?" for each amount recorded in Placement."""
    *_, table = section(UNREAD, "ledger").blocks
    place = [column.heading for column in table.columns].index("recorded")
    assert {row[place].text for row in table.rows} == {"?"}


def test_the_host_page_lists_the_volumes_unknown_to_nova():
    """The host page lists the largest volumes unknown to nova, and says how many are left out."""
    _, table = section(SCREEN, "storage").blocks
    assert texts_of(table) == [
        ["120 GiB", "128849018880", "foreign", "guests/backup-by-hand", "linear volume backup-by-hand", "vg guests"]
    ]
    assert section(large(0, 100), "storage").blocks[1].foot == "and 30 more; stocktake ledger --storage shows all"


def test_the_provider_section_lists_the_planned_writes():
    """The host page shows which inventories and traits the agent would change in Placement."""
    _, _, inventories, traits = section(SCREEN, "providers").blocks
    assert texts_of(inventories)[0][2:] == ["MEMORY_MB", "differs", "reserved 0 MiB -> 512 MiB"]
    assert [row[1:] for row in texts_of(traits)] == [
        ["COMPUTE_VOLUME_MULTI_ATTACH", "to add"],
        ["HW_CPU_X86_AVX512VPOPCNTDQ", "to remove"],
    ]


def test_the_journal_section_lists_the_newest_change_first():
    """In the journal section, the host page lists the agent's past changes, the newest change first."""
    (table,) = section(SCREEN, "journal").blocks
    rows = texts_of(table)
    assert [row[-1] for row in rows] == ["", "stocktake undo 9b22aa55", ""]
    assert [row[1:4] for row in rows] == [
        ["77aa0011", "adopt", "no"],
        ["9b22aa55", "undo", "undoes 9a11aa55"],
        ["9a11aa55", "heal", "yes, by 9b22aa55"],
    ]
    assert rows[0][0] == "2026-11-22 03:10:00 (age 2 min)"
    assert len(CHANGES) == len(rows)


def test_the_host_page_says_why_the_journal_was_not_read():
    """If the journal of the agent's changes was not read, the host page shows the reason."""
    (said,) = section(SCREEN, "journal", changes=None, unread=("the journal is closed",)).blocks
    assert said.text == "The journal was not read: the journal is closed"


def test_the_configuration_section_shows_the_file_of_each_option():
    """The host page shows the value of each option and its configuration file. Passwords appear as "****"."""
    (table,) = section(SCREEN, "configuration").blocks
    assert texts_of(table) == [
        ["[agent] role", "owner", "observer", "/etc/stocktake/stocktake.conf"],
        ["[placement] password", "****", "(unset)", "/etc/nova/nova.conf"],
    ]


def test_the_last_section_lists_what_is_unknown():
    """The last section of the host page lists what is unknown, such as unread sources and unchecked findings."""
    (known,) = section(UNREAD, "unknown", problems=("ledger[3]: bad",), unread=("journal: torn",)).blocks
    assert isinstance(known, Sentences)
    assert known.texts == (
        "placement was not read: http://placement.example.org: no answer within 30 s.",
        "3 findings were not checked (allocation-leaked, allocation-missing, allocation-stale-move), because placement "
        "was not read.",
        "A write of VGPU on provider 0d5c8a9e-6f5e-5c9b-8f43-1f4c2b7a9d10 was held back: the mediated devices of "
        "0000:81:00.0 are not known.",
        "NUMA cell 1: it is not known how much is used of dedicated CPUs, memory, 2 MiB pages, 1 GiB pages.",
        "A row of the report was left out: ledger[3]: bad.",
        "journal: torn.",
    )


def test_the_host_page_says_that_nothing_is_unknown():
    """If all sources were read, the last section of the host page says that nothing is unknown."""
    (said,) = section(dataclasses.replace(SCREEN, findings=(), plan=type(SCREEN.plan)()), "unknown", view={}).blocks
    assert said.text.startswith("Nothing: ")


def test_the_host_page_refers_to_no_other_file_or_web_address():
    text = rendered(host_page(facts()))
    assert re.findall(r"https?:|//\w", text) == []
    assert set(re.findall(r"url\(([^)]*)\)", text)) == {"#p-foreign", "#p-reserved", "#p-moving", "#p-unread"}


def test_the_provider_tree_shows_ratio_and_capacity():
    """For each resource class of a provider, the host page shows used, total, reserved, ratio and capacity."""
    _, picture, *_ = section(SCREEN, "providers").blocks
    assert [column.heading for column in picture.table.columns][3:8] == [
        "used", "total", "reserved", "ratio", "capacity",
    ]  # fmt: skip
    rows = {row[2]: row[3:8] for row in texts_of(picture.table)}
    assert rows["VCPU"] == ["28", "48", "0", "4", "192"]
    assert rows["MEMORY_MB"] == ["56 GiB", "256 GiB", "0 GiB", "1", "256 GiB"]


def test_the_capacity_section_lists_inconsistent_usage():
    """If Placement's usage of a class differs from the sum of its allocations, the host page shows the class."""
    texts = [block.text for block in section(SCREEN, "capacity").blocks if isinstance(block, Note)]
    assert any("VGPU: Placement's own sum of the usage is 3, but" in text for text in texts)
    assert not any(text.startswith("VCPU") for text in texts)


def test_the_capacity_section_says_how_much_is_free_after_heal():
    """The host page says how much of each resource class would be free after `stocktake heal`."""
    texts = [getattr(block, "text", "") for block in section(SCREEN, "capacity").blocks]
    (after,) = [text for text in texts if text.startswith("After heal")]
    assert "VCPU: 174 free instead of 164" in after
    assert not any(getattr(block, "text", "").startswith("After heal") for block in section(UNREAD, "capacity").blocks)
