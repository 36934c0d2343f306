"""Render an audit as text for people: outcome, sources, findings and plan. Pure.

The functions take the JSON document (documents.py) and not the report, because ``stocktake status`` has only
the report file.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from agent.render.documents import Document
from agent.render.reading_order import in_reading_order, names_in_evidence
from agent.render.record_words import record_words
from agent.text.amounts import number_text, with_class
from agent.text.wording import alike, cell, some_of, wrapped

# The width of a uuid: operators copy uuids, so a line break must not split a uuid.
LEFT_WIDTH = 36
_FRAME = 7
_LEAST_RIGHT = 30


def head_lines(audit: Document) -> Iterator[str]:
    """Yield node, outcome, role and the number of writes, then one line per source, then the notes."""
    count = len(audit["findings"])
    yield (
        f"audit of {audit['node'] or audit['host']} at {audit['started_at']}: {audit['outcome']},"
        f" {count} {'finding' if count == 1 else 'findings'}"
    )
    yield f"provider {audit['provider_uuid'] or 'unknown'}, role {audit['role']}, {_written(audit)}"
    cost = audit["placement"]
    yield (
        f"took {number_text(audit['duration_ms'])} ms, {cost['requests']} requests to Placement,"
        f" {cost['conflicts']} conflicts{_kinds(cost)}"
    )
    if audit["error"]:
        yield f"error: {audit['error']}"
    yield "sources:"
    yield from (f"  {source_line(source)}" for source in audit["sources"])
    yield from (f"  simulated: {what}" for what in audit["simulated"])
    if note := audit.get("record_note"):
        yield note
    # The report of an older agent has no notes.
    yield from (f"note: {note}" for note in audit.get("notes", ()))


def _kinds(cost: Document) -> str:
    """Return the conflicts by kind; "" if there are none, or if an older agent wrote the report without kinds."""
    kinds = cost.get("conflict_kinds") or {}
    return f" ({', '.join(f'{kind} {count}' for kind, count in kinds.items())})" if kinds else ""


def _written(audit: Document) -> str:
    planned = len(audit["plan"]["writes"])
    if audit["writes_done"]:
        return f"{audit['writes_done']} of {planned} writes done"
    return f"nothing written, {planned} writes planned" if planned else "nothing to write"


def source_line(source: Document) -> str:
    """Return ``libvirt ok, 12.5 ms``, or the source's error and the age of its last successful read."""
    took = f"{number_text(source['duration_ms'])} ms"
    if source["ok"]:
        how = ", light read" if source.get("read") == "light" else ""
        return f"{source['name']} ok, {took}{how}"
    age = source["age_s"]
    last = "never read" if age is None else f"last read {number_text(age)} s ago"
    return f"{source['name']} NOT READ after {took} ({last}): {source['error']}{_late(source)}"


def _late(source: Document) -> str:
    """Return the age of the newest service heartbeat; "" if the age is unknown, as in the report of an older agent."""
    behind = source.get("behind_s")
    if behind is None:
        return ""
    return f"; the newest heartbeat is {number_text(abs(behind))} s {'ahead' if behind < 0 else 'old'}"


def finding_table(findings: Iterable[Document], width: int) -> Iterator[str]:
    """Yield a table of ``width`` columns, one row per finding: code and subject on the left, sentences on the right."""
    right = max(width - LEFT_WIDTH - _FRAME, _LEAST_RIGHT)
    rule = f"+{'-' * (LEFT_WIDTH + 2)}+{'-' * (right + 2)}+"
    found = list(findings)
    if found:
        yield rule
    for finding in in_reading_order(found, names_in_evidence(found)):
        for one, two in itertools.zip_longest(_left(finding), _right(finding, right), fillvalue=""):
            yield f"| {one:<{LEFT_WIDTH}} | {two:<{right}} |"
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


def plan_lines(plan: Document, width: int) -> Iterator[str]:
    """Yield the plan's digest and its writes in order, then the withheld writes with reasons, at ``width`` columns.

    Equal writes to several providers become one entry, at the position of the first of these writes.
    """
    if plan["writes"]:
        yield f"plan {plan['digest'][:12]}:"
    names = {write["provider_uuid"]: write["name"] for write in plan["writes"] if write["kind"] == "create-provider"}
    for writes in alike(plan["writes"], lambda write: (write["kind"], write.get("parent_uuid"), _what(write))):
        yield from wrapped(f"  {_write_text(writes, names)}", width)
    if plan["held_back"]:
        yield "writes held back, and why:"
    for held in plan["held_back"]:
        yield from wrapped(f"  {held['what']} of {held['provider_uuid']}: {held['why']}", width)


def _write_text(writes: tuple[Document, ...], names: Mapping[str, str]) -> str:
    """Return one write, or several equal writes, in words; every amount has its unit."""
    first = writes[0]
    if len(writes) == 1:
        what = f"named {first['name']}" if first["kind"] == "create-provider" else _what(first)
        return f"{first['kind']} {_target(first)}: {what}".removesuffix(": ")
    listed = some_of([names.get(_target(write), _target(write)) for write in writes])
    return f"{first['kind']}, {len(writes)} equal writes: {listed}: {_what(first)}".removesuffix(": ")


def _target(write: Document) -> str:
    return str(write["consumer_uuid"] if write["kind"] == "put-allocations" else write["provider_uuid"])


def _what(write: Document) -> str:
    """Return the written values, without the provider or consumer that gets them."""
    words = ""
    match write:
        case {"kind": "put-inventories", "inventories": inventories}:
            words = "; ".join(map(_inventory, inventories)) or "none"
        case {"kind": "move-provider", "parent_uuid": parent}:
            words = f"below {parent}" if parent else "out of its tree"
        case {"kind": "put-traits"}:
            words = _traits(write)
        case {"kind": "put-aggregates", "aggregates": aggregates}:
            words = ", ".join(aggregates) or "none"
        case {"kind": "put-allocations", "allocations": allocations}:
            words = ", ".join(with_class(a["resource_class"], a["amount"]) for a in allocations) or "none"
        case {"node": node, "changed": changed}:
            words = record_words(node, changed)
    return words


def _traits(write: Document) -> str:
    """Return the number of traits and the changed traits, not all traits: a provider has nearly a hundred."""
    signs = {"+": write["added"], "-": write["removed"]}
    changed = ", ".join(f"{sign}{name}" for sign, names in signs.items() for name in names)
    return f"+{len(write['added'])} -{len(write['removed'])} traits, {len(write['traits'])} in all: {changed or 'none'}"


def _inventory(inventory: Document) -> str:
    name = inventory["resource_class"]
    return (
        f"{name} total {cell(name, inventory['total'])}, reserved {cell(name, inventory['reserved'])},"
        f" max_unit {inventory['max_unit']}, step_size {inventory['step_size']},"
        f" ratio {number_text(inventory['allocation_ratio'])}"
    )
