"""Headlines: one printable line of at most 160 characters, cut after a word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.text.headline import MOST, fitted, short_name

UUID = "95a20332-20e6-52bf-aeae-06fd5924e001"


@given(st.text(max_size=400))
def test_a_headline_is_one_printable_line_of_limited_length(text):
    """Any text becomes a headline of one line with at most 160 printable characters."""
    line = fitted(text)
    assert len(line) <= MOST
    assert line.isprintable()


def test_a_long_headline_is_cut_after_a_word():
    """A headline that is too long is cut after a word, never within a UUID, and ends with `...`."""
    line = fitted(f"{'word ' * 27}{UUID} and more")
    assert line == f"{('word ' * 27).strip()}..."
    assert fitted(f"a {UUID}") == f"a {UUID}"


def test_a_name_is_cut_and_its_control_characters_escaped():
    """A name of 100 characters is cut to 61 characters and `...`. Control characters are printed in escaped form."""
    assert short_name("n" * 100) == "n" * 61 + "..."
    assert short_name("a\x1b[31m\u202eb") == "a\\u001b[31m\\u202eb"
