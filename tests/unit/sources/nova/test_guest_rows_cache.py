"""The values from rows about guests are kept while these rows are equal, whatever else changes."""

import dataclasses

from agent.sources.nova.guest_rows_cache import LastGuests
from agent.sources.nova.rows import CellRows
from tests.rigs.cell_worlds import T0

ROWS = CellRows(now=T0, services=({"id": 1},), nodes=({"id": 1},), migrations=({"id": "broken"},))


def test_changed_service_and_node_rows_do_not_discard_the_cached_instances():
    last = LastGuests()
    first = last.parsed(ROWS)
    assert first.unreadable
    assert last.parsed(dataclasses.replace(ROWS, now=None, services=(), nodes=())) is first


def test_the_instances_are_parsed_again_if_the_migration_rows_changed():
    last = LastGuests()
    first = last.parsed(ROWS)
    assert last.parsed(dataclasses.replace(ROWS, migrations=())) != first
