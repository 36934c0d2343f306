"""Describe an audit in words for the operator: outcome, sources, findings and plan. Pure: no I/O.

The functions take the audit's JSON document (documents.py) and not an AuditReport, because ``stocktake status`` has
only the report file, which is JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agent.model.finding import GoneReason
from agent.model.report import Outcome
from agent.model.settings import Role
from agent.model.snapshot import PLACEMENT
from agent.render.documents import Document
from agent.render.finding_text import counted, finding_blocks, unknown_lines
from agent.render.layout import Block, Line, Span, copyable, line, toned
from agent.render.record_words import record_words
from agent.text.amounts import number_text, with_class
from agent.text.wording import alike, cell, some_of


def audit_blocks(audit: Document, names: Mapping[str, str]) -> Iterator[Block]:
    """Yield all text of ``stocktake audit``; ``names`` maps consumers' uuids to names."""
    yield from head_lines(audit, audit["started_at"])
    yield from finding_blocks(audit["findings"], names, audit["started_at"])
    yield from simulated_lines(audit)
    yield from gone_lines(audit)
    yield from plan_lines(audit["plan"], audit["writes_done"] if audit["published"] else 0)
    yield from _how_to_write(audit)


def _how_to_write(audit: Document) -> Iterator[Block]:
    """Yield the command that carries out the plan, if the audit was a dry run and the agent's role allows writes."""
    tried = audit["published"] or audit["writes_done"] or audit["error"]
    refused = audit["role"] == Role.OBSERVER.value or audit["outcome"] == Outcome.REFUSED.value
    if audit["plan"]["writes"] and not (tried or refused or _placement_unread(audit)):
        yield "a running agent makes these writes in its next audit; to make them now:"
        yield copyable("hand", "stocktake audit --publish")


def head_lines(audit: Document, now: str) -> Iterator[Line]:
    """Yield the lines about outcome, counts, unknown facts, role, writes and sources, then the notes.

    The lines about unknown facts say how old the last known facts are at the moment ``now`` (ISO 8601).
    """
    yield line(
        f"audit of {audit['node'] or audit['host']} at {audit['started_at']}: ",
        *_outcome(audit),
        hang=2,
    )
    yield from unknown_lines(audit["findings"], now)
    yield line(f"provider {audit['provider_uuid'] or 'unknown'}, role {audit['role']}, {_written(audit)}", hang=2)
    yield line(_cost(audit), hang=2)
    if audit["error"]:
        yield line(f"error: {audit['error']}", hang=2)
    yield from source_lines(audit)
    if note := audit.get("record_note"):
        yield line(note, hang=2)
    # The report of an older agent has no notes.
    yield from (line(f"note: {note}", hang=2) for note in audit.get("notes", ()))


def simulated_lines(audit: Document) -> Iterator[Block]:
    """Yield a line for each fact that libvirt's test driver invented, as in the demo."""
    if audit["simulated"]:
        yield ""
    yield from (line(f"simulated: {what}", hang=2) for what in audit["simulated"])


def _outcome(audit: Document) -> tuple[str | Span, ...]:
    """Return the outcome and the number of findings. If the outcome is ``findings``, return only the number."""
    counts = counted(audit["findings"])
    if audit["outcome"] == Outcome.FINDINGS.value and audit["findings"]:
        return (counts,)
    return (toned(audit["outcome"]), f", {counts}")


def _cost(audit: Document) -> str:
    """Return the audit's duration and its number of requests to Placement, as text.

    The report of an older agent does not say how many requests were tried. The text then has the answered requests.
    """
    cost = audit["placement"]
    asked, tried = cost["requests"], cost.get("tried", 0)
    requests = f"Placement answered {asked} of {tried} requests" if tried > asked else f"{asked} requests to Placement"
    return f"took {_ms(audit)}, {requests}, {cost['conflicts']} conflicts{_kinds(cost)}"


def _kinds(cost: Document) -> str:
    """Return the write conflicts by kind; "" if there was none, or if the report of an older agent has no kinds."""
    kinds = cost.get("conflict_kinds") or {}
    return f" ({', '.join(f'{kind} {count}' for kind, count in kinds.items())})" if kinds else ""


def _written(audit: Document) -> str:
    planned = len(audit["plan"]["writes"])
    if audit["writes_done"]:
        return f"{audit['writes_done']} of {planned} writes done"
    if _placement_unread(audit):
        return "nothing written: Placement was not read"
    if not planned:
        return "nothing to write"
    return f"nothing written, {planned} {'write' if planned == 1 else 'writes'} planned"


