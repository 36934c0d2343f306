"""Wishes: only names that os-traits has, in separate sets of wanted and unwanted traits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.traits.base import Wish, known, merged, wish_of

NAMES = ("COMPUTE_NODE", "HW_CPU_X86_AVX", "COMPUTE_SOUND_MODEL_VIRTIO", "COMPUTE_NO_SUCH_THING", "CUSTOM_X")


def test_a_trait_that_is_missing_in_os_traits_is_left_as_it_is():
    """The agent neither sets nor removes a trait that the library os-traits does not contain."""
    answers = {"COMPUTE_NODE": True, "HW_CPU_X86_AVX": False, "COMPUTE_NO_SUCH_THING": True, "HW_NOT_THAT": False}
    assert wish_of(answers) == Wish(wanted=frozenset({"COMPUTE_NODE"}), unwanted=frozenset({"HW_CPU_X86_AVX"}))
    assert known(NAMES) == frozenset(NAMES[:3])


@given(st.dictionaries(st.sampled_from(NAMES), st.booleans()))
def test_supported_traits_are_set_and_unsupported_ones_removed(answers):
    """The agent sets a standard trait that the host supports, and removes a standard trait that it does not support."""
    wish = wish_of(answers)
    assert wish.wanted == {name for name in NAMES[:3] if answers.get(name) is True}
    assert wish.unwanted == {name for name in NAMES[:3] if answers.get(name) is False}


def test_merged_trait_decisions_keep_all_traits():
    """Two decisions about traits are merged into one with every trait to set and every trait to remove."""
    first, second = Wish(wanted=frozenset({"A"}), unwanted=frozenset({"B"})), Wish(unwanted=frozenset({"C"}))
    assert merged(first, second) == Wish(wanted=frozenset({"A"}), unwanted=frozenset({"B", "C"}))
    assert merged() == Wish()
