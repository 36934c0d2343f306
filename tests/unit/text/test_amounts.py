"""One format of numbers and one table of units, for findings and for operators."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.findings.base import amount_text
from agent.text.amounts import beside_its_class, number_text, requested, unit_of, with_class, with_unit


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (192.0, "192"),
        (1048576, "1048576"),
        (2.0**50, "1125899906842624"),
        (19.5, "19.5"),
        (16.1 * 24, "386.4"),
        (1.0625, "1.0625"),
        (-0.25, "-0.25"),
        (0.0001, "0.0001"),
    ],
)
def test_a_float_is_printed_without_needless_digits(number, text):
    """The float 192.0 is printed as `192`, and the product of 16.1 and 24 as `386.4`."""
    assert number_text(number) == text


@given(st.integers())
def test_an_integer_is_printed_with_all_its_digits(number):
    assert int(number_text(number)) == number


@pytest.mark.parametrize(
    ("resource_class", "beside", "unit", "full"),
    [
        ("VCPU", "8", "8 VCPU", "8 VCPU"),
        ("MEMORY_MB", "8 MiB", "8 MiB", "8 MiB of MEMORY_MB"),
        ("DISK_GB", "8 GiB", "8 GiB", "8 GiB of DISK_GB"),
        ("CUSTOM_PCI_10DE_1EB8", "8", "8 CUSTOM_PCI_10DE_1EB8", "8 CUSTOM_PCI_10DE_1EB8"),
    ],
)
def test_an_amount_is_printed_with_or_without_its_class(resource_class, beside, unit, full):
    """An amount of memory is printed as `8 MiB` or, with its class, as `8 MiB of MEMORY_MB`."""
    assert beside_its_class(resource_class, 8) == beside
    assert with_unit(resource_class, 8) == unit
    assert with_class(resource_class, 8) == amount_text(resource_class, 8) == full
    assert unit == f"8 {unit_of(resource_class)}"


@pytest.mark.parametrize(
    ("resource_class", "number", "text"),
    [
        ("PCPU", 1, "requested 1 PCPU"),
        ("DISK_GB", 1, "requested 1 GiB of DISK_GB"),
    ],
)
def test_a_requested_amount_is_printed_with_its_resource_class(resource_class, number, text):
    assert requested(resource_class, number) == text


def test_a_missing_amount_is_printed_as_the_word_nothing():
    assert amount_text("VCPU", None) == "nothing"
