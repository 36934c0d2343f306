"""The lines that each format prints for a message."""

import csv
import io
import json

from agent.cmd.watching.stream import CsvLines, Heard, JsonLines, Lines
from agent.fleet.documents import COLUMNS
from tests.rigs.fleet_hosts import broken, cell, clean, expected, seen, view


def heard(document) -> Heard:
    return Heard(cell="cell-1", document=document, seen=seen(document))


def test_text_output_shows_messages_and_missing_hosts():
    """The text output has a line for each message of a host and for each expected host without a message."""
    out = io.StringIO()
    printer = Lines(out)
    printer.message(heard(clean("a")))
    printer.missing(view(cell(expected=expected("b"))).rows[0])
    first, second = out.getvalue().splitlines()
    assert first.startswith("a clean guests=1 vcpu=4/12 ")
    assert first.endswith(" cell=cell-1")
    assert second == "b has sent no message, but is expected"


def test_json_output_has_one_line_for_each_message():
    """The JSON output has one line for each message of a host, with all keys of the message."""
    out = io.StringIO()
    printer = JsonLines(out)
    document = clean("a", key_of_a_newer_agent={"x": [1, None]})
    printer.message(heard(document))
    printer.missing(view(cell(expected=expected("b"))).rows[0])
    assert json.loads(out.getvalue()) == document
    assert out.getvalue().count("\n") == 1


def test_an_unprintable_json_message_is_reported_on_stderr(capsys):
    """A message that JSON cannot represent (for example NaN) is not printed; stderr shows the host that sent it."""
    out = io.StringIO()
    JsonLines(out).message(heard(clean("a", key_of_a_newer_agent=float("nan"))))
    assert out.getvalue() == ""
    assert "a sent a message that cannot be printed as JSON" in capsys.readouterr().err


def test_csv_output_shows_messages_and_missing_hosts():
    """The CSV output has a row for each message of a host and for each expected host without a message."""
    out = io.StringIO()
    printer = CsvLines(out)
    printer.message(heard(broken("a", worst={"code": "c", "severity": "error", "headline": 'x, "y"'})))
    printer.missing(view(cell(expected=expected("b"))).rows[0])
    head, first, second = csv.reader(io.StringIO(out.getvalue()))
    assert tuple(head) == COLUMNS
    assert (first[head.index("host")], first[head.index("worst_headline")]) == ("a", 'x, "y"')
    assert (second[head.index("condition")], second[head.index("outcome")]) == ("never", "")
