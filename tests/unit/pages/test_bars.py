"""A bar's segments are in the order of their parts, never overlap, and together are as wide as the bar."""

import itertools

from hypothesis import assume, given
from hypothesis import strategies as st

from agent.pages.bars import LEAST, Part, drawn, merged, names, segments
from agent.pages.blocks import Meaning
from agent.pages.shapes import text_width

PARTS = st.lists(
    st.builds(
        Part,
        name=st.text(max_size=40),
        meaning=st.sampled_from(Meaning),
        amount=st.one_of(st.just(0), st.integers(1, 2**62)),
    ),
    max_size=15,
)


@given(PARTS, st.floats(0, 800), st.floats(0, 960))
def test_the_segments_of_a_bar_fill_its_width(parts, left, width):
    """The segments of a bar on a page are side by side, without overlap, and together as wide as the bar."""
    found = segments(parts, left, width)
    shown = [part for part in parts if part.amount]
    if not shown or width <= 0:
        assert found == ()
        return
    assert [segment.part for segment in found] == shown
    edge = left
    for segment in found:
        assert abs(segment.left - edge) < 1e-6
        assert segment.width >= 0
        edge = segment.left + segment.width
    assert abs(edge - left - width) < 1e-6


@given(PARTS, st.floats(200, 960))
def test_every_bar_segment_is_wide_enough_to_be_seen(parts, width):
    assert all(segment.width >= LEAST - 1e-6 for segment in segments(parts, 0, width))


@given(PARTS, st.floats(200, 960))
def test_a_larger_amount_has_an_equal_or_wider_segment(parts, width):
    """In a bar on a page, a larger amount has a segment at least as wide as that of a smaller amount."""
    found = sorted(segments(parts, 0, width), key=lambda segment: segment.part.amount)
    assert all(one.width <= other.width + 1e-6 for one, other in itertools.pairwise(found))


@given(PARTS, st.floats(0, 0.2))
def test_merged_parts_of_a_bar_keep_their_total_amount(parts, least):
    """If small parts of the same kind are merged in a bar, their total amount stays the same."""

    def sums(listed):
        return {meaning: sum(part.amount for part in listed if part.meaning is meaning) for meaning in Meaning}

    assert sums(merged(parts, least)) == sums(parts)


def test_small_parts_of_the_same_kind_become_one_part():
    """A bar shows five very small volumes of the same kind as one part that contains all five names."""
    small = [Part(name=f"v{n}", meaning=Meaning.FOREIGN, amount=1) for n in range(5)]
    large = Part(name="instance", meaning=Meaning.COUNTED, amount=10_000)
    assert [(part.name, part.amount) for part in merged([large, *small], 0.005)] == [
        ("instance", 10_000),
        ("v0, v1, v2, v3, v4", 5),
    ]


@given(PARTS, st.floats(200, 960))
def test_a_name_in_a_bar_segment_fits_into_the_segment(parts, width):
    """A bar chart has a name on a segment only if the segment is wide enough for the name."""
    found = segments(parts, 0, width)
    labels = [shape for shape in names(found, 0, 0.08 * width) if shape.tag == "text"]
    for shape in labels:
        middle = float(dict(shape.attributes)["x"])
        half = text_width(shape.text) / 2
        assert any(one.left <= middle - half + 1 and middle + half <= one.left + one.width + 1 for one in found), shape


@given(PARTS)
def test_the_name_on_a_patterned_segment_has_a_plain_background(parts):
    """A name on a patterned segment of a bar is readable, because a plain rectangle is drawn behind the name."""
    assume(any(part.meaning is Meaning.FOREIGN and part.amount for part in parts))
    for segment in segments(parts, 0, 960):
        shapes = list(names([segment], 0, 0))
        if shapes and segment.part.meaning not in {Meaning.COUNTED, Meaning.WRONG}:
            assert [dict(shape.attributes).get("class") for shape in shapes] == ["plate", None]


def test_bar_segments_have_a_gap_between_them():
    parts = [Part(name=name, meaning=Meaning.COUNTED, amount=1) for name in "ab"]
    first, second = drawn(segments(parts, 0, 100), 0, ["one", "two"], gap=2)
    assert dict(first.attributes)["width"] == "48"
    assert dict(second.attributes)["x"] == "50"
    assert [shape.children[0].text for shape in (first, second)] == ["one", "two"]
