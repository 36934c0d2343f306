"""The columns of ``stocktake findings`` that hold commands."""

from agent.cmd.commands.findings import Findings
from agent.render.documents import finding_document
from agent.render.findings_grid import COLUMNS, finding_row
from tests.rigs.screens import FOREIGN, STALE


def commands(seen):
    row = dict(zip(COLUMNS, finding_row(finding_document(seen)), strict=True))
    return row["fix"], row["inspect"], row["hand"]


def test_column_fix_has_the_heal_command_and_column_hand_the_manual_command():
    fix, inspect, hand = commands(STALE)
    assert (fix, inspect) == (f"stocktake heal --finding {STALE.finding.id[:8]}", None)
    assert hand.startswith("openstack resource provider allocation unset ")


def test_column_fix_has_no_command_that_only_inspects():
    assert commands(FOREIGN) == (None, "lvs -o +lv_tags guests/backup-by-hand", None)


def test_the_findings_command_offers_exactly_the_columns_of_the_rows():
    assert Findings.COLUMNS == COLUMNS