def _placement_unread(audit: Document) -> bool:
    return any(source["name"] == PLACEMENT and not source["ok"] for source in audit["sources"])


def source_lines(audit: Document) -> Iterator[Line]:
    """Yield one line for all sources that were read, and one line for each source that was not read."""
    read = [_took(source) for source in audit["sources"] if source["ok"]]
    if read:
        yield line(f"read: {', '.join(read)}", hang=2)
    yield from (line(_unread(source), hang=2) for source in audit["sources"] if not source["ok"])


def _took(source: Document) -> str:
    how = " (light read)" if source.get("read") == "light" else ""
    return f"{source['name']} {_ms(source)}{how}"


def _ms(timed: Document) -> str:
    """Return the duration as text in milliseconds, with one decimal if it is below 10 ms."""
    duration = timed["duration_ms"]
    return f"{number_text(round(duration, 0 if duration >= 10 else 1))} ms"


def _unread(source: Document) -> str:
    """Return why the source was not read. If the agent tried, the text also has the age of the last successful read."""
    if not source.get("asked", True):
        return f"{source['name']} not asked: {source.get('not_asked_because') or 'another source is unread'}"
    age = source["age_s"]
    last = "never read" if age is None else f"last read {number_text(age)} s ago"
    return f"{source['name']} NOT READ (failed after {_ms(source)}, {last}): {source['error']}{_late(source)}"


def _late(source: Document) -> str:
    """Return a text with the age of the newest heartbeat of nova's services; "" if the report has no such age."""
    behind = source.get("behind_s")
    if behind is None:
        return ""
    where = "in the future" if behind < 0 else "old"
    return f"; the newest heartbeat of nova's services is {number_text(abs(behind))} s {where}"


def gone_lines(audit: Document) -> Iterator[Block]:
    """Yield a line for each ended finding: its code, consumer and id, the reason in one word, and the details."""
    gone = audit.get("gone", ())
    if gone:
        yield ""
        yield "findings that ended since the previous audit:"
    for each in gone:
        about = f" {each['consumer_uuid']}" if each["consumer_uuid"] else ""
        yield line(f"  {each['code']}{about} [{each['id'][:8]}]: {_ended_by(each)}: {each['words']}", hang=4)


def _ended_by(gone: Document) -> str:
    """Return the reason why the finding ended, in one word.

    The word is ``gone`` if several changes ended the finding. The text after the word lists these changes.
    """
    return "gone" if gone["reason"] == GoneReason.SEVERAL.value else str(gone["reason"])


def plan_lines(plan: Document, done: int = 0) -> Iterator[Block]:
    """Yield the plan's digest, then the plan's writes in order, then the held-back writes with the reasons.

    ``done`` is the number of the plan's writes that this audit has made.

    Equal writes to several providers become one entry, at the position of the first of these writes.
    """
    if plan["writes"]:
        yield ""
        count = len(plan["writes"])
        state = "" if not done else ", all written" if done == count else f", {done} of {count} written"
        yield f"plan {plan['digest'][:12]}{state}:"
    names = {write["provider_uuid"]: write["name"] for write in plan["writes"] if write["kind"] == "create-provider"}
    for writes in alike(plan["writes"], lambda write: (write["kind"], write.get("parent_uuid"), _what(write))):
        yield line(f"  {_write_text(writes, names)}", hang=4)
    if plan["held_back"]:
        yield ""
        yield "writes held back, and why:"
    for held in plan["held_back"]:
        yield line(f"  {held['what']} of {held['provider_uuid']}: {held['why']}", hang=4)


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
            words = f"below {parent}" if parent else "out of its tree, as a root provider"
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
    """Return the number of traits, and the names of those that change.

    A list of all traits would be too long: a provider has nearly 100.
    """
    signs = {"+": write["added"], "-": write["removed"]}
    changed = ", ".join(f"{sign}{name}" for sign, names in signs.items() for name in names)
    return (
        f"+{len(write['added'])} -{len(write['removed'])} traits ({len(write['traits'])} in all): {changed or 'none'}"
    )


def _inventory(inventory: Document) -> str:
    name = inventory["resource_class"]
    return (
        f"{name} total {cell(name, inventory['total'])}, reserved {cell(name, inventory['reserved'])},"
        f" max_unit {inventory['max_unit']}, step_size {inventory['step_size']},"
        f" ratio {number_text(inventory['allocation_ratio'])}"
    )
