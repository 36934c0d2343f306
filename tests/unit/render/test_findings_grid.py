"""The columns of ``stocktake findings`` that hold commands."""

from agent.cmd.commands.findings import Findings
from agent.render.documents import finding_document
from agent.render.findings_grid import COLUMNS, finding_row
from tests.rigs.screens import FOREIGN, STALE


def commands(seen):
    row = dict(zip(COLUMNS, finding_row(finding_document(seen)), strict=True))
    return row["fix"], row["inspect"], row["hand"]


def test_heal_and_manual_commands_have_separate_columns():
    """`stocktake findings` shows a heal command in column `fix` and an openstack command in column `hand`."""
    fix, inspect, hand = commands(STALE)
    assert (fix, inspect) == (f"stocktake heal --finding {STALE.finding.id[:8]}", None)
    assert hand.startswith("openstack resource provider allocation unset ")


def test_an_inspecting_command_is_not_in_column_fix():
    """`stocktake findings` shows an inspecting command such as `lvs` in column `inspect`, not in column `fix`."""
    assert commands(FOREIGN) == (None, "lvs -o +lv_tags guests/backup-by-hand", None)


def test_findings_accepts_the_columns_of_its_table():
    """The column names that `stocktake findings` accepts are exactly those of the table that it prints."""
    assert Findings.COLUMNS == COLUMNS
