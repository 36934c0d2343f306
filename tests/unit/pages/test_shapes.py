"""Texts in pictures: estimated widths, cut texts, and visible control characters."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.pages.shapes import fitted, label, number, text_width


@given(st.text(max_size=300), st.floats(0, 900))
def test_shortened_text_fits_the_given_width(text, width):
    """A text in a picture is shortened to the given width, and contains only printable characters."""
    assert text_width(fitted(text, width)) <= width
    assert fitted(text, width).isprintable()


def test_only_a_text_wider_than_its_box_is_shortened():
    """In a picture, "web-1" fits into its box and stays as it is. A longer name is cut and ends in "..."."""
    assert fitted("web-1", 100) == "web-1"
    assert fitted("a-very-long-name", 60) == "a-v..."


def test_a_wide_character_is_as_wide_as_the_font_size():
    """The width of a text in a picture is estimated: a Chinese character is as wide as the font size."""
    assert text_width("\u5b57", 14) == 14
    assert text_width(string.ascii_letters, 10) == pytest.approx(52 * 6.2)


def test_a_label_shows_control_characters_as_escapes():
    assert label("a\x1b[2J", 0, 10).text == "a\\u001b[2J"


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (12.3456, "12.35"), (1234567.0, "1234567"), (-0.001, "0")])
def test_a_coordinate_has_at_most_two_decimals(value: float, text: str):
    """A coordinate in a picture is written with at most two decimals: 12.3456 becomes 12.35."""
    assert number(value).removeprefix("-") == text
