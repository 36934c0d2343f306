"""Turn the result of the demo into a JSON document or into text for the terminal.

Pure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from agent.demo.outcome import DemoRun, HostRun
from agent.demo.stories import Story
from agent.model.report import AuditReport, InventoryRow, LedgerRow
from agent.render.documents import (
    SCHEMA_VERSION,
    Document,
    audit_document,
    finding_document,
    inventory_rows,
    ledger_rows,
)
from agent.render.reading_order import in_reading_order, names_in

WIDTH = 118


def demo_document(ran: DemoRun, commands: Mapping[str, str]) -> Document:
    """Return the JSON document; the keys ``audit``, ``ledger`` and ``inventory`` are about the first host.

    ``inventory`` is the inventory in Placement after the run. ``commands`` maps each host's name to the beginning of
    its ``stocktake`` command lines; the mapping is empty without --keep.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "stories": [_story(story, commands) for story in ran.stories],
        **_host(ran.hosts[0]),
        "hosts": {run.name: _host(run) for run in ran.hosts},
        "simulated": list(ran.simulated),
    }


def _host(run: HostRun) -> Document:
    return {
        "audit": audit_document(run.report),
        "ledger": ledger_rows(run.report),
        "inventory": inventory_rows(run.holds),
    }


def _story(story: Story, commands: Mapping[str, str]) -> Document:
    return {
        "number": story.number,
        "title": story.title,
        "shown": story.shown,
        "evidence": list(story.evidence),
        "ask": f"{commands.get(story.host, 'stocktake')} {story.ask}",
    }


def demo_text(ran: DemoRun, commands: Mapping[str, str]) -> str:
    """Return each host's ledger, findings and inventory, then the stories. ``commands``: see demo_document."""
    parts = [_host_text(run) for run in ran.hosts]
    parts.extend(_story_text(story, commands) for story in ran.stories)
    if ran.simulated:
        parts.append("\n".join(["Simulated here", *(line for what in ran.simulated for line in _bullet(what))]))
    shown = sum(story.shown for story in ran.stories)
    parts.append(f"{shown} of {len(ran.stories)} stories shown")
    return "\n\n".join(parts) + "\n"


def _host_text(run: HostRun) -> str:
    report = run.report
    lines = [
        f"=== {run.name}: provider {report.provider_uuid}, outcome {report.outcome.value} ===",
        "",
        "Ledger",
        *_table(_LEDGER_HEAD, (_ledger_cells(row) for row in report.ledger)),
        "",
        f"Findings ({len(report.findings)})",
        *_table(_FINDING_HEAD, _finding_rows(report)),
        "",
        "Inventory in Placement after the run",
        *_table(_INVENTORY_HEAD, (_inventory_cells(row) for row in run.holds)),
    ]
    return "\n".join(lines)


_LEDGER_HEAD = ("consumer", "name", "cause", "class", "promised", "held", "recorded", "verdict")
_FINDING_HEAD = ("severity", "code", "about", "name", "class")
_INVENTORY_HEAD = ("class", "total", "reserved", "max_unit", "ratio", "used", "free")


def _ledger_cells(row: LedgerRow) -> tuple[str, ...]:
    amounts = ("-" if amount is None else str(amount) for amount in (row.promised, row.held, row.recorded))
    name = "" if row.consumer_name == row.consumer_key else row.consumer_name
    return (row.consumer_key, name, row.cause, row.resource_class, *amounts, row.verdict.value)


def _finding_rows(report: AuditReport) -> Iterator[tuple[str, ...]]:
    names = names_in(report.ledger)
    for finding in in_reading_order(map(finding_document, report.findings), names):
        consumer = finding["consumer_uuid"] or ""
        about = consumer or finding["subject"]
        yield (finding["severity"], finding["code"], about, names.get(consumer, ""), finding["resource_class"] or "")


def _inventory_cells(row: InventoryRow) -> tuple[str, ...]:
    held = row.recorded
    if held is None:
        return ()
    used, free = ("unknown" if value is None else f"{value:g}" for value in (row.used, row.free))
    numbers = (held.total, held.reserved, held.max_unit)
    return (held.resource_class, *map(str, numbers), f"{held.allocation_ratio:g}", used, free)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [head, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return ["  " + line for line in (lines[0], " ".join("-" * width for width in widths), *lines[1:])]


def _story_text(story: Story, commands: Mapping[str, str]) -> str:
    mark = "shown" if story.shown else "NOT SHOWN"
    evidence = (line for sentence in story.evidence for line in _bullet(sentence))
    head, end = f"--- Story {story.number} ({mark}): {story.title}", f"    command to check: {_ask(story, commands)}"
    return "\n".join((head, *evidence, end))


def _ask(story: Story, commands: Mapping[str, str]) -> str:
    """Return the story's command as one line of any length, so that the operator can copy the line."""
    if story.host in commands:
        return f"{commands[story.host]} {story.ask}"
    return f"{story.ask} (on {story.host}; --keep keeps the cloud and prints the whole command)"


def _bullet(sentence: str) -> list[str]:
    """Return the wrapped lines of a bullet; no line breaks at a hyphen, so each uuid stays on one line."""
    return textwrap.wrap(sentence, WIDTH, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False)
