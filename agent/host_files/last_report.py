"""Bring a saved history up to date with the report of the last audit, which is written after every audit.

The daemon writes findings.json only if more than times changed. So after a crash, only the report says until when the
audits saw the findings. A report of another boot, or of an audit before the last save, changes nothing. Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from agent.model.finding import FindingState, History, Loss, Sighting
from agent.render.documents import Document
from agent.text.numbers import whole
from agent.text.own_rows import Json, is_utc_time


def with_last_report(history: History, report: Document | None) -> History:
    """Return the history with the report's times. ``report`` is the whole document; None if there is no report."""
    audit = report.get("audit") if report else None
    if not isinstance(audit, dict) or not history.boot or audit.get("boot") != history.boot:
        return history
    read_until = whole(audit.get("read_until"))
    if read_until is None or read_until < (history.read_until or 0):
        return history
    seen = dict(_seen(audit.get("findings")))
    lost = {str(one.get("name")): one for one in _objects(audit.get("sources"))}
    return dataclasses.replace(
        history,
        read_until=read_until,
        sightings=tuple(_sighting(sighting, seen) for sighting in history.sightings),
        losses=tuple(_loss(loss, lost) for loss in history.losses),
    )


def _objects(value: Json) -> list[dict[str, Json]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _seen(findings: Json) -> list[tuple[str, str]]:
    """Return (id, last_seen_at) of each finding that the audit checked."""
    checked = (one for one in _objects(findings) if one.get("state") != FindingState.UNKNOWN.value)
    return [(str(one.get("id")), one["last_seen_at"]) for one in checked if is_utc_time(one.get("last_seen_at"))]


def _sighting(sighting: Sighting, seen: Mapping[str, str]) -> Sighting:
    last_seen_at = max(sighting.last_seen_at, seen.get(sighting.id, ""))
    return dataclasses.replace(sighting, last_seen_at=last_seen_at)


def _loss(loss: Loss, lost: Mapping[str, dict[str, Json]]) -> Loss:
    status = lost.get(loss.source, {})
    audits = whole(status.get("losses")) if status.get("lost_since") == loss.since else None
    return loss._replace(audits=max(loss.audits, audits or 0))
