"""The nearest known name for a misspelt name."""

import pytest

from agent.text.nearest import nearest

KNOWN = ("enabled", "codes", "min_age", "max_consumers")


@pytest.mark.parametrize(("name", "found"), [("code", "codes"), ("min-age", "min_age"), ("enable", "enabled")])
def test_the_most_similar_known_name_is_found_for_a_misspelt_name(name: str, found: str):
    assert nearest(name, KNOWN) == found


def test_no_similar_name_is_found_if_all_known_names_are_too_different():
    assert nearest("region", KNOWN) is None
    assert nearest("codes", ()) is None
