"""How lines are drawn: wrapped between words, with phrases kept together, and without anything a terminal obeys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.render.draw import drawn
from agent.render.layout import Column, Grid, Kind, Line, Look, Span, Tone, copyable, labelled, line, toned
from tests.rigs.screens import shown


def test_the_rest_of_a_wrapped_line_is_indented():
    assert shown([line("one two three four", hang=2)], 9) == ["one two", "  three", "  four"]
    assert shown(["  plain text goes on"], 12) == ["  plain text", "    goes on"]


def test_a_word_longer_than_the_line_is_not_broken():
    assert shown(["a /very/long/path/that/does/not/fit b"], 12) == ["a", "  /very/long/path/that/does/not/fit", "  b"]


@pytest.mark.parametrize(
    "phrase",
    [
        "`stocktake heal --plan x`",
        '"stocktake why"',
        "[lvm] foreign_volumes",
        "[state] source = conductor",
        "--finding 87897f25",
        "allocation-leaked [87897f25]",
        "16384 MiB",
        "confirmed, 4 min",
        "0 -> 512",
        "min_unit 1",
    ],
)
def test_commands_options_and_amounts_are_not_split(phrase):
    """A command in quotes, an option with its value, or an amount with its unit is never split between two lines."""
    for width in range(10, 60):
        text = shown([f"some words before {phrase} and some words after"], width)
        assert sum(phrase in part for part in text) == 1


def test_a_command_to_copy_stays_on_one_line():
    """A command that the operator may copy stays on one line, even if it is wider than the terminal."""
    assert shown([copyable("fix", "stocktake heal " * 9), labelled("how", "by hand and slowly")], 20) == [
        f"  fix: {'stocktake heal ' * 9}".rstrip(),
        "  how: by hand and",
        "       slowly",
    ]


def test_words_are_coloured_only_if_colours_are_on():
    said = [line(toned("error", "ERROR"), " of ", toned("anything"))]
    assert drawn(said) == "ERROR of anything\n"
    assert drawn(said, Look(colour=True)) == "\x1b[1;31mERROR\x1b[0m of anything\n"


def test_a_wrapped_line_keeps_the_colours_of_its_words():
    said = [Line((Span("some words and "), Span("unknown", Tone.UNKNOWN)), hang=2)]
    assert drawn(said, Look(width=12, colour=True)) == "some words\n  and\n  \x1b[35munknown\x1b[0m\n"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("utf-8", "caf\u00e9 \U0001f600"), ("latin-1", "caf\u00e9 \\U0001f600"), ("ascii", "caf\\xe9 \\U0001f600")],
)
def test_columns_align_with_escaped_characters(encoding, text):
    """If the terminal's encoding lacks a character, the table shows an escape and its columns stay aligned."""
    grid = Grid(
        columns=(Column("a", "A", Kind.NAME), Column("b", "B")), rows=(("caf\u00e9 \U0001f600", "b"), ("", "b"))
    )
    _, first, second = drawn([grid], Look(encoding=encoding)).splitlines()
    assert first == f"{text}  b"
    assert len(second) == len(first) + (1 if encoding == "utf-8" else 0), "an emoji takes two columns"


@given(st.text(), st.sampled_from([None, 8, 40]), st.booleans())
def test_no_terminal_control_character_is_printed(text, width, colour):
    """A text from another source may contain control characters; the agent prints none of them to the terminal."""
    grid = Grid(columns=(Column("a", "A", Kind.NAME), Column("b", "B", Kind.TEXT)), rows=((text, text),))
    look = Look(width=width, colour=colour)
    for part in drawn([text, line(text), copyable("fix", text), grid], look).split("\n"):
        assert part.isprintable()
