"""Say why findings ended.

This module gathers the facts: the journal, changes of the configuration, and the agent's own writes. From these facts
agent/books/gone.py chooses the reason for each finding.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from enum import Enum

from agent.audit.act import Acted
from agent.audit.parts import AuditTask
from agent.books.booked import BookedBy
from agent.books.gone import Present, Repair, gone
from agent.errors import SourceUnavailable
from agent.host_files.journal import Journal, Result
from agent.model.audit import AuditMemory, Reconfigured
from agent.model.finding import GoneFinding, History, Sighting
from agent.model.settings import Settings

# Settings that only say when and how the agent audits. A change of one of these settings never ends a finding. A change
# of another setting may end one.
_WITHOUT_EFFECT = frozenset(
    {
        "access",
        "confirm_audits",
        "confirm_spacing_s",
        "confirm_within_s",
        "conflict_rounds",
        "consumer_reads",
        "full_read_every",
        "heal",
        "source_deadline_s",
    }
)


def ended(
    task: AuditTask, memory: AuditMemory, acted: Acted, sightings: tuple[Sighting, ...], booked: BookedBy
) -> tuple[GoneFinding, ...]:
    """Return the findings that are gone, each with its reason."""
    if not sightings:
        return ()
    history = memory.history or History()
    now = Present(
        booked=booked,
        repairs=_repairs(task.parts.journal),
        reconfigured=memory.reconfigured,
        root_before=history.root_uuid,
        root=memory.identity.uuid if memory.identity else history.root_uuid,
        wrote=memory.wrote | written_to(acted),
    )
    return tuple(gone(sighting, now) for sighting in sightings)


def written_to(acted: Acted) -> frozenset[str]:
    """Return the uuids of the consumers and providers that this audit wrote."""
    names = ("consumer_uuid", "provider_uuid")
    return frozenset(uuid for write in acted.done for name in names if (uuid := getattr(write, name, None)))


def reconfigured(task: AuditTask, memory: AuditMemory, now: str) -> Reconfigured | None:
    """Return the last configuration change that may be the reason why findings ended; None if there was none."""
    settings, before = task.settings, memory.settings
    if before is settings or before == settings:
        return memory.reconfigured
    if before is not None:
        words = _changed(before, settings)
        return Reconfigured(now, f"the configuration changed: {words}") if words else memory.reconfigured
    digest = memory.history.settings_digest if memory.history else ""
    if digest in ("", settings_digest(settings)):
        return memory.reconfigured
    return Reconfigured(now, "the configuration changed since the agent's previous run")


def settings_digest(settings: Settings) -> str:
    """Return a digest of the settings whose change may end findings; every process computes the same digest."""
    values = {name: value for name, value in dataclasses.asdict(settings).items() if name not in _WITHOUT_EFFECT}
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=_plain).encode()).hexdigest()


def _changed(before: Settings, after: Settings) -> str:
    names = (field.name for field in dataclasses.fields(Settings) if field.name not in _WITHOUT_EFFECT)
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in names)
    return ", ".join(f"{name} {_shown(was)} -> {_shown(now)}" for name, was, now in pairs if was != now)


def _shown(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)


def _plain(value: object) -> object:
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    return str(value.value) if isinstance(value, Enum) else str(value)


def _repairs(journal: Journal | None) -> tuple[Repair, ...]:
    """Return the changes that the journal records as done; () if there is no journal or it cannot be read."""
    try:
        entries = journal.read().entries if journal is not None else ()
    except SourceUnavailable:
        return ()
    return tuple(
        Repair(
            entry_id=entry.id,
            at=entry.ended_at or entry.at,
            finding_id=entry.change.finding_id,
            consumer_uuid=entry.change.consumer_uuid,
            why=entry.change.why,
            actor=entry.actor.words if entry.actor else None,
        )
        for entry in entries
        if entry.result is Result.DONE
    )
