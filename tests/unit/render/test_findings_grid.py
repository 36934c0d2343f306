"""The columns of ``stocktake findings`` that hold commands."""

from agent.cmd.commands.findings import Findings
from agent.render.documents import finding_document
from agent.render.findings_grid import COLUMNS, finding_row
from tests.rigs.screens import FOREIGN, STALE


def commands(seen):
    row = dict(zip(COLUMNS, finding_row(finding_document(seen)), strict=True))
    return row["fix"], row["inspect"], row["hand"]


def test_heal_commands_and_manual_commands_appear_in_separate_columns():
    fix, inspect, hand = commands(STALE)
    assert (fix, inspect) == (f"stocktake heal --finding {STALE.finding.id[:8]}", None)
    assert hand.startswith("openstack resource provider allocation unset ")


def test_the_fix_column_never_contains_a_command_that_only_inspects():
    assert commands(FOREIGN) == (None, "lvs -o +lv_tags guests/backup-by-hand", None)


def test_the_findings_command_declares_the_same_columns_as_its_table():
    assert Findings.COLUMNS == COLUMNS
