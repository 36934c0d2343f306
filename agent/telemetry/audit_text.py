"""Write an audit for people: how it ended, what could be read, the findings, the plan. Pure.

Works on the document (documents.py) and not on the report, since ``status`` has
nothing but the report file.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from agent.telemetry.documents import Document
from agent.telemetry.reading_order import in_reading_order, names_in_evidence
from agent.telemetry.wording import amount, number

# A uuid fits: what an operator copies must not be broken over two lines.
LEFT_WIDTH = 36
_FRAME = 7
_LEAST_RIGHT = 30


def head_lines(audit: Document) -> Iterator[str]:
    """Node, outcome, role and what was written; then one line a source."""
    count = len(audit["findings"])
    yield (
        f"audit of {audit['node'] or audit['host']} at {audit['started_at']}: {audit['outcome']},"
        f" {count} {'finding' if count == 1 else 'findings'}"
    )
    yield f"provider {audit['provider_uuid'] or 'unknown'}, role {audit['role']}, {_written(audit)}"
    cost = audit["placement"]
    yield (
        f"took {number(audit['duration_ms'])} ms, {cost['requests']} requests to Placement,"
        f" {cost['conflicts']} conflicts"
    )
    if audit["error"]:
        yield f"error: {audit['error']}"
    yield "sources:"
    yield from (f"  {source_line(source)}" for source in audit["sources"])
    yield from (f"  simulated: {what}" for what in audit["simulated"])


def _written(audit: Document) -> str:
    planned = len(audit["plan"]["writes"])
    if audit["writes_done"]:
        return f"{audit['writes_done']} of {planned} writes done"
    return f"nothing written, {planned} writes planned" if planned else "nothing to write"


def source_line(source: Document) -> str:
    """``libvirt ok, 12.5 ms``, or what is wrong and since when."""
    took = f"{number(source['duration_ms'])} ms"
    if source["ok"]:
        return f"{source['name']} ok, {took}"
    age = source["age_s"]
    last = "never read" if age is None else f"last read {number(age)} s ago"
    return f"{source['name']} NOT READ after {took} ({last}): {source['error']}"


def finding_table(findings: Iterable[Document], width: int) -> Iterator[str]:
    """One row a finding, fitted to ``width`` columns: what and whom on the left, in words on the right."""
    right = max(width - LEFT_WIDTH - _FRAME, _LEAST_RIGHT)
    rule = f"+{'-' * (LEFT_WIDTH + 2)}+{'-' * (right + 2)}+"
    found = list(findings)
    rows = in_reading_order(found, names_in_evidence(found))
    if rows:
        yield rule
    for finding in rows:
        yield from _row(list(_left(finding)), list(_right(finding, right)), right)
        yield rule


def _left(finding: Document) -> Iterator[str]:
    yield from textwrap.wrap(finding["code"], LEFT_WIDTH)
    yield f"{finding['severity']}, {'confirmed' if finding['confirmed'] else 'not confirmed yet'}"
    about = finding["consumer_uuid"] or finding["subject"] or finding["provider_uuid"] or ""
    yield from textwrap.wrap(about, LEFT_WIDTH)
    if finding["resource_class"]:
        yield finding["resource_class"]


def _right(finding: Document, width: int) -> Iterator[str]:
    for name in ("expected", "actual", "remedy"):
        yield from textwrap.wrap(f"{name}: {finding[name]}", width, subsequent_indent="  ")


def _row(left: list[str], right: list[str], width: int) -> Iterator[str]:
    for number_ in range(max(len(left), len(right))):
        one = left[number_] if number_ < len(left) else ""
        two = right[number_] if number_ < len(right) else ""
        yield f"| {one:<{LEFT_WIDTH}} | {two:<{width}} |"


def plan_lines(plan: Document) -> Iterator[str]:
    """Writes in order with the plan's digest, then what is held back and why."""
    if plan["writes"]:
        yield f"plan {plan['digest'][:12]}:"
        yield from (f"  {write_line(write)}" for write in plan["writes"])
    if plan["held_back"]:
        yield "held back:"
        yield from (f"  {held['what']} of {held['provider_uuid']}: {held['why']}" for held in plan["held_back"])


def write_line(write: Document) -> str:
    """One write in words, every amount with its unit."""
    match write["kind"]:
        case "create-provider":
            what = f"named {write['name']}"
        case "put-inventories":
            what = "; ".join(_inventory(inventory) for inventory in write["inventories"]) or "none"
        case "put-traits":
            what = ", ".join(write["traits"]) or "none"
        case "put-aggregates":
            what = ", ".join(write["aggregates"]) or "none"
        case _:
            what = ""
    return f"{write['kind']} {write['provider_uuid']}: {what}".removesuffix(": ")


def _inventory(inventory: Document) -> str:
    name = inventory["resource_class"]
    return (
        f"{name} total {amount(name, inventory['total'])}, reserved {amount(name, inventory['reserved'])},"
        f" max_unit {inventory['max_unit']}, step_size {inventory['step_size']},"
        f" ratio {number(inventory['allocation_ratio'])}"
    )
