"""Names of standard traits that an older os-traits lacks."""

import os_traits
import pytest

from agent.traits.standard_names import NEWER, STANDARD


def test_the_standard_traits_equal_those_of_os_traits():
    """The agent's list of standard traits equals the list of the library os-traits, version 3.9 or later."""
    names = set(os_traits.get_traits())
    if "HW_NVME_WZS" not in names:
        pytest.skip("the installed os-traits is older than 3.9")
    assert names >= NEWER
    assert names == STANDARD
