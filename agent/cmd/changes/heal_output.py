"""Render a run of ``stocktake heal`` as a JSON document and as lines. adopt and undo use some of the functions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence

from agent.cmd.changes.heal_run import HealRun
from agent.guards.minimum_age import GUARD as MINIMUM_AGE
from agent.healing.attempt import WriteAttempt
from agent.healing.consumer_json import after_json, record_json
from agent.healing.reshape_journal import after_document, before_json
from agent.model.heal import AnyAction, HealRefusal, ReshapeAction
from agent.render.documents import Document, audit_keys

#: How many characters of a finding's id and of a digest the text prints. Every command accepts such a beginning.
ID_SHOWN, DIGEST_SHOWN = 8, 12


def heal_document(run: HealRun) -> Document:
    """Return the document of ``heal``.

    ``actions`` are in execution order, each of the ``refusals`` names its guard, and ``results`` are the outcomes of
    the actions that were carried out. ``unread`` are the sources that could not be read; the plan leaves out findings
    that need these sources. ``undecided`` is true if, because of ``unread``, the run cannot tell whether the approved
    plan is still current. ``nothing_because`` is one sentence if the plan changes nothing. ``command`` carries out the
    plan.
    """
    plan = run.plan
    return {
        **audit_keys(run.report, "schema_version", "audit_id", "host", "node", "provider_uuid", "role"),
        "digest": plan.digest,
        "stale": run.stale,
        "undecided": run.undecided,
        "unread": [{"source": source.name, "error": source.error} for source in run.unread],
        "actions": [_action(action) for action in plan.actions],
        "refusals": [dataclasses.asdict(refusal) for refusal in plan.refusals],
        "results": [
            {
                "finding_id": each.action.finding_id,
                "consumer_uuid": each.action.consumer_uuid,
                **outcome_keys(each.outcome),
            }
            for each in run.healed
        ],
        "nothing_because": None if plan.actions else nothing_because(plan.refusals, run.min_age_s),
        "try_again_s": try_again_s(plan.refusals),
        "command": _command(run) if plan.actions and not run.healed else None,
    }


def nothing_because(refusals: Sequence[HealRefusal], min_age_s: float) -> str:
    """Return why there is nothing to change, with the time after which a wait ends if the time is known."""
    waiting = [refusal for refusal in refusals if refusal.waits]
    if not waiting:
        return "there is nothing to change any more" if not refusals else "every finding is refused"
    count = len(waiting)
    subject = {1: "the finding", 2: "both findings"}.get(count, f"all {count} findings")
    if len(refusals) > count:
        subject = f"{count} of {len(refusals)} findings"
    is_one = subject == "the finding"
    if all(refusal.guard == MINIMUM_AGE.name for refusal in waiting):
        why = f"{subject} {'is' if is_one else 'are'} younger than [heal] min_age ({min_age_s:g} s)"
    else:
        why = f"{subject} must wait"
    seconds = try_again_s(waiting)
    return why if seconds is None else f"{why}; try again in {seconds} s"


def try_again_s(refusals: Iterable[HealRefusal]) -> int | None:
    """Return after how many seconds every wait of a known length has ended, None if no length is known."""
    known = [refusal.wait_s for refusal in refusals if refusal.waits and refusal.wait_s is not None]
    return math.ceil(max(known)) if known else None


def _command(run: HealRun) -> str:
    named = "".join(f"--finding {id_[:ID_SHOWN]} " for id_ in sorted(run.ordered.ids))
    return f"stocktake heal {named}--plan {run.plan.digest[:DIGEST_SHOWN]} --yes"


def outcome_keys(outcome: WriteAttempt) -> Document:
    """Return the keys and values that describe the outcome of one change in a JSON document."""
    return {"result": outcome.result.value, "words": outcome.words, "entry_id": outcome.entry_id}


def result_line(result: Document, subject: str) -> str:
    """Return the line about the outcome of one change; ``subject`` names the changed object."""
    entry = f" [entry {result['entry_id']}]" if result["entry_id"] else ""
    return f"{result['result']}: {subject}: {result['words']}{entry}"


def heal_lines(document: Document) -> Iterator[str]:
    """Yield the plan: changes, waits and refusals with reasons; then the results or the command for the plan."""
    actions, results = document["actions"], document["results"]
    waits = [refusal for refusal in document["refusals"] if refusal["waits"]]
    refused = [refusal for refusal in document["refusals"] if not refusal["waits"]]
    counts = f"{len(actions)} to change, {len(waits)} waiting, {len(refused)} refused"
    yield f"plan for {document['node'] or document['host']}: {counts}"
    if document["unread"]:
        names = ", ".join(each["source"] for each in document["unread"])
        yield f"not read: {names}; the plan leaves out findings that need this data"
    for action in actions:
        yield from _block("change", action, action["why"])
        yield from _details(action)
        if action["also_ends"]:
            yield f"{_INDENT}ends also: {', '.join(id_[:ID_SHOWN] for id_ in action['also_ends'])}"
    for refusal in waits:
        yield from _block("wait", refusal, f"waiting: {refusal['why']}", refusal["guard"])
    for refusal in refused:
        yield from _block("refuse", refusal, refusal["why"], refusal["guard"])
    if any(refusal["wait_s"] is not None for refusal in waits):
        yield (
            "a finding's age counts only while the agent keeps seeing the finding, so keep the daemon running; without "
            "a daemon, run this command again within three times update_resources_interval (180 s by default)"
        )
    yield from (result_line(result, result["consumer_uuid"] or result["finding_id"]) for result in results)
    yield from _end(document)


_INDENT = " " * len("change  ")


def _block(word: str, about: Document, why: str, guard: str | None = None) -> Iterator[str]:
    who = about["consumer_uuid"] or "the tree"
    by = f"  ({guard})" if guard else ""
    yield f"{word:<6}  {about['code']}  {who}  [{about['finding_id'][:ID_SHOWN]}]{by}"
    yield f"{_INDENT}{why}"


def _end(document: Document) -> Iterator[str]:
    """Yield the reason why nothing was or will be changed, or else the command that carries out the plan."""
    if document["undecided"]:
        names = ", ".join(each["source"] for each in document["unread"])
        yield f"nothing done: it is not known whether the plan has changed, because {names} could not be read"
        yield "run the same command again later"
    elif document["stale"] and document["actions"]:
        yield f"nothing done: the plan has changed; the current one is {document['digest'][:DIGEST_SHOWN]}"
    elif document["stale"]:
        yield f"nothing done: {document['nothing_because']}"
    elif document["nothing_because"] and document["refusals"]:
        yield f"nothing to change now: {document['nothing_because']}"
    if document["command"] and not document["undecided"]:
        yield f"to carry out the plan: {document['command']}"


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
        yield f"{_INDENT}provider {was['name']} ({was['provider_uuid']}): {name} {old_and_new_total}"
    for was, becomes in zip(before["consumers"], after["consumers"], strict=True):
        consumer = was["consumer"]
        come = ", ".join(_places(becomes["consumer"], name, names))
        yield f"{_INDENT}consumer {consumer['consumer_uuid']}: {', '.join(_places(consumer, name, names))} -> {come}"


def _offered(provider: Document, name: str) -> str:
    if provider["inventories"] is None:
        return "no provider"
    return next((str(row["total"]) for row in provider["inventories"] if row["resource_class"] == name), "none")


def _places(consumer: Document, resource_class: str, names: Document) -> Iterator[str]:
    for row in consumer["allocations"]:
        if row["resource_class"] == resource_class:
            yield f"{row['amount']} {resource_class} on {names.get(row['provider_uuid'], row['provider_uuid'])}"


def _action(action: AnyAction) -> Document:
    if isinstance(action, ReshapeAction):
        before, after = before_json(action.reshaping, lambda _: None), after_document(action.reshaping)
    else:
        before, after = record_json(action.before), after_json(action.before, action.write)
    return {
        "finding_id": action.finding_id,
        "code": action.code,
        "consumer_uuid": action.consumer_uuid,
        "why": action.why,
        "also_ends": list(action.also_ends),
        "before": before,
        "after": after,
    }
