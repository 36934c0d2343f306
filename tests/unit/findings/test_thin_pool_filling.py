"""thin-pool-filling: data and metadata, each on its own."""

from __future__ import annotations

import pytest

from agent.books.confirm import evidence_digest
from agent.model.finding import Severity
from agent.model.units import GIB
from tests.rigs.facts import findings, lvm_settings
from tests.rigs.thin_pools import pool_world

CODE = "thin-pool-filling"


@pytest.mark.parametrize(
    ("percent", "severity"),
    [(80.0, Severity.WARNING), (94.99, Severity.WARNING), (95.0, Severity.ERROR), (100.0, Severity.ERROR)],
)
def test_the_fill_level_of_a_thin_pool_decides_the_severity(percent: float, severity: Severity) -> None:
    """The finding about an LVM thin pool is a warning from 80 percent on, and an error from 95 percent on."""
    for part, size_bytes in (("data", 50 * GIB), ("metadata", GIB)):
        (found,) = findings(pool_world(10, **{part: percent}), CODE, lvm_settings())
        assert (found.subject, found.severity) == (f"vg0/tpool {part}", severity)
        assert found.actual.startswith(f"at least 80 % of the pool's {size_bytes} bytes for {part} are used")
        assert found.resource_class == "DISK_GB"


def test_a_fuller_thin_pool_keeps_its_finding() -> None:
    """The finding about an LVM thin pool keeps its ID and text while the pool fills from 80 to 100 percent."""
    worlds = [pool_world(10, data=percent) for percent in (80.0, 84.99, 85.01, 94.99, 95.01, 100.0)]
    found = [findings(world, CODE, lvm_settings())[0] for world in worlds]
    assert len({(one.id, one.actual, evidence_digest(one)) for one in found}) == 1


def test_data_and_metadata_of_a_thin_pool_are_two_findings() -> None:
    """If the data and the metadata of an LVM thin pool are both nearly full, the agent reports two findings."""
    found = findings(pool_world(10, data=85.0, metadata=97.0), CODE, lvm_settings())
    assert {(one.subject, one.severity) for one in found} == {
        ("vg0/tpool data", Severity.WARNING),
        ("vg0/tpool metadata", Severity.ERROR),
    }


@pytest.mark.parametrize("percent", [None, 0.0, 79.99])
def test_a_thin_pool_below_80_percent_is_not_reported(percent: float | None) -> None:
    """The agent reports no LVM thin pool that is less than 80 percent full or has an unknown fill level."""
    assert findings(pool_world(10, data=percent, metadata=percent), CODE, lvm_settings()) == ()
