"""Wishes: only names that os-traits has, in separate sets of wanted and unwanted traits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.traits.base import Wish, known, merged, wish_of

NAMES = ("COMPUTE_NODE", "HW_CPU_X86_AVX", "COMPUTE_SOUND_MODEL_VIRTIO", "COMPUTE_NO_SUCH_THING", "CUSTOM_X")


def test_a_trait_that_is_missing_in_os_traits_is_left_as_it_is():
    answers = {"COMPUTE_NODE": True, "HW_CPU_X86_AVX": False, "COMPUTE_NO_SUCH_THING": True, "HW_NOT_THAT": False}
    assert wish_of(answers) == Wish(wanted=frozenset({"COMPUTE_NODE"}), unwanted=frozenset({"HW_CPU_X86_AVX"}))
    assert known(NAMES) == frozenset(NAMES[:3])


@given(st.dictionaries(st.sampled_from(NAMES), st.booleans()))
def test_a_trait_decided_as_true_is_added_and_one_decided_as_false_removed(answers):
    wish = wish_of(answers)
    assert wish.wanted == {name for name in NAMES[:3] if answers.get(name) is True}
    assert wish.unwanted == {name for name in NAMES[:3] if answers.get(name) is False}


def test_merging_trait_decisions_keeps_all_wanted_and_unwanted_traits():
    first, second = Wish(wanted=frozenset({"A"}), unwanted=frozenset({"B"})), Wish(unwanted=frozenset({"C"}))
    assert merged(first, second) == Wish(wanted=frozenset({"A"}), unwanted=frozenset({"B", "C"}))
    assert merged() == Wish()
