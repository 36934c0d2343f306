"""``-c`` takes the headings that the table for people has in place of the columns' names."""

from __future__ import annotations

import pytest

from agent.cmd.commands.findings import Findings
from agent.cmd.commands.inventory import Inventory
from agent.cmd.commands.journal import Journal
from agent.cmd.commands.ledger import Ledger
from agent.cmd.commands.storage_listing import COLUMNS as STORAGE
from agent.cmd.commands.traits import Traits
from agent.render import findings_grid, inventory_grid, journal_grid, ledger_grid, storage_grid

CASES = [
    (Findings, Findings.COLUMNS, findings_grid._PEOPLE),
    (Inventory, Inventory.COLUMNS, inventory_grid.inventory_grid([]).columns),
    (Journal, Journal.COLUMNS, journal_grid._COLUMNS),
    (Ledger, Ledger.COLUMNS, ledger_grid._COLUMNS),
    (Ledger, STORAGE, storage_grid._COLUMNS),
]


@pytest.mark.parametrize(("command", "columns", "shown"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_column_can_be_chosen_by_its_printed_heading(command, columns, shown):
    """The operator may pass a heading of the printed table to `-c`, in place of the column's name."""
    listing = command(None, None)
    for column in shown:
        assert listing._column(column.heading, columns) in columns, column.heading


def test_stocktake_traits_accepts_the_heading_uuid():
    """`stocktake traits -c UUID` selects the column `provider_uuid`, because the table prints UUID above it."""
    assert Traits(None, None)._column("UUID", Traits.COLUMNS) == "provider_uuid"
