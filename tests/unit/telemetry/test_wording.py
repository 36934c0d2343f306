"""Amounts for people, and names that a tenant chose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.report import Verdict
from agent.telemetry.wording import MEANINGS, amount, number, printable


@pytest.mark.parametrize(
    ("resource_class", "value", "text"),
    [
        ("VCPU", 16, "16 VCPU"),
        ("MEMORY_MB", 4096.0, "4096 MiB"),
        ("DISK_GB", -7332, "-7332 GiB"),
        ("DISK_GB", None, "unknown"),
        ("CUSTOM_LICENCE", 1.25, "1.25 CUSTOM_LICENCE"),
    ],
)
def test_amount_has_its_unit(resource_class, value, text):
    assert amount(resource_class, value) == text


def test_number_has_no_needless_decimals():
    assert [number(value) for value in (192.0, 19.5, 0.3333333)] == ["192", "19.5", "0.333"]


def test_every_verdict_has_a_meaning_of_its_own():
    assert set(MEANINGS) == set(Verdict)
    assert len(set(MEANINGS.values())) == len(Verdict)


@given(st.text())
def test_law_printable_text_is_one_line_without_control_characters(text):
    assert printable(text).isprintable()


def test_printable_keeps_words_in_any_script():
    assert printable("größer 東京") == "größer 東京"
    assert printable("a\x1b[2J\n") == "a\\u001b[2J\\u000a"
