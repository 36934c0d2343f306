"""The text that each command prints for people at 80 columns, as files for review, and the same text at other widths.

After an intended change, draw the files again and review the difference:
STOCKTAKE_DRAW_SCREENS=1 pytest tests/golden/test_screens.py
"""

import os
import pathlib
from dataclasses import replace

import pytest

from agent.model.plan import EMPTY_PLAN
from agent.model.report import AuditReport, Outcome
from agent.render.audit_text import audit_blocks
from agent.render.config_grid import config_grid
from agent.render.documents import audit_document, inventory_rows, report_document, trait_rows
from agent.render.draw import drawn
from agent.render.explain import explain_class, explain_consumer
from agent.render.explain_text import Detail, explanation_blocks
from agent.render.findings_grid import findings_grid, in_list_order
from agent.render.inventory_grid import diff_foot, diff_grid, difference, inventory_grid, traits_grid
from agent.render.journal_grid import journal_grid
from agent.render.layout import Block, Look
from agent.render.ledger_grid import is_differing, ledger_foot, ledger_grid
from agent.render.reading_order import names_in
from agent.render.status import last_report, status_blocks
from agent.render.storage_grid import storage_foot, storage_grid
from agent.resources import owned
from tests.rigs.screens import AT, BILLING, DELETED, SCREEN, UNREAD

FOLDER = pathlib.Path(__file__).parent / "screens"
NOW = "2026-11-22T03:11:19.000Z"
NAMES = names_in(SCREEN.ledger)


def audit(report: AuditReport) -> list[Block]:
    return list(audit_blocks(audit_document(report), names_in(report.ledger)))


def status(report: AuditReport) -> list[Block]:
    return list(status_blocks(last_report(report_document(report), "/run/stocktake/report.json", NOW, 60.0)))


def ledger(report: AuditReport, *, every: bool = True) -> list[Block]:
    rows = [row for row in report.ledger if every or is_differing(row)]
    return [ledger_grid(report, rows), *ledger_foot(report, rows)]


def diff(report: AuditReport) -> list[Block]:
    rows = [{**row, "differs": difference(row)} for row in inventory_rows(report.inventory)]
    return [diff_grid(rows), *diff_foot(rows)]


def explained(report: AuditReport, name: str, detail: Detail = Detail.BRIEF) -> list[Block]:
    return list(explanation_blocks(explain_class(report, name, owned), detail))


JOURNAL = [
    {
        "id": "3f9c0d51aa10",
        "at": AT,
        "kind": "allocations",
        "code": "allocation-leaked",
        "consumer_uuid": DELETED,
        "result": "done",
        "why": f"instance {DELETED} (old-shop) is deleted, so 4 VCPU, 8192 MiB of MEMORY_MB on this host are removed",
        "undone_by": ["77aa0b51cc20"],
        "actor": "alice (sudo), stocktake heal",
    },
    {
        "id": "77aa0b51cc20",
        "at": AT,
        "kind": "allocations",
        "code": None,
        "consumer_uuid": DELETED,
        "result": "unknown",
        "why": "undo of entry 3f9c0d51aa10",
        "undone_by": [],
        "actor": None,
    },
]
CONFIG = [
    ("DEFAULT", "cpu_allocation_ratio", None, "default"),
    (
        "DEFAULT",
        "default_log_levels",
        "amqp=WARN,boto=WARN,sqlalchemy=WARN,oslo.messaging=INFO,urllib3=WARN",
        "default",
    ),
    ("agent", "role", "observer", "/etc/stocktake/stocktake.conf"),
    ("placement", "auth_url", "https://***@keystone.example.org:5000/v3", "/etc/nova/nova.conf"),
]
DOCUMENT = audit_document(SCREEN)
SCREENS: dict[str, list[Block]] = {
    "audit": audit(SCREEN),
    "audit-placement-unread": audit(UNREAD),
    "audit-clean": audit(replace(SCREEN, outcome=Outcome.CLEAN, findings=(), gone=(), plan=EMPTY_PLAN)),
    "status": status(SCREEN),
    "findings": [findings_grid(in_list_order(DOCUMENT["findings"]), NAMES, AT)],
    "ledger": ledger(SCREEN),
    "ledger-only-differing": ledger(SCREEN, every=False),
    "ledger-placement-unread": ledger(UNREAD),
    "ledger-storage": [storage_grid(SCREEN.storage), *storage_foot(SCREEN.storage, None)],
    "inventory": [inventory_grid(inventory_rows(SCREEN.inventory))],
    "inventory-diff": diff(SCREEN),
    "inventory-diff-placement-unread": diff(UNREAD),
    "traits": [traits_grid(trait_rows(SCREEN))],
    "journal": [journal_grid(JOURNAL)],
    "config-show": [config_grid(CONFIG)],
    "config-show-option": [config_grid(CONFIG[1:2])],
    "explain-class": explained(SCREEN, "VCPU"),
    "explain-class-verbose": explained(SCREEN, "VCPU", Detail.SOURCES),
    "explain-class-disk": explained(SCREEN, "DISK_GB"),
    "explain-class-placement-unread": explained(UNREAD, "VCPU"),
    "explain-consumer": list(explanation_blocks(explain_consumer(SCREEN, BILLING, owned))),
}


@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_at_80_columns_equals_the_golden_file(name: str) -> None:
    text = drawn(SCREENS[name], Look(width=80))
    path = FOLDER / f"{name}.txt"
    if os.environ.get("STOCKTAKE_DRAW_SCREENS"):
        path.write_text(text)
    assert text == path.read_text()
