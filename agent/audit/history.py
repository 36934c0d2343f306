"""Load and save the history of findings, and merge what another process of this host has saved meanwhile.

A process loads the history once. Each later audit checks whether another process (a command, or the daemon) has saved
the history since. An audit saves the history if more than timestamps changed, if an earlier change is not saved yet, or
if the audit is the first of its process. The timestamps of the last audit are in report.json (agent/host_files).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from agent.audit.parts import AuditTask, Parts
from agent.books.checks import OF_RECORDS
from agent.books.confirm import finding_of
from agent.books.histories import merged
from agent.errors import LockHeld
from agent.findings import BUILTIN as RULES
from agent.model.audit import AuditMemory, Publish
from agent.model.finding import History, Severity, Sighting

_RULES = {rule.code: rule for rule in RULES}


def with_history(task: AuditTask, memory: AuditMemory) -> AuditMemory:
    """Return ``memory`` with the current history of findings.

    The first call in a process loads the history from the file. Later calls add what another process saved to the file.
    When the audit reads consumers from Placement, the consumers in the loaded findings come first.
    """
    if memory.history is None:
        history = _whole(task.parts.history.load(), task.settings.confirm_audits)
        consumers = consumers_of(history.sightings)
        return dataclasses.replace(
            memory,
            history=history,
            suspects=tuple(dict.fromkeys((*memory.suspects, *consumers))),
            reported=tuple(dict.fromkeys((*memory.reported, *consumers))),
        )
    stored = task.parts.history.changed()
    if stored is None:
        return memory
    history = merged(memory.history, _whole(stored, task.settings.confirm_audits), memory.ended)
    return dataclasses.replace(memory, history=history, unsaved_history=True)


def consumers_of(sightings: Iterable[Sighting]) -> tuple[str, ...]:
    """Return the uuids of the consumers in findings about allocations.

    Some rules need the consumer's own record in Placement (``OF_RECORDS``). The consumers in these rules' findings come
    first.
    """
    found = [(sighting.code in OF_RECORDS, finding_of(sighting)) for sighting in sightings]
    of_records = sorted(f.consumer_uuid for first, f in found if first and f.consumer_uuid)
    others = sorted(f.consumer_uuid for first, f in found if not first and f.consumer_uuid and f.rests_on_recorded)
    return tuple(dict.fromkeys((*of_records, *others)))


def save_history(
    task: AuditTask, memory: AuditMemory, before: History, after: History, ended: frozenset[str]
) -> AuditMemory:
    """Put the new history ``after`` into ``memory``. Save ``after`` to the file if it differs from the old ``before``.

    ``ended``: the findings that this process has seen end since the last save.
    """
    memory = dataclasses.replace(memory, history=after, ended=ended)
    # Some processes run only one audit. So the first audit of a process saves the history even if only timestamps
    # changed.
    is_due = memory.unsaved_history or _content(before) != _content(after) or (not memory.audits and after.sightings)
    if task.request.publish is Publish.NEVER or not is_due:
        return memory
    return saved(task.parts, memory)


def saved(parts: Parts, memory: AuditMemory) -> AuditMemory:
    """Save the history of ``memory`` now, under the write lock, and return ``memory`` as it is after the save.

    If another process has saved a history meanwhile, the two histories are merged. If another process has the lock, or
    the file cannot be written, the next audit tries again.
    """
    if memory.history is None:
        return memory
    try:
        with parts.lock.hold():
            stored = parts.history.changed()
            history = memory.history if stored is None else merged(memory.history, stored, memory.ended)
            is_saved = parts.history.save(history)
    except LockHeld:
        return dataclasses.replace(memory, unsaved_history=True)
    ended = frozenset() if is_saved else memory.ended
    return dataclasses.replace(memory, history=history, unsaved_history=not is_saved, ended=ended)


def _content(history: History) -> tuple[object, ...]:
    """Return the history without the times that change in every audit."""
    found = [
        # ``times`` counts audits that found the same evidence. If the count restarts, ``stands_since`` may be the
        # only value that changes. So ``stands_since`` is compared too.
        (s.id, s.times, s.stands_since, s.evidence_digest, s.confirmed, _severity(s), s.caused_by)
        for s in history.sightings
    ]
    losses = [(loss.source, loss.since, loss.is_error) for loss in history.losses]
    rest = (history.added, history.left, history.silence, history.nova_alive_since)
    return (found, losses, *rest, history.root_uuid, history.settings_digest)


def _severity(sighting: Sighting) -> Severity | None:
    return sighting.finding.severity if sighting.finding else None


def _whole(history: History, confirm_audits: int) -> History:
    """Return the history; add to each finding the values that an older version of the agent did not save."""
    return dataclasses.replace(
        history, sightings=tuple(_whole_sighting(sighting, confirm_audits) for sighting in history.sightings)
    )


def _whole_sighting(sighting: Sighting, confirm_audits: int) -> Sighting:
    confirmed = sighting.confirmed or sighting.times >= confirm_audits
    rule, finding = _RULES.get(sighting.code), finding_of(sighting)
    if rule is not None and sighting.finding is None:
        finding = dataclasses.replace(finding, severity=rule.severity)
    if rule is not None and not finding.rests_on:
        finding = dataclasses.replace(finding, rests_on=rule.rests_on)
    return dataclasses.replace(sighting, confirmed=confirmed, finding=finding)
