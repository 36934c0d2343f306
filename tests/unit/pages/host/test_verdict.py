"""The first section: one sentence, three numbers, and each source that was not read."""

import dataclasses

from agent.model.finding import LEAKING
from agent.pages.blocks import Figures, Meaning, Note, Paragraph
from agent.pages.host.findings import findings
from agent.pages.host.journal import journal
from agent.pages.host.pictures.sources import why_unread
from agent.pages.host.verdict import verdict
from tests.rigs.pages import CHANGES, dead, facts
from tests.rigs.screens import SCREEN, UNREAD


def blocks_of(report):
    return verdict(facts(report)).blocks


def test_the_host_page_begins_with_a_summary():
    """The first sentence of the host page shows the number of errors, the wasted amounts and the age of the data."""
    assert blocks_of(SCREEN)[0] == Paragraph(
        text="compute-1: 4 causes (3 errors, 1 warning); 12 VCPU, 24 GiB RAM are wasted, 2 VCPU are sold twice, "
        "0 bytes unaccounted; all sources read at 2026-11-22 03:11:07 UTC (53 s before this page was made)"
    )


def test_the_figures_of_a_healthy_host_have_no_warning_colour():
    """If nothing of a host is wasted or lost, the main figures on the host page have the normal colour."""
    calm = dataclasses.replace(SCREEN, findings=(), ledger=())
    sentence, figures, free = blocks_of(calm)
    assert free.text.startswith("Free for the scheduler now: 192 VCPU, ")
    assert sentence.text == (
        "compute-1: no causes; nothing is wasted, no capacity is sold twice, 0 bytes unaccounted; all sources read at "
        "2026-11-22 03:11:07 UTC (53 s before this page was made)"
    )
    assert [(each.name, each.amounts, each.meaning) for each in figures.figures] == [
        ("Sold twice", ("nothing",), Meaning.COUNTED),
        ("Wasted", ("nothing",), Meaning.COUNTED),
        ("Unaccounted", ("0 bytes",), Meaning.COUNTED),
    ]


def test_losses_are_question_marks_if_placement_was_not_read():
    """If Placement was not read, the host page shows "?" for the wasted amounts and all other losses."""
    sentence, figures, free, note, _ = blocks_of(UNREAD)
    assert free.text == "The free amounts are not known, because placement was not read."
    assert isinstance(figures, Figures)
    assert {each.amounts for each in figures.figures} == {("?",)}
    assert all("not known: placement was not read" in each.lines[0] for each in figures.figures)
    assert "it is not known what is wasted" in sentence.text
    assert note == Note(
        text="placement was not read: http://placement.example.org: no answer within 30 s", meaning=Meaning.UNREAD
    )


def test_losses_are_question_marks_if_no_source_was_read():
    """If no source was read, the host page shows "?" for the wasted amounts and all other losses."""
    sentence, figures, _, *notes = blocks_of(dead())
    assert {each.amounts for each in figures.figures} == {("?",)}
    assert len(notes) == 4
    assert "0 " not in sentence.text.replace("30 s", "")


def test_the_host_page_says_when_waste_was_first_seen():
    """The host page shows when an audit first saw that resources of the host are wasted."""
    _, figures, *_ = blocks_of(SCREEN)
    sold_twice, wasted, unaccounted = figures.figures
    assert sold_twice.lines == wasted.lines == ("first seen 2026-11-22 03:07:00 UTC (5 min before this page was made)",)
    assert unaccounted.lines == ()


def test_a_note_says_why_a_source_was_not_asked():
    """The agent asks Placement only if the host's provider is known. The note and the table of sources say why not."""
    why = "libvirt was not read, so this host's provider uuid is not known"
    unasked = dataclasses.replace(UNREAD.sources[0], name="placement", ok=False, error=None, asked=False)
    source = dataclasses.replace(unasked, not_asked_because=why)
    *_, note, _ = blocks_of(dataclasses.replace(UNREAD, sources=(source,)))
    assert note.text == f"placement was not read: {why}"
    assert why_unread(source) == f"not asked: {why}"
    assert why_unread(unasked) == "not asked: another source could not be read"


def test_a_note_says_how_long_a_source_has_been_unreadable():
    """If Placement was unreadable in three audits in a row, a note on the host page says how long."""
    lost = tuple(
        source if source.ok else dataclasses.replace(source, lost_since="2026-11-22T03:05:00Z", losses=3)
        for source in UNREAD.sources
    )
    *_, note, _ = blocks_of(dataclasses.replace(UNREAD, sources=lost))
    assert note.text.endswith(
        "within 30 s. Not read since 2026-11-22 03:05:00 UTC (7 min before this page was made), 3 audits in a row"
    )


