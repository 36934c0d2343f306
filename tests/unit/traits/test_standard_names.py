"""Names of standard traits that an older os-traits lacks."""

import os_traits
import pytest

from agent.traits.standard_names import NEWER, STANDARD


def test_the_list_of_standard_traits_equals_the_list_of_the_newest_os_traits():
    names = set(os_traits.get_traits())
    if "HW_NVME_WZS" not in names:
        pytest.skip("the installed os-traits is older than 3.9")
    assert names >= NEWER
    assert names == STANDARD
