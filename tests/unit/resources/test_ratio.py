"""The ratio of an inventory: configured, kept or initial (scenarios 97 and 98)."""

import pytest

from agent.model.settings import RatioPolicy
from agent.resources.base import ratio, storable
from tests.rigs.facts import inventory, root, snapshot, view

HELD = snapshot(placement=view(provider=root(inventory("VCPU", 4, allocation_ratio=16.1))))
NEW = snapshot()


@pytest.mark.parametrize(
    ("world", "configured", "expected"),
    [(HELD, None, 16.1), (HELD, 15.9, 15.9), (NEW, None, 4.0), (NEW, 15.9, 15.9), (NEW, 1.3333333333, 1.33333)],
    ids=["s97 kept", "s97 configured", "s98 initial", "configured", "as MariaDB keeps it"],
)
def test_s97_s98_a_configured_ratio_overrides_placement(world, configured, expected):
    """An allocation ratio in nova's configuration replaces the ratio in Placement."""
    assert ratio(RatioPolicy(configured=configured, initial=4.0), world, "VCPU") == expected


@pytest.mark.parametrize("value", [4.0, 1.0, 0.9, 16.1, 1.5, 123456.0])
def test_common_allocation_ratios_stay_unchanged(value):
    """The agent rounds allocation ratios to six digits, so a common one such as 1.5 stays unchanged."""
    assert storable(value) == value
