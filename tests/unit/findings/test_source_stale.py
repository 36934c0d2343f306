"""source-stale: the source of the cloud's state answered, but nothing proves that the state is current."""

from __future__ import annotations

import dataclasses

import pytest

from agent.errors import SourceStale
from agent.model.finding import Severity
from agent.model.snapshot import STATE, Reading
from tests.rigs.facts import decided, findings, settings, settled_world, snapshot, view

CODE = "source-stale"
WORDS = "the newest heartbeat of this cell's services is at least 60 s old, so nova's rows are old"


@pytest.fixture
def world():
    settled = snapshot(**settled_world())
    error = SourceStale(STATE, WORDS, heartbeat=None, behind_s=912.0)
    return dataclasses.replace(
        settled, nova=Reading(source=STATE, taken_at=settled.nova.taken_at, duration_s=0.1, error=error)
    )


def test_outdated_nova_data_is_reported(world):
    """If the newest heartbeat in nova's database is too old, the agent reports this as an error."""
    (found,) = findings(world, CODE)
    assert found.severity is Severity.ERROR
    assert found.actual == (
        f"state: {WORDS}; the agent compares no guest with nova, and does not lower the reserved amount of any class"
    )
    assert "replica" in found.remedy


def test_outdated_nova_data_is_not_called_unavailable(world):
    assert findings(world, "source-unavailable") == ()


def test_outdated_nova_data_causes_only_source_stale(world):
    """If nova's data is outdated, the agent reports the finding `source-stale` and no other finding."""
    codes = {finding.code for finding in decided(world).findings}
    assert codes == {CODE}


def test_inventories_are_written_despite_outdated_nova_data(world):
    """The agent creates the provider in Placement and writes its inventories, even if nova's data is outdated."""
    empty = dataclasses.replace(world, placement=dataclasses.replace(world.placement, value=view(providers=())))
    assert [type(write).__name__ for write in decided(empty, settings()).plan.writes][:2] == [
        "CreateProvider",
        "PutInventories",
    ]
