"""How lines are drawn: wrapped between words, with phrases kept together, and without anything a terminal obeys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.render.draw import drawn
from agent.render.layout import Column, Grid, Kind, Line, Look, Span, Tone, copyable, labelled, line, toned
from tests.rigs.screens import shown


def test_a_line_is_wrapped_with_its_hanging_indent():
    assert shown([line("one two three four", hang=2)], 9) == ["one two", "  three", "  four"]
    assert shown(["  plain text goes on"], 12) == ["  plain text", "    goes on"]


def test_a_word_that_is_longer_than_the_line_is_not_broken():
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
def test_a_phrase_that_must_stay_together_is_never_broken_over_two_lines(phrase):
    for width in range(10, 60):
        text = shown([f"some words before {phrase} and some words after"], width)
        assert sum(phrase in part for part in text) == 1


def test_a_long_command_for_copying_stays_on_one_line_but_other_text_is_wrapped():
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
def test_columns_are_aligned_even_if_characters_cannot_be_encoded(encoding, text):
    grid = Grid(
        columns=(Column("a", "A", Kind.NAME), Column("b", "B")), rows=(("caf\u00e9 \U0001f600", "b"), ("", "b"))
    )
    _, first, second = drawn([grid], Look(encoding=encoding)).splitlines()
    assert first == f"{text}  b"
    assert len(second) == len(first) + (1 if encoding == "utf-8" else 0), "an emoji takes two columns"


@given(st.text(), st.sampled_from([None, 8, 40]), st.booleans())
def test_no_printed_text_contains_a_terminal_control_character(text, width, colour):
    grid = Grid(columns=(Column("a", "A", Kind.NAME), Column("b", "B", Kind.TEXT)), rows=((text, text),))
    look = Look(width=width, colour=colour)
    for part in drawn([text, line(text), copyable("fix", text), grid], look).split("\n"):
        assert part.isprintable()
