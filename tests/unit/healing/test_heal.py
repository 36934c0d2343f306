"""How heal reckons time."""

from __future__ import annotations

import dataclasses

import pytest

from agent.healing.heal import seconds_since
from agent.model.audit import AuditMemory, AuditResult
from tests.rigs import reports


@pytest.mark.parametrize(
    ("wall", "monotonic", "expected"),
    [
        ("2026-11-25T12:01:00.000Z", 1060.0, 60.0),
        ("2026-11-25T11:00:00.000Z", 1060.0, 60.0),
        ("2026-11-25T12:05:00.000Z", 1060.0, 300.0),
    ],
)
def test_heal_uses_the_clock_that_shows_the_higher_age(wall, monotonic, expected):
    """For an audit, heal uses the clock that shows the higher age, the system clock or the monotonic clock."""
    report = dataclasses.replace(reports.REPORT, started_at="2026-11-25T12:00:00.000Z", duration_ms=500.0)
    result = AuditResult(report=report, memory=AuditMemory(), began=1000.0)
    assert seconds_since(result, wall, monotonic) == expected
