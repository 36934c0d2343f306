"""The line of one message in a pipe, and the line about a silent host."""

from agent.fleet.lines import line, missing_line
from tests.rigs.fleet_hosts import DOCUMENT, amounts, broken, cell, clean, expected, seen, view


def test_a_plain_line_shows_labelled_values():
    """In a pipe, `stocktake watch` prints each message as one line with values such as guests=1."""
    assert line(seen(DOCUMENT), "") == (
        "compute-17 findings guests=1 vcpu=204/-12 memory=- disk=?/? findings=1 lost=state "
        "worst=volume-foreign leaked=?"
    )


def test_a_plain_line_shows_leaked_amounts_and_the_cell():
    """In a pipe, a line of `stocktake watch` shows the host's leaked amounts and the name of its nova cell."""
    document = broken("a", leaked={"VCPU": 8, "MEMORY_MB": 2048}, resources=amounts(3, 1536, 7))
    assert line(seen(document), "cell-2") == (
        "a findings guests=1 vcpu=4/3 memory=4/1536MiB disk=4/7GiB findings=1 lost=- worst=allocation-leaked "
        "leaked=8VCPU,2GiBRAM cell=cell-2"
    )


def test_a_plain_line_marks_values_unknown_after_a_crash():
    """After a crashed audit, the host's line of `stocktake watch` shows `?` for guests, amounts and findings."""
    document = clean("a", outcome="crashed", findings=None, guests=None, resources=None, leaked=None)
    assert line(seen(document), "") == ("a crashed guests=? vcpu=? memory=? disk=? findings=? lost=- worst=? leaked=?")


def test_a_plain_line_has_no_control_characters():
    """A host name or finding code with control characters or line breaks is printed escaped, in a single line."""
    shown = line(seen(broken("a\x1b[2J\nb", outcome="x\ty", sources_lost=["\x07"], code="c\r")), "")
    assert shown.isprintable()


def test_a_silent_host_has_a_line_with_its_silent_seconds():
    """In a pipe, `stocktake watch` prints for a silent host how many seconds ago its last message came."""
    (row,) = view(cell(seen(clean("a"), age_s=190))).rows
    assert missing_line(row) == "a is silent: no message for 190 s, one was due every 60 s"


def test_the_line_of_an_unseen_host_shows_its_cell():
    """In a pipe, `stocktake watch` prints the nova cell of an expected host that has sent no message."""
    (row,) = view(cell(expected=expected("a"), name="cell-2")).rows
    assert missing_line(row) == "a has sent no message, but is expected in cell-2"
