"""The nearest known name for a misspelt name."""

import pytest

from agent.text.nearest import nearest

KNOWN = ("enabled", "codes", "min_age", "max_consumers")


@pytest.mark.parametrize(("name", "found"), [("code", "codes"), ("min-age", "min_age"), ("enable", "enabled")])
def test_the_nearest_known_name_is_found_for_a_misspelt_name(name: str, found: str):
    """The agent finds the known name `enabled` for the misspelt `enable`, so that an error can suggest it."""
    assert nearest(name, KNOWN) == found


def test_no_similar_name_is_found_for_a_very_different_name():
    """The agent finds no similar name for `region` if the known names are, for example, `codes` and `enabled`."""
    assert nearest("region", KNOWN) is None
    assert nearest("codes", ()) is None
