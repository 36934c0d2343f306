"""The values from rows about guests are kept while these rows are equal, whatever else changes."""

import dataclasses

from agent.sources.nova.guest_rows_cache import LastGuests
from agent.sources.nova.rows import CellRows
from tests.rigs.cell_worlds import T0

ROWS = CellRows(now=T0, services=({"id": 1},), nodes=({"id": 1},), migrations=({"id": "broken"},))


def test_instances_stay_cached_if_node_or_service_rows_change():
    """The agent keeps instances cached if only nova's rows of compute nodes or services change."""
    last = LastGuests()
    first = last.parsed(ROWS)
    assert first.unreadable
    assert last.parsed(dataclasses.replace(ROWS, now=None, services=(), nodes=())) is first


def test_instances_are_parsed_again_after_a_migration_change():
    """The agent parses the instances of nova's database again if a row of their migrations has changed."""
    last = LastGuests()
    first = last.parsed(ROWS)
    assert last.parsed(dataclasses.replace(ROWS, migrations=())) != first
