"""thin-pool-filling: data and metadata, each by itself."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.units import GIB
from tests.rigs.facts import findings, lvm_settings
from tests.rigs.thin_pools import pool_world

CODE = "thin-pool-filling"


@pytest.mark.parametrize(
    ("percent", "severity", "told"),
    [
        (80.0, Severity.WARNING, 80),
        (84.99, Severity.WARNING, 80),
        (94.99, Severity.WARNING, 90),
        (95.0, Severity.ERROR, 95),
        (100.0, Severity.ERROR, 100),
    ],
)
def test_a_filling_pool_is_told_in_steps(percent: float, severity: Severity, told: int) -> None:
    for part, size_bytes in (("data", 50 * GIB), ("metadata", GIB)):
        (found,) = findings(pool_world(10, **{part: percent}), CODE, lvm_settings())
        assert (found.subject, found.severity) == (f"vg0/tpool {part}", severity)
        assert found.actual == f"at least {told} % of its {size_bytes} bytes are used"
        assert found.resource_class == "DISK_GB"


def test_data_and_metadata_are_two_findings() -> None:
    found = findings(pool_world(10, data=85.0, metadata=97.0), CODE, lvm_settings())
    assert {(one.subject, one.severity) for one in found} == {
        ("vg0/tpool data", Severity.WARNING),
        ("vg0/tpool metadata", Severity.ERROR),
    }


@pytest.mark.parametrize("percent", [None, 0.0, 79.99])
def test_what_is_not_known_or_not_full_is_no_finding(percent: float | None) -> None:
    assert findings(pool_world(10, data=percent, metadata=percent), CODE, lvm_settings()) == ()