def test_the_host_page_says_why_a_finding_was_not_checked():
    """If Placement was not read, the host page gives this reason for a finding that was not checked."""
    *_, table = blocks_of(SCREEN)
    rows = [[cell.text for cell in row] for row in table.rows]
    assert [(row[1], row[3]) for row in rows] == [
        ("allocation-leaked", "4 VCPU, 8 GiB RAM"),
        ("allocation-missing", "2 VCPU"),
        ("allocation-stale-move", "8 VCPU, 16 GiB RAM"),
        ("volume-foreign", "120 GiB disk"),
    ]
    assert {(row[4], row[5]) for row in rows} == {("?", "2026-11-22 03:07:00 (age 5 min)")}
    assert rows[1][6].startswith(
        "not known now whether the fault still exists: placement was not read; last checked 2026-11-22 03:"
    )
    assert {row[6] for row in rows if row[1] != "allocation-missing"} == {"checked by this audit"}


def test_the_host_page_shows_changes_made_after_the_audit():
    """If a change was made after the audit, the host page says that its numbers do not contain the change yet."""
    late = dataclasses.replace(CHANGES[0], at="2026-11-22T03:11:30Z")
    (note,) = [each for each in verdict(facts(SCREEN, changes=(CHANGES[2], late))).blocks if isinstance(each, Note)]
    named = "heal 9a11aa55 at 2026-11-22 03:11:30 UTC"
    assert f"1 change is later than this audit and not yet in the numbers: {named}." in note.text
    (table,) = journal(facts(SCREEN, changes=(CHANGES[2], late))).blocks
    assert [row[5].text for row in table.rows] == ["no: later", "yes"]


def test_no_suggested_command_removes_a_volume():
    """The first table of the host page suggests commands for the findings, but never `lvremove`."""
    *_, table = blocks_of(SCREEN)
    commands = [row[-1].text for row in table.rows]
    assert commands[0].startswith("stocktake heal --finding ")
    assert not [command for command in commands if "lvremove" in command]


def test_the_first_table_links_to_every_finding():
    """The first table of the host page has a link to the description of each finding below."""
    *_, table = blocks_of(SCREEN)
    blocks = {f"#{block.id}" for block in findings(facts(SCREEN)).blocks}
    assert {row[1].href for row in table.rows} == blocks


def test_the_host_page_shows_when_a_fault_began():
    """For a finding, the host page shows when the fault began and when an audit first saw the finding."""
    seen = SCREEN.findings[0]
    began = dataclasses.replace(seen.finding, began_at="2026-11-20T03:12:00Z", began_because="the instance was deleted")
    report = dataclasses.replace(SCREEN, findings=(dataclasses.replace(seen, finding=began),))
    *_, table = blocks_of(report)
    assert [cell.text for cell in table.rows[0][4:6]] == [
        "2026-11-20 03:12:00 (age 2 d)",
        "2026-11-22 03:07:00 (age 5 min)",
    ]
    _, figures, *_ = blocks_of(report)
    assert figures.figures[1].lines == (
        "began 2026-11-20 03:12:00 UTC (2 d before this page was made)",
        "first seen 2026-11-22 03:07:00 UTC (5 min before this page was made)",
    )
    (block,) = findings(facts(report)).blocks
    assert block.state == (
        "confirmed; began 2026-11-20 03:12:00 UTC (2 d before this page was made): the instance was deleted; first "
        "seen 2026-11-22 03:07:00 UTC (5 min before this page was made)"
    )


def test_the_host_page_shows_how_old_the_waste_is():
    """If several amounts are wasted, the host page shows when the oldest and when the newest waste was first seen."""
    first, *others = [seen for seen in SCREEN.findings if seen.finding.code in LEAKING]
    assert others
    moved = dataclasses.replace(first, first_seen_at="2026-11-20T03:07:00Z")
    found = tuple(moved if seen is first else seen for seen in SCREEN.findings)
    _, figures, *_ = verdict(facts(dataclasses.replace(SCREEN, findings=found))).blocks
    assert figures.figures[1].lines == (
        "first seen at different times, from 2026-11-20 03:07:00 UTC (2 d before this page was made) to "
        "2026-11-22 03:07:00 UTC (5 min before this page was made)",
    )
