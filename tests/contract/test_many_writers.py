"""Sixteen processes write to one provider: no change is lost, and almost every change is acknowledged.

This is the short form of ``python -m benchmarks.writers``, whose header describes the method. Each process changes its
own class once a second. ``STOCKTAKE_WRITERS_SECONDS`` sets the duration.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.model.placement import Inventory
from agent.placement.wire import Inventories
from benchmarks.writers import Outcome, Policy, Trial, Watch, lost, rows, servers, tried
from tests.rigs import mariadb
from tests.rigs.placement import Rest

# A slow or busy machine falls behind this schedule and needs time to catch up.
TRIAL = Trial(
    writers=16,
    seconds=float(os.environ.get("STOCKTAKE_WRITERS_SECONDS", "15")),
    period_s=1.0,
    policy=Policy.OURS,
    drain_s=180.0,
)


@pytest.fixture
def placements(tmp_path: Path) -> Iterator[tuple[Rest, ...]]:
    """Two Placement processes on one database."""
    if not mariadb.available():
        pytest.skip("needs mariadb-server-core")
    with servers(tmp_path) as both:
        yield both


def test_sixteen_concurrent_writers_lose_no_inventory_change(placements, tmp_path):
    """Sixteen writers change inventories of one provider at the same time; no acknowledged change is lost."""
    said, wrong = tried(tmp_path, placements, TRIAL)
    for row in rows(TRIAL, said, wrong):
        print(f"{row.what}: {row.measured}")  # pytest -s shows the rows
    assert wrong == []
    due, acknowledged = sum(o.due for o in said), sum(o.acknowledged for o in said)
    assert due == TRIAL.writers * int(TRIAL.seconds)
    assert acknowledged >= 0.99 * due


def outcome(name: str, first: int, last: int) -> Outcome:
    return Outcome(
        resource_class=name,
        due=1,
        acknowledged=1,
        first=first,
        last=last,
        puts=(1,),
        took_s=(0.1,),
        requests=2,
        wrong=(),
    )


def test_the_test_helper_detects_a_wrong_inventory():
    """A test lets several writers change inventories in Placement.

    Afterwards a test helper compares Placement's inventories with what the writers wrote. The helper reports each wrong
    or missing inventory.
    """
    vcpu = {"total": 64, "reserved": 2, "allocation_ratio": 4.0}
    said = (outcome("CUSTOM_WRITER_0", 3, 4), outcome("CUSTOM_WRITER_1", 2, 2))
    good = {"VCPU": vcpu, "CUSTOM_WRITER_0": {"total": 4}, "CUSTOM_WRITER_1": {"total": 2}}
    assert lost(good, said) == []
    assert len(lost(good | {"CUSTOM_WRITER_0": {"total": 2}}, said)) == 1
    assert len(lost({"VCPU": vcpu, "CUSTOM_WRITER_0": {"total": 3}}, said)) == 1
    assert len(lost(good | {"VCPU": vcpu | {"reserved": 0}}, said)) == 1


def test_the_test_helper_detects_a_vanished_or_smaller_inventory():
    """The helper that watches Placement's inventories reports each one that is gone or has a smaller total."""
    watch = Watch("CUSTOM_WRITER_0")

    def look(**totals: int) -> list[str]:
        inventories = tuple(Inventory(resource_class=name, total=total) for name, total in totals.items())
        watch.look(Inventories(generation=1, inventories=inventories))
        return watch.wrong

    assert look(CUSTOM_A=1, CUSTOM_B=5) == []
    assert look(CUSTOM_A=2, CUSTOM_B=5) == []
    assert look(CUSTOM_A=1, CUSTOM_B=5) == ["CUSTOM_WRITER_0 read CUSTOM_A 1 after 2"]
    assert look(CUSTOM_A=2)[1:] == ["CUSTOM_WRITER_0 read no CUSTOM_B"]
