"""Ids that the operator types whole, or as their beginning."""

import pytest

from agent.cmd.naming.prefixes import LEAST_OF_ENTRY, could_be_beginning, matches, only_match
from agent.usage_error import UsageError

ONE = "87897f25-105f-50a2-8adc-94d2fb184baa"
TWIN = "87897f25-ffff-50a2-8adc-94d2fb184baa"
OTHER = "1c2d77aa-0000-4000-8000-000000000001"


@pytest.mark.parametrize("typed", [ONE, ONE.upper(), ONE.replace("-", ""), "87897f25", "87897F25-10", "87897f25105f50"])
def test_an_id_is_found_by_the_whole_id_or_by_its_first_8_or_more_characters(typed):
    assert only_match("finding", typed, (ONE, OTHER)) == ONE


def test_a_whole_id_is_found_even_if_it_is_the_prefix_of_another_id():
    assert only_match("digest", "abcdef0123", ("abcdef0123", "abcdef012345")) == "abcdef0123"


def test_a_prefix_that_matches_several_ids_is_an_error_that_lists_these_ids():
    with pytest.raises(UsageError) as raised:
        only_match("finding", "87897f25", (TWIN, OTHER, ONE))
    assert str(raised.value) == f"finding 87897f25 is ambiguous: {ONE}, {TWIN}"


def test_an_id_prefix_needs_8_characters_and_a_journal_entry_prefix_needs_4():
    with pytest.raises(UsageError, match=r"^finding 87897f2: the beginning of an id needs at least 8 characters$"):
        only_match("finding", "87897f2", (ONE,))
    assert only_match("entry", "3f9c", ("3f9c11aa", "77778888"), LEAST_OF_ENTRY) == "3f9c11aa"
    with pytest.raises(UsageError, match="at least 4 characters"):
        only_match("entry", "3f9", ("3f9c11aa",), LEAST_OF_ENTRY)


def test_an_empty_or_unrelated_prefix_selects_no_id():
    assert only_match("finding", "99999999", (ONE, OTHER)) is None
    assert only_match("finding", "zz", (ONE,)) is None
    assert only_match("finding", "", (ONE,)) is None
    assert matches("", (ONE,)) == ()


def test_a_uuid_prefix_needs_at_least_8_hexadecimal_digits():
    assert [could_be_beginning(text) for text in ("87897f25", "87897F25-10", "8789", "web-1", "billing0")] == [
        True, True, False, False, False,
    ]  # fmt: skip
