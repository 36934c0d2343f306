"""Render a run of ``stocktake heal`` as a JSON document and as lines. adopt and undo use some of the functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from agent.cmd.heal_run import HealRun
from agent.healing.attempt import WriteAttempt
from agent.healing.consumer_json import after_json, record_json
from agent.healing.reshape_journal import after_document, before_json
from agent.model.heal import AnyAction, HealPlan, ReshapeAction
from agent.render.documents import Document, audit_keys

# The guards that let a finding pass once the agent has seen it, or nova-compute, for long enough.
_PASS_WITH_TIME = frozenset({"confirmed", "minimum-age", "after-nova", "allocation-steady", "nova-started"})


def heal_document(run: HealRun) -> Document:
    """Return the document of ``heal``.

    ``actions`` are in execution order, each of the ``refusals`` names its guard, and ``results`` are the outcomes of
    the actions that were carried out. ``unread`` are the sources that could not be read; the plan leaves out findings
    that need these sources. ``undecided`` is true if, because of ``unread``, the run cannot tell whether the approved
    plan is still current.
    """
    plan = run.prepared.plan if run.prepared else HealPlan()
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
    }


def outcome_keys(outcome: WriteAttempt) -> Document:
    """Return the keys and values that describe the outcome of one change in a JSON document."""
    return {"result": outcome.result.value, "words": outcome.words, "entry_id": outcome.entry_id}


def result_line(result: Document, subject: str) -> str:
    """Return the line about the outcome of one change; ``subject`` names the changed object."""
    entry = f" [entry {result['entry_id']}]" if result["entry_id"] else ""
    return f"{result['result']}: {subject}: {result['words']}{entry}"


def heal_lines(document: Document) -> Iterator[str]:
    """Yield the plan and its refusals with reasons, then the results or the command that carries out the plan."""
    actions, refusals, results = document["actions"], document["refusals"], document["results"]
    yield f"plan for {document['node'] or document['host']}: repairs: {len(actions)}, refused findings: {len(refusals)}"
    if document["unread"]:
        names = ", ".join(each["source"] for each in document["unread"])
        yield f"  not read: {names}; the plan leaves out findings that need this data"
    for action in actions:
        yield f"  change {action['consumer_uuid'] or 'the tree'} ({action['code']}): {action['why']}"
        if action["also_ends"]:
            yield f"    also ends: {', '.join(finding_id[:8] for finding_id in action['also_ends'])}"
        yield from _details(action)
    for refusal in refusals:
        about = f"{refusal['code']} {refusal['consumer_uuid'] or refusal['finding_id']}"
        yield f"  refused {about} ({refusal['guard']}): {refusal['why']}"
    if any(refusal["guard"] in _PASS_WITH_TIME for refusal in refusals):
        yield (
            "a finding's age counts only while the agent keeps seeing the finding, so keep the daemon running; without "
            "a daemon, run this command again within three times update_resources_interval (180 s by default)"
        )
    yield from (result_line(result, result["consumer_uuid"] or result["finding_id"]) for result in results)
    yield from _end(document)


def _end(document: Document) -> Iterator[str]:
    """Yield the reason why an approved plan was not carried out, or else the command that carries out the plan."""
    actions = document["actions"]
    if document["undecided"]:
        names = ", ".join(each["source"] for each in document["unread"])
        yield f"nothing was done: it is not known whether the plan has changed, because {names} could not be read"
        yield "run the same command again later"
    elif document["stale"] and not actions:
        yield "nothing was done: the plan is empty now, because the findings are gone or cannot be healed yet"
    elif document["stale"]:
        yield f"nothing was done: the plan has changed, its digest is now {document['digest']}"
    elif actions and not document["results"]:
        yield (
            f"to carry out the plan: stocktake heal --plan {document['digest']} --yes "
            "(repeat the --finding options of this call)"
        )


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
        yield f"    provider {was['name']} ({was['provider_uuid']}): {name} {old_and_new_total}"
    for was, becomes in zip(before["consumers"], after["consumers"], strict=True):
        consumer = was["consumer"]
        come = ", ".join(_places(becomes["consumer"], name, names))
        yield f"    consumer {consumer['consumer_uuid']}: {', '.join(_places(consumer, name, names))} -> {come}"


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
