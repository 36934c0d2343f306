"""Amounts for people, and names that a tenant chose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.report import Verdict
from agent.text.wording import FEW, MEANINGS, alike, amount, cell, printable, some_of, wrapped


@pytest.mark.parametrize(
    ("resource_class", "value", "text"),
    [
        ("VCPU", 16, "16 VCPU"),
        ("MEMORY_MB", 4096.0, "4096 MiB"),
        ("DISK_GB", -7332, "-7332 GiB"),
        ("DISK_GB", None, "unknown"),
        ("CUSTOM_LICENCE", 1.25, "1.25 CUSTOM_LICENCE"),
    ],
)
def test_an_amount_is_printed_with_its_unit(resource_class, value, text):
    """An amount of MEMORY_MB is printed in MiB and an amount of DISK_GB in GiB.

    A missing amount is printed as `unknown`.
    """
    assert amount(resource_class, value) == text


@pytest.mark.parametrize(
    ("resource_class", "value", "text"),
    [("CUSTOM_PCI_10DE_1EB8", 1, "1"), ("DISK_GB", 3.5, "3.5 GiB"), ("VCPU", None, "unknown")],
)
def test_a_table_cell_shows_an_amount_without_its_class(resource_class, value, text):
    """A table cell shows `3.5 GiB` for a disk amount, `1` for a custom class and `unknown` for a missing amount."""
    assert cell(resource_class, value) == text


def test_each_result_of_a_comparison_has_its_own_explanation():
    """Each result of comparing a consumer in nova, libvirt and Placement has its own explanation."""
    assert set(MEANINGS) == set(Verdict)
    assert len(set(MEANINGS.values())) == len(Verdict)


@given(st.text())
def test_any_text_becomes_one_printable_line(text):
    assert printable(text).isprintable()


def test_letters_stay_and_control_characters_are_escaped():
    """Letters of any script are printed as they are. Control characters are printed in escaped form."""
    assert printable("größer 東京") == "größer 東京"
    assert printable("a\x1b[2J\n") == "a\\u001b[2J\\u000a"
    assert printable("\U000e0041") == "\\U000e0041"


def test_a_long_list_is_printed_as_three_items_and_a_count():
    """A list of five items is printed as `a, b, c and 2 more`."""
    assert some_of(["a", "b", "c"]) == "a, b, c"
    assert some_of(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_more_than_five_items_of_one_kind_form_a_group():
    """More than five items of one kind in a list form a group; fewer items stay separate."""
    few, many = "abcde"[:FEW], "uvwxyz"[: FEW + 1]
    mixed = [*few[:2], *many[:3], *few[2:], *many[3:]]
    found = alike(mixed, lambda one: one in many)
    assert found == (*((one,) for one in few[:2]), tuple(many), *((one,) for one in few[2:]))


@given(st.lists(st.integers(min_value=0, max_value=3)))
def test_grouping_a_list_loses_no_item_and_mixes_no_kinds(items):
    """The agent groups the similar items of a list. No item is lost, and no group has items of different kinds."""
    found = alike(list(enumerate(items)), lambda one: one[1])
    assert sorted(one for members in found for one in members) == list(enumerate(items))
    assert all(len({kind for _, kind in members}) == 1 for members in found)
    assert all(len(members) == 1 or len(members) > FEW for members in found)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_line_wrapping_does_not_split_a_name(width):
    """A long list of trait names is wrapped to 40, 80 or 200 characters, and each name stays whole."""
    names = [f"CUSTOM_TRAIT-{number}" for number in range(60)]
    told = wrapped(f"  put-traits: {', '.join(names)}", width)
    assert max(map(len, told)) <= width
    assert told[0].startswith("  put-traits: CUSTOM_TRAIT-0,")
    assert {line[:4] for line in told[1:]} == {"    "}
    assert " ".join(" ".join(told).split()) == f"put-traits: {', '.join(names)}"
