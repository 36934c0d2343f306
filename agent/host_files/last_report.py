"""Bring a saved history up to date with the report of the last audit, which is written after every audit.

The daemon does not write findings.json if only times have changed. So after a crash, only the report says when an audit
last saw a finding. A report of another boot, or of an audit before the last save, changes nothing.

The history counts the audits in a row that saw a finding, and heal acts when this count is high enough. If the daemon
could not save the history, the saved count may be too high, because a later audit may have restarted the count. So the
lower of the saved count and the report's count is used. Pure: no I/O.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from agent.model.finding import FindingState, History, Loss, Sighting
from agent.render.documents import Document
from agent.text.numbers import whole
from agent.text.own_rows import Json, is_utc_time


def with_last_report(history: History, report: Document | None) -> History:
    """Return the history, brought up to date with the report of the last audit.

    ``report`` is the whole document; None if there is no report.
    """
    audit = report.get("audit") if report else None
    if not isinstance(audit, dict) or not history.boot or audit.get("boot") != history.boot:
        return history
    read_until = whole(audit.get("read_until"))
    if read_until is None or read_until < (history.read_until or 0):
        return history
    rows = {str(row.get("id")): row for row in _objects(audit.get("findings"))}
    lost = {str(one.get("name")): one for one in _objects(audit.get("sources"))}
    return dataclasses.replace(
        history,
        read_until=read_until,
        nova_alive_since=whole(audit.get("nova_alive_since")),
        sightings=tuple(_sighting(sighting, rows.get(sighting.id, {})) for sighting in history.sightings),
        losses=tuple(_loss(loss, lost) for loss in history.losses if _lasts(loss, lost.get(loss.source))),
    )


def _objects(value: Json) -> list[dict[str, Json]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _sighting(sighting: Sighting, row: Mapping[str, Json]) -> Sighting:
    """Bring a saved finding up to date with its ``row`` in the report (empty if the report lacks the finding)."""
    last_seen_at, is_checked = row.get("last_seen_at"), row.get("state") != FindingState.UNKNOWN.value
    seen_at = str(last_seen_at) if is_checked and is_utc_time(last_seen_at) else ""
    # If the report and the saved history have different ``stands_since``, the agent began to count anew after the save.
    # Then the saved count is void, and the result has the count 0.
    times = whole(row.get("sightings")) if row.get("stands_since") == sighting.stands_since else None
    return dataclasses.replace(
        sighting,
        last_seen_at=max(sighting.last_seen_at, seen_at),
        times=max(0, min(sighting.times, times or 0)),
    )


def _lasts(loss: Loss, status: dict[str, Json] | None) -> bool:
    """Return whether the report shows the same loss: a source that could not be read since ``loss.since``.

    Return True if the report has no status of the source.
    """
    return status is None or (status.get("ok") is not True and status.get("lost_since") == loss.since)


def _loss(loss: Loss, lost: Mapping[str, dict[str, Json]]) -> Loss:
    status = lost.get(loss.source, {})
    audits = whole(status.get("losses")) if status.get("lost_since") == loss.since else None
    return loss._replace(audits=max(loss.audits, audits or 0))
