"""Turn the result of the demo into a JSON document, or into lines and tables for the terminal. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agent.demo.outcome import DemoRun, HostRun
from agent.demo.stories import Story
from agent.render.documents import (
    SCHEMA_VERSION,
    Document,
    audit_document,
    finding_document,
    inventory_rows,
    ledger_rows,
)
from agent.render.findings_grid import findings_grid, in_list_order
from agent.render.inventory_grid import inventory_grid
from agent.render.layout import Block, Line, Span, Tone
from agent.render.ledger_grid import ledger_grid, reading_place
from agent.render.reading_order import names_in


def demo_document(ran: DemoRun, commands: Mapping[str, str]) -> Document:
    """Return the JSON document. Its keys ``audit``, ``ledger`` and ``inventory`` are about the first host.

    The value of ``inventory`` is the inventory in Placement after the run. ``commands`` maps each host's name to the
    beginning of its ``stocktake`` command lines. The mapping is empty without --keep.
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


def demo_blocks(ran: DemoRun, commands: Mapping[str, str]) -> Iterator[Block]:
    """Yield each host's ledger, findings and inventory, then the stories. ``commands``: see demo_document."""
    for run in ran.hosts:
        yield from _host_blocks(run)
    for story in ran.stories:
        yield from _story_blocks(story, commands)
    if ran.simulated:
        yield "Simulated here"
        yield from (_bullet(what) for what in ran.simulated)
        yield ""
    if not commands:
        yield "the demo's cloud is removed; `stocktake demo --keep` keeps the cloud, to try the commands above"
    shown = sum(story.shown for story in ran.stories)
    yield f"{shown} of {len(ran.stories)} stories of this demo went as expected"


def _host_blocks(run: HostRun) -> Iterator[Block]:
    report = run.report
    names = names_in(report.ledger)
    findings = in_list_order(map(finding_document, report.findings), names)
    yield Line((Span(f"{run.name}: "), Span(report.outcome.value, Tone.DOUBTFUL)))
    yield f"provider {report.provider_uuid}"
    yield ""
    yield "Ledger: amounts according to nova (promised), the host (held) and Placement (recorded)"
    yield ledger_grid(report, sorted(report.ledger, key=reading_place))
    yield ""
    yield f"Findings ({len(findings)})"
    yield findings_grid(findings, names, report.started_at)
    yield ""
    yield "Inventory in Placement after the run"
    yield inventory_grid(inventory_rows(run.holds))
    yield ""


def _story_blocks(story: Story, commands: Mapping[str, str]) -> Iterator[Block]:
    mark = Span("shown", Tone.GOOD) if story.shown else Span("NOT SHOWN", Tone.BAD)
    yield Line((Span(f"Story {story.number} ("), mark, Span(f"): {story.title}")), hang=2)
    yield from (_bullet(sentence) for sentence in story.evidence)
    # ``whole``: do not cut or wrap this line, because the operator copies the command.
    yield Line((Span(f"  try: {_ask(story, commands)}"),), whole=True)
    yield ""


def _ask(story: Story, commands: Mapping[str, str]) -> str:
    return f"{commands.get(story.host, 'stocktake')} {story.ask}"


def _bullet(sentence: str) -> Line:
    return Line((Span(f"  - {sentence}"),), hang=4)
