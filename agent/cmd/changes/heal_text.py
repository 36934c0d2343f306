"""The text that ``stocktake heal`` prints: changes, waits and refusals, then the results or the next command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.cmd.changes.heal_output import DIGEST_SHOWN, ID_SHOWN
from agent.guards.repairable import GUARD as REPAIRABLE
from agent.host_files.journal import Result
from agent.model.finding import Severity
from agent.render.audit_text import gone_lines
from agent.render.documents import Document
from agent.render.finding_text import age_words, hand_lines, heal_command, seconds_between, state_of, who
from agent.render.layout import Block, Line, Span, copyable, line, toned
from agent.text.amounts import age_text
from agent.text.wording import alike

_HANG = len("change  ")
_INDENT = " " * _HANG


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenery:
    """Facts that heal's document lacks: the audit's findings by id, consumers' names by uuid, and the time.

    ``is_named``: whether the operator named the findings to repair, or their code.
    """

    findings: Mapping[str, Document] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    now: str = ""
    is_named: bool = False


def heal_blocks(document: Document, scenery: Scenery) -> Iterator[Block]:
    """Yield the whole text of a run."""
    actions, refusals = document["actions"], document["refusals"]
    waits = [refusal for refusal in refusals if refusal["waits"]]
    refused = [refusal for refusal in refusals if not refusal["waits"]]
    counts = f"{len(actions)} to change, {len(waits)} waiting, {len(refused)} refused"
    yield line(f"plan for {document['node'] or document['host']}: {counts}")
    if document["unread"]:
        names = ", ".join(each["source"] for each in document["unread"])
        yield line(f"not read: {names}; the plan leaves out findings that need this data", hang=2)
    for action in actions:
        yield _heading("change", action, scenery)
        yield _below(action["why"])
        yield from map(_below, _details(action))
        if action["also_ends"]:
            yield _below(f"ends also: {', '.join(id_[:ID_SHOWN] for id_ in action['also_ends'])}")
    for group in alike(waits, lambda refusal: (refusal["code"], refusal["guard"], refusal["why"])):
        yield from _waits(group, scenery)
    for refusal in refused:
        yield _heading("refuse", refusal, scenery)
        yield _below(f"refused: {refusal['why']} (guard rail: {refusal['guard']})")
        if refusal["guard"] == REPAIRABLE.name and (finding := scenery.findings.get(refusal["finding_id"])):
            yield from hand_lines(finding)
        yield _below("what else the operator can do:")
        yield copyable("inspect", f"stocktake explain {refusal['finding_id'][:ID_SHOWN]}")
    yield from _without_repair(document, scenery)
    if any(refusal["wait_s"] is not None for refusal in waits):
        yield line(
            "keep the daemon running, or run this command again within three times update_resources_interval "
            "(180 s by default); after a longer pause, each finding's age starts again from 0"
        )
    for result in document["results"]:
        yield line(result_line(result, result["consumer_uuid"] or result["finding_id"]), hang=2)
    yield from gone_lines({"gone": document.get("gone", ())})
    yield from _end(document)


def _without_repair(document: Document, scenery: Scenery) -> Iterator[Line]:
    """Yield how many findings heal cannot repair on this host; nothing if the operator named the findings to repair."""
    if scenery.is_named:
        return
    shown = {about["finding_id"] for about in (*document["actions"], *document["refusals"])}
    shown.update(id_ for action in document["actions"] for id_ in action["also_ends"])
    others = [finding for id_, finding in scenery.findings.items() if id_ not in shown]
    left = [each for each in others if each["severity"] != Severity.INFO.value and heal_command(each) is None]
    if left:
        findings = "1 finding has" if len(left) == 1 else f"{len(left)} findings have"
        yield line(f"{findings} no automatic repair on this host: stocktake findings")


def _waits(group: Sequence[Document], scenery: Scenery) -> Iterator[Line]:
    """Yield the lines about a repair that must wait, or about several repairs that must wait for the same reason."""
    first = group[0]
    if len(group) == 1:
        yield _heading("wait", first, scenery)
    else:
        yield line(f"wait    {first['code']}  {len(group)} findings", hang=_HANG)
        yield from (_below(f"[{each['finding_id'][:ID_SHOWN]}] {_whom(each, scenery)}") for each in group)
    yield _below(f"waiting: {first['why']} (guard rail: {first['guard']})")


def result_line(result: Document, subject: str) -> str:
    """Return the line about the outcome of one change; ``subject`` names the changed object."""
    entry = f" [entry {result['entry_id']}]" if result["entry_id"] else ""
    return f"{result['result']}: {subject}: {result['words']}{entry}"


def _heading(word: str, about: Document, scenery: Scenery) -> Line:
    """Return the first line about a change, wait or refusal: ``change CODE NAME UUID confirmed, 4 min [87897f25]``.

    ``4 min`` is the finding's age.
    """
    finding = scenery.findings.get(about["finding_id"])
    state: tuple[str | Span, ...] = ()
    if finding is not None:
        age = age_words(seconds_between(finding["first_seen_at"], scenery.now))
        state = (toned(state_of(finding)), f"{age}{_counting(finding, scenery.now)}  ")
    id_ = f"[{about['finding_id'][:ID_SHOWN]}]"
    whom = _whom(about, scenery)
    return line(f"{word:<6}  {about['code']}  {whom}  ", *state, id_, hang=_HANG)


def _whom(about: Document, scenery: Scenery) -> str:
    finding = scenery.findings.get(about["finding_id"])
    return who(finding, scenery.names) if finding else about["consumer_uuid"] or "the tree"


def _counting(finding: Document, now: str) -> str:
    """Return ``, evidence unchanged for 38 s``, to append to the finding's age; "" if the evidence never changed.

    For the option ``min_age``, only the time since ``stands_since`` counts. The finding itself may be older.
    """
    counts = seconds_between(finding.get("stands_since"), now)
    age = seconds_between(finding["first_seen_at"], now)
    if counts is None or age is None or age - counts < 1:
        return ""
    return f", evidence unchanged for {age_text(counts)}"


def _below(text: str) -> Line:
    return Line((Span(f"{_INDENT}{text}"),), _HANG)


def _end(document: Document) -> Iterator[Line]:
    """Yield the last lines: the reason why nothing is changed, or the command that carries out the plan."""
    if document["undecided"]:
        names = ", ".join(each["source"] for each in document["unread"])
        yield line(f"nothing done: it is not known whether the plan has changed, because {names} could not be read")
        yield line("run the same command again later")
    elif document["stale"] and document["actions"]:
        yield line(f"nothing done: the plan has changed; the current plan is {document['digest'][:DIGEST_SHOWN]}")
    elif document["stale"]:
        yield line(f"nothing done: {document['nothing_because']}")
    elif document["nothing_because"] and document["refusals"]:
        yield line(f"nothing to change now: {document['nothing_because']}")
    yield from _carried_out(document["results"])
    if document["command"] and not document["undecided"]:
        yield line("to carry out the plan:")
        yield copyable("fix", document["command"])
    if document.get("repeat") and not document["undecided"]:
        yield line("the plan is limited to a few changes; to repair the remaining findings afterwards:")
        yield copyable("fix", document["repeat"])


def _carried_out(results: Sequence[Document]) -> Iterator[Line]:
    """If every change is done, yield a line that says so, and the commands that take the changes back."""
    if results and all(result["result"] == Result.DONE.value for result in results):
        yield line("the whole plan was carried out; to take a change back:")
        entries = dict.fromkeys(result["entry_id"] for result in results if result["entry_id"])
        yield from (copyable("undo", f"stocktake undo {entry}") for entry in entries)


def _details(action: Document) -> Iterator[str]:
    """Yield the details of a reshape: each provider's totals before and after, and the moves of consumers' amounts.

    Yield nothing for an action on a single consumer.
    """
    if action["consumer_uuid"] is not None:
        return
    before, after = action["before"], action["after"]
    name, names = before["resource_class"], {p["provider_uuid"]: p["name"] for p in before["providers"]}
    for was, becomes in zip(before["providers"], after["providers"], strict=True):
        old_and_new_total = f"{_offered(was, name)} -> {_offered(becomes, name)}"
        yield f"provider {was['name']} ({was['provider_uuid']}): {name} {old_and_new_total}"
    for was, becomes in zip(before["consumers"], after["consumers"], strict=True):
        consumer = was["consumer"]
        come = ", ".join(_places(becomes["consumer"], name, names))
        yield f"consumer {consumer['consumer_uuid']}: {', '.join(_places(consumer, name, names))} -> {come}"


def _offered(provider: Document, name: str) -> str:
    if provider["inventories"] is None:
        return "no provider"
    return next((str(row["total"]) for row in provider["inventories"] if row["resource_class"] == name), "none")


def _places(consumer: Document, resource_class: str, names: Document) -> Iterator[str]:
    for row in consumer["allocations"]:
        if row["resource_class"] == resource_class:
            yield f"{row['amount']} {resource_class} on {names.get(row['provider_uuid'], row['provider_uuid'])}"
