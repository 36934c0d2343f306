"""The text that each command prints for people at 80 columns, as files for review, and the same text at other widths.

After an intended change, draw the files again and review the difference:
STOCKTAKE_DRAW_SCREENS=1 pytest tests/golden/test_screens.py
"""

import os
import pathlib
import re
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
from agent.render.layout import Block, Look, Tone, tone_of
from agent.render.ledger_grid import is_differing, ledger_foot, ledger_grid, reading_place
from agent.render.reading_order import names_in
from agent.render.status import last_report, status_blocks
from agent.render.storage_grid import storage_foot, storage_grid
from agent.resources import owned
from tests.rigs.screens import AT, BILLING, DELETED, MANY_LEAKS, SCREEN, UNREAD

FOLDER = pathlib.Path(__file__).parent / "screens"
NOW = "2026-11-22T03:11:19.000Z"
NAMES = names_in(SCREEN.ledger)


def audit(report: AuditReport) -> list[Block]:
    return list(audit_blocks(audit_document(report), names_in(report.ledger)))


def status(report: AuditReport) -> list[Block]:
    return list(status_blocks(last_report(report_document(report), "/run/stocktake/report.json", NOW, 60.0)))


def ledger(report: AuditReport, *, every: bool = True) -> list[Block]:
    rows = sorted((row for row in report.ledger if every or is_differing(row)), key=reading_place)
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
    "audit-many-leaks": audit(MANY_LEAKS),
    "audit-clean": audit(replace(SCREEN, outcome=Outcome.CLEAN, findings=(), gone=(), plan=EMPTY_PLAN)),
    "status": status(SCREEN),
    "findings": [findings_grid(in_list_order(DOCUMENT["findings"], NAMES), NAMES, AT)],
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
def test_command_output_equals_its_golden_file(name: str) -> None:
    """What each command prints for people on a terminal of 80 columns equals a reviewed text file."""
    text = drawn(SCREENS[name], Look(width=80))
    path = FOLDER / f"{name}.txt"
    if os.environ.get("STOCKTAKE_DRAW_SCREENS"):
        path.write_text(text)
    assert text == path.read_text()


WIDTHS = (60, 80, 120, 220)
#: Lines that an operator copies, which may be longer than the terminal.
TO_COPY = ("  fix: ", " hand: ", "inspect: ", " docs: ")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The line below a table from which columns are left out; this line may be wrapped too.
LEFT_OUT = re.compile(r"left out: [^)]*\)")
# A name that the table cut, or a text that the table cut at its end.
CUT = re.compile(r"~|\u2026$")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_command_output_fits_the_terminal_width(name: str, width: int) -> None:
    """No printed line is wider than the terminal, except for lines that the operator copies, such as commands."""
    wide = [line for line in drawn(SCREENS[name], Look(width=width)).splitlines() if len(line) > width]
    assert [line for line in wide if not line.startswith(TO_COPY)] == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_a_narrow_terminal_shows_a_mark_on_each_cut_word(name: str, width: int) -> None:
    """A printed word that was cut to fit the terminal has a mark, unless it is a uuid cut to 8 digits."""
    whole = set(drawn(SCREENS[name]).split())
    short = {uuid[:8] for word in whole for uuid in UUID.findall(word)}
    words = set(LEFT_OUT.sub("", drawn(SCREENS[name], Look(width=width))).split())
    assert {word for word in words - whole - short if not CUT.search(word)} == set()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_printed_commands_are_complete_at_every_width(name: str, width: int) -> None:
    """A command that the operator should copy is never cut or wrapped, however narrow the terminal is."""
    commands = [line for line in drawn(SCREENS[name]).splitlines() if line.startswith(TO_COPY)]
    narrow = drawn(SCREENS[name], Look(width=width)).splitlines()
    assert [line for line in narrow if line.startswith(TO_COPY)] == commands


@pytest.mark.parametrize("name", SCREENS)
def test_colours_do_not_change_the_printed_text(name: str) -> None:
    plain, coloured = drawn(SCREENS[name], Look(width=80)), drawn(SCREENS[name], Look(width=80, colour=True))
    assert "\x1b" not in plain
    assert ESCAPE.sub("", coloured) == plain
    painted = set(re.findall(r"\x1b\[[0-9;]+m([^\x1b]*)\x1b\[0m", coloured))
    assert {word for word in painted if tone_of(word) is Tone.PLAIN} == set()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("name", SCREENS)
def test_command_output_fits_a_terminal_without_unicode(name: str, encoding: str) -> None:
    """On a terminal with encoding ascii or latin-1, the agent's commands print only characters of that encoding."""
    text = drawn(SCREENS[name], Look(width=80, encoding=encoding))
    text.encode(encoding)
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith(TO_COPY)] == []
