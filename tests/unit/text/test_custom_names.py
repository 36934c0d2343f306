"""Names that Placement accepts, according to Placement's own patterns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement.schemas import common

from agent.text.custom_names import NAME_LIMIT, is_custom_name


@pytest.mark.parametrize("name", ["CUSTOM_A", "CUSTOM__", "CUSTOM_0", "CUSTOM_" + "A" * (NAME_LIMIT - 7)])
def test_valid_custom_resource_class_names_are_accepted(name):
    """The agent accepts names such as CUSTOM_A, as Placement's pattern for custom resource classes does."""
    assert is_custom_name(name)
    assert re.search(common.CUSTOM_RC_PATTERN, name)


@pytest.mark.parametrize(
    "name", ["", "CUSTOM_", "CUSTOM", "CUSTOM_a", "VCPU", "CUSTOM_A\n", " CUSTOM_A", "CUSTOM_" + "A" * 249]
)
def test_malformed_custom_names_are_rejected(name):
    """The agent rejects, for example, the names VCPU and CUSTOM_a and a custom name of 256 characters."""
    assert not is_custom_name(name)


@given(st.text("CUSTOM_AZ09a-\n", max_size=12), st.sampled_from(["", "CUSTOM_"]))
def test_a_custom_name_is_checked_by_placements_pattern(text, begin):
    """A custom name is valid if it matches Placement's pattern for custom traits and ends without a line break."""
    name = begin + text
    of_pattern = re.search(common.CUSTOM_TRAIT_PATTERN, name) is not None
    assert is_custom_name(name) == (of_pattern and not name.endswith("\n"))
