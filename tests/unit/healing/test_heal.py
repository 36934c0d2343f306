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
def test_an_audit_is_no_younger_if_the_clock_is_set_back(wall, monotonic, expected):
    """If the system clock is set back, heal takes the audit's age from the monotonic clock."""
    report = dataclasses.replace(reports.REPORT, started_at="2026-11-25T12:00:00.000Z", duration_ms=500.0)
    result = AuditResult(report=report, memory=AuditMemory(), began=1000.0)
    assert seconds_since(result, wall, monotonic) == expected
