"""The first section: one sentence, three numbers, and each source that was not read."""

import dataclasses

from agent.pages.blocks import Figures, Meaning, Note, Paragraph
from agent.pages.host.verdict import verdict
from tests.rigs.pages import dead, facts
from tests.rigs.screens import SCREEN, UNREAD


def blocks_of(report):
    return verdict(facts(report)).blocks


def test_the_first_sentence_has_the_causes_and_amounts_and_the_age_of_the_reads():
    assert blocks_of(SCREEN)[0] == Paragraph(
        text="compute-1: 4 causes; 12 VCPU, 24576 MiB of MEMORY_MB are wasted, 2 VCPU are sold twice, "
        "0 bytes unaccounted; all sources read 53 s ago"
    )


def test_a_host_without_problems_shows_three_numbers_without_a_warning():
    calm = dataclasses.replace(SCREEN, findings=(), ledger=())
    sentence, figures = blocks_of(calm)
    assert sentence.text == (
        "compute-1: no causes; nothing is wasted, nothing is sold twice, 0 bytes unaccounted; all sources read 53 s ago"
    )
    assert [(each.name, each.amounts, each.meaning) for each in figures.figures] == [
        ("Sold twice", ("nothing",), Meaning.COUNTED),
        ("Wasted", ("nothing",), Meaning.COUNTED),
        ("Unaccounted", ("0 bytes",), Meaning.COUNTED),
    ]


def test_an_unread_source_turns_its_numbers_into_a_question_mark_and_is_named():
    sentence, figures, note = blocks_of(UNREAD)
    assert isinstance(figures, Figures)
    assert {each.amounts for each in figures.figures} == {("?",)}
    assert all("Not known: placement was not read" in each.text for each in figures.figures)
    assert "what is wasted is not known" in sentence.text
    assert note == Note(
        text="placement was not read: http://placement.example.org: no answer within 30 s", meaning=Meaning.UNREAD
    )


def test_a_host_without_any_read_source_shows_no_zero():
    sentence, figures, *notes = blocks_of(dead())
    assert {each.amounts for each in figures.figures} == {("?",)}
    assert len(notes) == 4
    assert "0 " not in sentence.text.replace("30 s", "")
