"""Names that Placement accepts, according to Placement's own patterns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement.schemas import common

from agent.text.custom_names import NAME_LIMIT, is_custom_name


@pytest.mark.parametrize("name", ["CUSTOM_A", "CUSTOM__", "CUSTOM_0", "CUSTOM_" + "A" * (NAME_LIMIT - 7)])
def test_custom_resource_class_names_that_placement_accepts_are_accepted(name):
    assert is_custom_name(name)
    assert re.search(common.CUSTOM_RC_PATTERN, name)


@pytest.mark.parametrize(
    "name", ["", "CUSTOM_", "CUSTOM", "CUSTOM_a", "VCPU", "CUSTOM_A\n", " CUSTOM_A", "CUSTOM_" + "A" * 249]
)
def test_custom_names_that_lack_the_prefix_or_are_malformed_are_rejected(name):
    assert not is_custom_name(name)


@given(st.text("CUSTOM_AZ09a-\n", max_size=12), st.sampled_from(["", "CUSTOM_"]))
def test_a_custom_name_is_valid_if_it_matches_the_pattern_in_placement(text, begin):
    """In addition, the name must not end with a newline, which Placement's pattern allows."""
    name = begin + text
    of_pattern = re.search(common.CUSTOM_TRAIT_PATTERN, name) is not None
    assert is_custom_name(name) == (of_pattern and not name.endswith("\n"))
