"""One rule for every amount of a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.pages.sizes import beside_its_class, by_the_rule, listed, size_text, with_class

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"), (512, "512 bytes"), (MIB, "1 MiB"), (512 * MIB, "512 MiB"), (GIB - 1, "1 GiB"), (GIB, "1 GiB"),
        (1536 * MIB, "1.5 GiB"), (8191 * GIB, "8191 GiB"), (8192 * GIB, "8 TiB"), (9000 * GIB, "8.8 TiB"),
        (-7332 * GIB, "-7332 GiB"), (-9000 * GIB, "-8.8 TiB"),
    ],
)  # fmt: skip
def test_a_size_is_shown_in_a_suitable_unit(size, text):
    """A size is shown in GiB. A very large size is shown in TiB, and a small size in MiB or bytes."""
    assert size_text(size) == text


def test_memory_and_disk_amounts_are_shown_in_gib():
    """A page shows MEMORY_MB 16384 as "16 GiB RAM" and DISK_GB 80 as "80 GiB disk". Other amounts have no unit."""
    amounts = {"MEMORY_MB": 16384, "CUSTOM_X": 2, "DISK_GB": 80, "VCPU": 8, "PCPU": 0}
    assert listed(amounts) == ("8 VCPU", "16 GiB RAM", "80 GiB disk", "2 CUSTOM_X")
    assert with_class("MEMORY_MB", 512) == "512 MiB RAM"
    assert beside_its_class("MEMORY_MB", 0) == "0 GiB"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Placement counts 8 VCPU, 16384 MiB of MEMORY_MB here", "Placement counts 8 VCPU, 16 GiB RAM here"),
        ("takes 120 GiB (128849018880 bytes, counted in DISK_GB)", "takes 120 GiB (counted in DISK_GB)"),
        ("a volume of 120 GiB (128849018880 bytes)", "a volume of 120 GiB"),
        ("wanted 4097 MiB, recorded 4096 MiB", "wanted 4097 MiB (4 GiB), recorded 4 GiB"),
        ("takes 128849018880 bytes", "takes 120 GiB"),
        ("takes 128849018881 bytes", "takes 128849018881 bytes (120 GiB)"),
        ("1048576 bytes, 4096 bytes", "1048576 bytes, 4096 bytes"),
        ("512 MiB, 1000 MiB, 1.2048 MiB, x4096 MiB", "512 MiB, 1000 MiB, 1.2048 MiB, x4096 MiB"),
        ("1 GiB of DISK_GB", "1 GiB disk"),
    ],
)
def test_large_amounts_in_a_text_are_shown_in_gib(text, shown):
    """A page shows 16384 MiB as 16 GiB. The exact number stays in the text if rounding would change the amount."""
    assert by_the_rule(text) == shown


@given(st.integers(1024, 10**12), st.integers(1024, 10**12))
def test_two_different_amounts_never_look_the_same(one, other):
    """A page shows two different amounts, both at least 1024 MiB, as two different texts."""
    assert (by_the_rule(f"{one} MiB") == by_the_rule(f"{other} MiB")) == (one == other)
