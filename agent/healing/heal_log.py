"""The log lines of the daemon's repairs (heal): what was changed, which findings wait, and what was refused.

A change of an allocation is a WARNING, with the state before and after the change and the command for its undo. A
safety check (guard) may refuse a repair. If the agent only has to wait until the check passes, the line is INFO,
because the operator need not act. Any other refusal is a WARNING. The same refusal of the same finding is logged only
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agent.healing.consumer_json import after_json, record_json
from agent.healing.heal import Healed
from agent.host_files.journal import Result
from agent.model.finding import FindingState, SeenFinding
from agent.model.heal import AnyAction, HealRefusal, ReshapeAction
from agent.model.report import AuditReport
from agent.telemetry import events
from agent.telemetry.change_text import state_text
from agent.telemetry.event_log import Line
from agent.telemetry.subjects import subjects_of

_EVENTS = {Result.DONE: events.FINDING_HEALED, Result.REFUSED: events.HEAL_REFUSED, Result.UNKNOWN: events.HEAL_UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class HealLogState:
    """What the log already says about the daemon's repairs, so that no line is logged twice.

    ``refused``: each logged refusal, as (finding id, safety check). A refusal is removed when its finding ends.
    ``not_tried``: changes that the last run did not try, because nothing proved that nova's database rows are current.
    """

    refused: frozenset[tuple[str, str]] = field(default=frozenset())
    not_tried: frozenset[tuple[str, str]] = field(default=frozenset())


def lines(
    state: HealLogState, refusals: Iterable[HealRefusal], healed: Iterable[Healed], report: AuditReport
) -> tuple[HealLogState, tuple[Line, ...]]:
    """Return the state for the next run of heal, and the lines that this run logs.

    These lines leave out the findings that the audit could not check, because the line ``findings unknown`` reports
    them.
    """
    seen = {each.finding.id: each for each in report.findings}
    tried = tuple(healed)
    new = [each for each in refusals if _pair(each) not in state.refused and not _is_unknown(seen.get(each.finding_id))]
    logged = [
        *(_attempt(each) for each in tried if _key(each) not in state.not_tried),
        *(_refusal(each) for each in new),
    ]
    subjects = subjects_of(report) if logged else {}
    after = HealLogState(
        refused=frozenset(pair for pair in (*state.refused, *map(_pair, new)) if pair[0] in seen),
        not_tried=frozenset(_key(each) for each in tried if each.outcome.unproven),
    )
    return after, tuple(_about(line, subjects) for line in logged)


def _about(line: Line, subjects: dict[str, str]) -> Line:
    subject = subjects.get(line.fields["finding_id"])
    return replace(line, fields={**line.fields, "subject": subject}) if subject else line


def _attempt(each: Healed) -> Line:
    action, outcome = each.action, each.outcome
    fields: dict[str, Any] = {
        "finding_id": action.finding_id,
        "code": action.code,
        "consumer_uuid": action.consumer_uuid,
        "result": outcome.result.value,
        "words": outcome.words,
        "entry_id": outcome.entry_id,
        "why": action.why,
    }
    if outcome.entry_id is not None:
        before, after = _states(action)
        fields |= {"before": before, "after": after, "undo": f"stocktake undo {outcome.entry_id}"}
    return Line(event=_EVENTS[outcome.result], fields={name: v for name, v in fields.items() if v is not None})


def _states(action: AnyAction) -> tuple[str, str]:
    """Return the consumer's allocations before and after the change as text."""
    if not isinstance(action, ReshapeAction):
        before, after = record_json(action.before), after_json(action.before, action.write)
        return state_text({"consumer": before}), state_text({"consumer": after})
    change = f"{action.reshaping.resource_class} of {len(action.changes)} consumers"
    return f"{change} on the root provider", f"{change} on {len(action.reshaping.providers) - 1} child providers"


def _refusal(refusal: HealRefusal) -> Line:
    fields = asdict(refusal)
    del fields["waits"]
    if refusal.wait_s is not None:
        fields["wait_s"] = round(refusal.wait_s)
    event = events.HEAL_WAITING if refusal.waits else events.HEAL_REFUSED
    return Line(event=event, fields={name: value for name, value in fields.items() if value is not None})


def _is_unknown(seen: SeenFinding | None) -> bool:
    return seen is not None and seen.state is FindingState.UNKNOWN


def _pair(refusal: HealRefusal) -> tuple[str, str]:
    return (refusal.finding_id, refusal.guard)


def _key(each: Healed) -> tuple[str, str]:
    """Return a key by which heal recognizes a line that it has logged already: the finding and the reason.

    The key has the result instead of the reason if the change was not tried (``unproven``). The reason then contains
    numbers that change in each audit, so the same line would get a new key each time.
    """
    return (each.action.finding_id, each.outcome.result.value if each.outcome.unproven else each.outcome.words)
