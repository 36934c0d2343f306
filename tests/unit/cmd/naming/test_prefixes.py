"""Ids that the operator types whole, or as their beginning."""

import pytest

from agent.cmd.naming.prefixes import LEAST_OF_ENTRY, could_be_beginning, matches, only_match
from agent.usage_error import UsageError

ONE = "87897f25-105f-50a2-8adc-94d2fb184baa"
TWIN = "87897f25-ffff-50a2-8adc-94d2fb184baa"
OTHER = "1c2d77aa-0000-4000-8000-000000000001"


@pytest.mark.parametrize("typed", [ONE, ONE.upper(), ONE.replace("-", ""), "87897f25", "87897F25-10", "87897f25105f50"])
def test_an_id_is_found_by_its_first_8_or_more_characters(typed):
    """The operator may type a finding's id in upper or lower case, without dashes, or only its beginning."""
    assert only_match("finding", typed, (ONE, OTHER)) == ONE


def test_an_exact_id_is_found_beside_a_longer_id():
    """For the typed text abcdef0123, the id abcdef0123 is found, and not the longer id abcdef012345."""
    assert only_match("digest", "abcdef0123", ("abcdef0123", "abcdef012345")) == "abcdef0123"


def test_an_ambiguous_id_is_an_error_that_lists_the_matches():
    """Two findings have ids that begin with what the operator typed; the error message lists the two ids."""
    with pytest.raises(UsageError) as raised:
        only_match("finding", "87897f25", (TWIN, OTHER, ONE))
    assert str(raised.value) == f"finding 87897f25 is ambiguous: {ONE}, {TWIN}"


def test_the_beginning_of_an_id_has_a_minimum_length():
    """The operator must type at least 8 characters of a finding's id, and at least 4 of a journal entry's id."""
    with pytest.raises(UsageError, match=r"^finding 87897f2: the beginning of an id needs at least 8 characters$"):
        only_match("finding", "87897f2", (ONE,))
    assert only_match("entry", "3f9c", ("3f9c11aa", "77778888"), LEAST_OF_ENTRY) == "3f9c11aa"
    with pytest.raises(UsageError, match="at least 4 characters"):
        only_match("entry", "3f9", ("3f9c11aa",), LEAST_OF_ENTRY)


def test_an_empty_or_wrong_id_matches_no_finding():
    assert only_match("finding", "99999999", (ONE, OTHER)) is None
    assert only_match("finding", "zz", (ONE,)) is None
    assert only_match("finding", "", (ONE,)) is None
    assert matches("", (ONE,)) == ()


def test_the_beginning_of_a_uuid_has_at_least_8_hex_digits():
    """The text 87897f25 may be the beginning of a UUID; 8789 is too short, and billing0 is not hexadecimal."""
    assert [could_be_beginning(text) for text in ("87897f25", "87897F25-10", "8789", "web-1", "billing0")] == [
        True, True, False, False, False,
    ]  # fmt: skip
