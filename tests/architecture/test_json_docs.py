"""docs/reference/json.md names every key of real JSON documents, and no other key.

The first cell of a row has keys (`a`), or keys of nested objects (`a`: `b`, `c` means a.b and a.c).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.cmd.command_line.failures import error_document, failure_of
from agent.cmd.commands.base import ListCommand
from agent.cmd.registry import COMMANDS
from agent.errors import ConfigError
from agent.host_files.actor import this_actor
from agent.host_files.journal import FileJournal, Result
from agent.render import documents
from tests.rigs.commands import stocktake_here
from tests.rigs.configs import ALONE
from tests.rigs.json_documents import (
    adopt_answer,
    adopt_store_answer,
    demo_answer,
    every_change,
    explain_answers,
    full_report,
    heal_answer,
    status_answer,
    undo_answer,
)
from tests.rigs.reports import REPORT
from tests.rigs.source_tree import ROOT

# Places whose values another table documents, perhaps one of several. Further keys are in the place's own table.
CONSUMER, KINDS, STORE = "What a consumer holds", "Before and after", "A store"
OTHER_TABLES = {
    ("heal", "actions.before"): (CONSUMER, KINDS),
    ("heal", "actions.after"): (CONSUMER, KINDS),
    ("journal", "before"): (KINDS,),
    ("journal", "after"): (KINDS,),
    (KINDS, "consumer"): (CONSUMER,),
    (KINDS, "consumers.consumer"): (CONSUMER,),
    ("adopt --store", "store"): (STORE,),
    ("adopt --store", "store_before"): (STORE,),
    (KINDS, "store"): (STORE,),
    ("explain", "sources"): ("A source",),
    ("explain", "findings"): ("A finding",),
    ("explain", "inventory"): ("inventory",),
    ("explain", "consumers"): ("ledger",),
    ("explain", "rows"): ("ledger",),
    ("explain", "books.recorded"): ("A book",),
    ("explain", "books.promised"): ("A book",),
    ("explain", "books.held"): ("A book",),
    ("audit", "sources"): ("A source",),
    ("audit", "findings"): ("A finding",),
    ("audit", "plan.writes"): ("A write",),
    ("status", ""): ("audit",),
    ("status", "resource_view"): ("The resource view",),
    ("demo", "audit"): ("audit",),
    ("demo", "ledger"): ("ledger",),
    ("demo", "inventory"): ("inventory",),
    ("demo", f"hosts.{REPORT.host}"): ("demo",),
}
# Objects whose keys are names: of books, of facts of a finding, of conflicts, of hosts.
BY_NAME = {
    ("explain", "books"),
    ("explain", "unread_books"),
    ("explain", "rows.unread_books"),
    ("A finding", "facts"),
    ("audit", "placement.conflict_kinds"),
    ("demo", "hosts"),
    ("demo", "rc"),
}
# Versioned objects of nova: nova defines their keys.
OF_NOVA = {("The resource view", "numa_topology"), ("The resource view", "pci_stats")}
# Commands without a table on this page: `why` has a table elsewhere, `watch` has one in docs/messages.md, and the
# other two print no JSON.
NO_TABLE = {"report", "watch", "why", "help", "complete"}


def _tables() -> dict[str, set[str]]:
    """Return the key paths of each table, by the table's heading."""
    pieces = re.split(r"^## (.*)$", (ROOT / "docs/reference/json.md").read_text(), flags=re.MULTILINE)
    return {
        heading.strip("`"): {path for cell in re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE) for path in _cell(cell)}
        for heading, text in zip(pieces[1::2], pieces[2::2], strict=True)
    }


def _cell(cell: str) -> Iterator[str]:
    left, colon, right = cell.partition("`: `")
    for name in re.findall(r"[\w.]+", right if colon else left):
        yield from (f"{place}.{name}" for place in re.findall(r"[\w.]+", left)) if colon else (name,)


TABLES = _tables()


def _keys(value: Any, table: str, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield (table, path) for every key of a document that the table documents."""
    if isinstance(value, list):
        for one in value:
            yield from _keys(one, table, place)
    if not isinstance(value, dict) or (table, place) in OF_NOVA:
        return
    others = OTHER_TABLES.get((table, place), ())
    other = max(others, key=lambda name: len(value.keys() & TABLES[name]), default=None)
    for key, inner in value.items():
        path = f"{place}.{key}" if place else key
        if other is not None and path not in TABLES[table]:
            yield from _keys({key: inner}, other)
            continue
        if (table, place) not in BY_NAME:
            yield table, path
        yield from _keys(inner, table, path)


def _answer(folder: Path, *command: str) -> Any:
    """Return the document that the command prints when its state is in ``folder``."""
    path = folder / "stocktake.conf"
    path.write_text(ALONE.replace("[agent]", f"[agent]\nstate_dir = {folder}/state\nrun_dir = {folder}"))
    return stocktake_here("--config-file", path, *command, "-f", "json").document


def _journal(folder: Path) -> Any:
    at = "2026-11-21T12:00:00.000Z"
    journal = FileJournal(str(folder / "state"), lambda: at, actor=lambda: this_actor("stocktake heal"))
    for change in every_change():
        journal.end(journal.begin(change), Result.DONE)
    return _answer(folder, "journal")


def _columns() -> dict[str, list[dict[str, None]]]:
    """Return the columns (the keys of the rows) of every list command, with each argument that changes them."""
    found = {}
    for entry in COMMANDS:
        made = entry.load()
        if issubclass(made, ListCommand):
            command = made(None, None)
            plain = command.get_parser(entry.name).parse_args([])
            found[entry.name] = [dict.fromkeys(command.columns(plain))]
            for name in (name for name, value in vars(plain).items() if value is False):
                more = dict.fromkeys(command.columns(argparse.Namespace(**{**vars(plain), name: True})))
                heading = f"{entry.name} --{name}"
                found.setdefault(heading if heading in TABLES else entry.name, []).append(more)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """Return every key of every document, with the table that must name the key."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "state").mkdir()
    told = {
        **_columns(),
        "audit": documents.audit_document(full_report()),
        "status": status_answer(),
        "config check": _answer(folder, "config", "check", "--live"),
        "demo": demo_answer(),
        "heal": heal_answer(),
        "adopt": adopt_answer(),
        "adopt --store": adopt_store_answer(),
        "undo": undo_answer(),
        "explain": explain_answers(),
        "An error": error_document(failure_of(ConfigError("one", "two"))),
    }
    told["journal"] += _journal(folder)
    assert {entry.name for entry in COMMANDS} - NO_TABLE == told.keys() & {entry.name for entry in COMMANDS}
    plain = json.loads(json.dumps(told))
    return {pair for table, document in plain.items() for pair in _keys(document, table)}


def test_every_printed_json_key_is_documented(found: set[tuple[str, str]]) -> None:
    """docs/reference/json.md lists every key of the JSON documents that the commands print."""
    assert sorted(found - {(table, path) for table, paths in TABLES.items() for path in paths}) == []


def test_every_documented_json_key_is_printed(found: set[tuple[str, str]]) -> None:
    """Each key in docs/reference/json.md appears in the JSON output of a command."""
    assert sorted({(table, path) for table, paths in TABLES.items() for path in paths} - found) == []
