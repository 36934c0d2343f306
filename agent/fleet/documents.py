"""Make the JSON and CSV output of ``watch``: one JSON object for all hosts, or one CSV row per host. Pure: no I/O."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from agent.fleet.conditions import Condition, Counts
from agent.fleet.host import HostSeen, RootAmount
from agent.fleet.table import what
from agent.fleet.view import CellSeen, FleetView, HostRow

#: The version of the document's keys. New keys may be added; renaming or removing a key needs a new version.
SCHEMA_VERSION = 1

Document = dict[str, Any]

_CLASSES = (("vcpu", "VCPU"), ("memory_mib", "MEMORY_MB"), ("disk_gib", "DISK_GB"))
#: The columns of CSV. An unknown value is an empty cell.
COLUMNS = (
    "cell", "host", "group", "disabled", "expected", "condition", "for_s", "age_s", "what", "outcome", "error",
    "sources_lost", "guests", "findings", "errors", "warnings", "infos", "confirmed", "not_known", "causes",
    "worst_code", "worst_severity", "worst_headline",
    *(f"{book}_{name}" for book in ("leaked", "missing") for name, _ in _CLASSES),
    *(f"{kind}_{name}" for kind in ("used", "free") for name, _ in _CLASSES), "held_back", "heal_enabled",
    "heal_waiting", "role", "agent_version", "interval_s", "audited_at",
)  # fmt: skip

#: Keys of a host's JSON object. The host's message on the message bus has the values of these keys.
MESSAGE_KEYS = (
    "outcome", "error", "sources_lost", "guests", "findings", "severities", "confirmed", "not_known", "not_known_since",
    "causes", "worst", "leaked", "missing", "uncovered", "held_back", "heal_enabled", "heal_waiting", "resources",
    "role", "agent_version", "interval_s", "audited_at",
)  # fmt: skip


def fleet_document(view: FleetView) -> Document:
    """Return the whole fleet as one JSON object; its key ``hosts`` has every host, clean ones too."""
    return {
        "schema_version": SCHEMA_VERSION,
        "at": _iso(view.moment.at),
        "cells": [_cell(cell) for cell in view.cells],
        "counts": {condition.value: view.counts[condition] for condition in Condition},
        "expected": view.expected,
        "problems": list(view.problems),
        "leaked": dict(sorted(view.sums.leaked.items())),
        "missing": dict(sorted(view.sums.missing.items())),
        "uncovered": dict(sorted(view.sums.uncovered.items())),
        "held_back": view.sums.held_back,
        "hosts_not_known": view.sums.not_known,
        "hosts": [host_document(row, view.moment.at) for row in view.rows],
    }


def host_document(row: HostRow, at: datetime.datetime) -> Document:
    """Return one host as a JSON object. The keys that come from a message are null if the host has sent no message."""
    return {
        "cell": row.cell or None,
        "host": row.host,
        "group": row.group or None,
        "disabled": row.disabled,
        "expected": row.is_expected,
        "condition": row.condition.value,
        "for_s": None if row.for_s is None else round(row.for_s, 1),
        "for_at_least": row.for_at_least,
        "age_s": None if row.age_s is None else round(row.age_s, 1),
        "what": what(row, at),
        **(dict.fromkeys(MESSAGE_KEYS) if row.seen is None else _of_message(row.seen)),
    }


def csv_row(row: HostRow, at: datetime.datetime) -> tuple[object, ...]:
    """Return the cells of COLUMNS for one host; an unknown value is an empty text."""
    document = host_document(row, at)
    numbers = document["severities"]
    sums = {
        "errors": None if numbers is None else numbers.get("error", 0),
        "warnings": None if numbers is None else numbers.get("warning", 0),
        "infos": None if numbers is None else numbers.get("info", 0),
        **{name: _total(document[name]) for name in ("findings", "confirmed", "not_known", "causes")},
        **{f"worst_{name}": (document["worst"] or {}).get(name) for name in ("code", "severity", "headline")},
        "sources_lost": None if row.seen is None else " ".join(row.seen.sources_lost),
        **_amounts(row.seen),
    }
    found = {**document, **sums}
    return tuple("" if found[name] is None else found[name] for name in COLUMNS)


def _of_message(seen: HostSeen) -> Document:
    return {
        "outcome": seen.outcome,
        "error": seen.error,
        "sources_lost": list(seen.sources_lost),
        "guests": seen.guests,
        "findings": _numbers(seen.findings),
        "severities": _numbers(seen.severities),
        "confirmed": _numbers(seen.confirmed),
        "not_known": _numbers(seen.unknown),
        "not_known_since": seen.unknown_since,
        "causes": _numbers(seen.causes),
        "worst": _worst(seen),
        "leaked": _numbers(seen.leaked),
        "missing": _numbers(seen.missing),
        "uncovered": _numbers(seen.uncovered),
        "held_back": seen.held_back,
        "heal_enabled": seen.heal_enabled,
        "heal_waiting": seen.heal_waiting,
        "resources": None if seen.amounts is None else [_resource(each) for each in seen.amounts],
        "role": seen.role,
        "agent_version": seen.agent_version,
        "interval_s": seen.interval_s,
        "audited_at": seen.audited_at,
    }


def _worst(seen: HostSeen) -> Document | None:
    worst = seen.worst
    return None if worst is None else {"code": worst.code, "severity": worst.severity, "headline": worst.headline}


def _resource(amount: RootAmount) -> Document:
    return {
        "resource_class": amount.resource_class,
        "total": amount.total,
        "reserved": amount.reserved,
        "allocation_ratio": amount.ratio,
        "used": amount.used,
        "free": amount.free,
    }


def _cell(cell: CellSeen) -> Document:
    return {
        "name": cell.name or None,
        "broker": cell.broker,
        "away_since": _iso(cell.away.since) if cell.away else None,
        "error": cell.away.error if cell.away else None,
        "hosts": len(cell.hosts),
        "expected": None if cell.expected is None or cell.expected.hosts is None else len(cell.expected.hosts),
        "hosts_with_odd_messages": cell.odd,
        "hosts_left_out": cell.left_out,
    }


def _amounts(seen: HostSeen | None) -> Document:
    found: Document = {}
    for name, resource_class in _CLASSES:
        amount = seen.amount(resource_class) if seen else None
        found[f"used_{name}"] = amount.used if amount else None
        found[f"free_{name}"] = amount.free if amount else None
        for book in ("leaked", "missing"):
            known = getattr(seen, book) if seen else None
            found[f"{book}_{name}"] = None if known is None else dict(known).get(resource_class, 0)
    return found


def _numbers(counts: Counts | None) -> Mapping[str, int] | None:
    return None if counts is None else dict(counts)


def _total(counts: Mapping[str, int] | None) -> int | None:
    return None if counts is None else sum(counts.values())


def _iso(at: datetime.datetime) -> str:
    return at.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
