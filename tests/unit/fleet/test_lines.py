"""The line of one message in a pipe, and the line about a silent host."""

from agent.fleet.lines import line, missing_line
from tests.rigs.fleet_hosts import DOCUMENT, amounts, broken, cell, clean, expected, seen, view


def test_a_line_of_the_plain_watch_output_shows_each_value_with_its_label():
    assert line(seen(DOCUMENT), "") == (
        "compute-17 findings guests=1 vcpu=204/-12 memory=- disk=?/? findings=1 lost=state "
        "worst=volume-foreign leaked=?"
    )


def test_a_plain_watch_line_shows_leaked_allocations_and_the_nova_cell():
    document = broken("a", leaked={"VCPU": 8, "MEMORY_MB": 2048}, resources=amounts(3, 1536, 7))
    assert line(seen(document), "cell-2") == (
        "a findings guests=1 vcpu=4/3 memory=4/1536MiB disk=4/7GiB findings=1 lost=- worst=allocation-leaked "
        "leaked=8VCPU,2GiBRAM cell=cell-2"
    )


def test_a_plain_watch_line_shows_question_marks_after_a_crashed_audit():
    document = clean("a", outcome="crashed", findings=None, guests=None, resources=None, leaked=None)
    assert line(seen(document), "") == ("a crashed guests=? vcpu=? memory=? disk=? findings=? lost=- worst=? leaked=?")


def test_a_host_is_shown_in_one_line_without_control_characters():
    shown = line(seen(broken("a\x1b[2J\nb", outcome="x\ty", sources_lost=["\x07"], code="c\r")), "")
    assert shown.isprintable()


def test_the_line_for_a_silent_host_shows_the_seconds_since_its_last_message():
    (row,) = view(cell(seen(clean("a"), age_s=190))).rows
    assert missing_line(row) == "a is silent: no message for 190 s, one was due every 60 s"


def test_the_line_for_a_host_that_has_sent_no_message_names_its_nova_cell():
    (row,) = view(cell(expected=expected("a"), name="cell-2")).rows
    assert missing_line(row) == "a has sent no message, but is expected in cell-2"
