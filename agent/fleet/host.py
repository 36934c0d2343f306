"""Read the message with a host's state, and keep the values that ``stocktake watch`` shows. Pure: no I/O.

Any client of the broker may send messages, and so may agents of other versions. A message that is not a host's state
is rejected as a whole, and control characters in names are escaped. A key that an older agent does not send is None,
which means not known. A message's age counts from its arrival, not from the sender's clock.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.errors import SourceInconsistent
from agent.fleet.conditions import Condition, Counts, told_condition
from agent.text.numbers import finite, whole
from agent.text.wording import printable

#: The ``schema_version`` of the messages that this module reads.
READS = 1
#: The number of audit intervals without a message after which a host counts as silent.
PATIENCE = 3
#: A message may be this many seconds late before its host counts as silent: sender, broker and receiver cause delays.
SLACK_S = 5.0
#: Limits of one message, so that large messages of other senders do not fill the memory. An agent's own messages never
#: reach these limits.
MOST_ENTRIES = 500
MOST_NAME = 255
MOST_TEXT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class RootAmount:
    """One resource class of a host's root provider. A number is None if the agent does not know the number."""

    resource_class: str
    total: float | None
    reserved: float | None
    ratio: float | None
    used: float | None
    free: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The worst finding of a host: its code, its severity and a sentence about it."""

    code: str
    severity: str
    headline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSeen:
    """The last message of one host's agent. A field is None if the agent does not know the value or does not send it.

    - ``received_at``: when the message arrived, in monotonic seconds.
    - ``outcome_since``: when the first message with the present ``outcome`` arrived, in monotonic seconds. ``outcome``
      says how the audit ended.
    - ``told``: the host's condition according to this message.
    - ``oldest_age_s``: the age of the oldest finding in seconds, at the time of sending.
    - ``causes``: the number of findings by code, without findings that another finding causes.
    - ``leaked``: amounts by class that Placement allocates, although nothing uses them.
    - ``missing``: amounts by class for which Placement lacks an allocation, although they are in use.
    - ``uncovered``: amounts by class that something unknown to nova uses, and that no reserved amount covers.
    - ``oldest_by_code``: when the oldest finding of each code was first seen (ISO 8601).
    - ``heal_waiting``: the number of findings that heal (the automatic repair) may not repair yet.

    Placement still offers the ``missing`` and ``uncovered`` amounts.
    """

    host: str
    received_at: float
    outcome_since: float
    interval_s: float
    outcome: str
    told: Condition
    agent_version: str
    role: str
    audited_at: str
    error: str | None
    sources_lost: tuple[str, ...]
    guests: int | None
    findings: Counts | None
    severities: Counts | None
    confirmed: Counts | None
    unknown: Counts | None
    unknown_since: str | None
    causes: Counts | None
    leaked: Counts | None
    missing: Counts | None
    uncovered: Counts | None
    oldest_age_s: float | None
    oldest_by_code: tuple[tuple[str, str], ...] | None
    worst: Worst | None
    held_back: int | None
    heal_enabled: bool | None
    heal_waiting: int | None
    amounts: tuple[RootAmount, ...] | None

    def age_s(self, now: float) -> float:
        """Return the seconds since the message arrived."""
        return max(0.0, now - self.received_at)

    def is_silent(self, now: float) -> bool:
        """Return whether the last message of the host is older than three intervals."""
        return now - self.received_at > PATIENCE * self.interval_s + SLACK_S

    def after(self, before: HostSeen | None) -> HostSeen:
        """Return this message, but with the ``outcome_since`` of the previous message if both have the same outcome."""
        if before is None or before.outcome != self.outcome:
            return self
        return dataclasses.replace(self, outcome_since=before.outcome_since)

    def amount(self, resource_class: str) -> RootAmount | None:
        """Return the amounts of this class on the host's root provider; None if that provider lacks the class."""
        return next((each for each in self.amounts or () if each.resource_class == resource_class), None)


def host_seen(document: object, received_at: float) -> HostSeen:
    """Return those values of a host's message that ``stocktake watch`` shows.

    Raises SourceInconsistent if the message is not a host's state.
    """
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or whole(version) != READS:
        problem = f"a message has schema_version {version!r:.60}, but this program reads {READS}"
        raise SourceInconsistent("fleet", problem)
    try:
        return _seen(document, received_at)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SourceInconsistent("fleet", f"a message does not contain a host's state: {error!r:.200}") from error


def sender_of(document: object) -> str:
    """Return the host that a message names, for an error text about the message."""
    host = document.get("host") if isinstance(document, dict) else None
    return printable(host[:MOST_NAME]) if isinstance(host, str) and host else "an unknown sender"


def _seen(document: Mapping[str, Any], received_at: float) -> HostSeen:
    outcome = _name(document["outcome"])
    findings, severities = _counts(document, "findings"), _counts(document, "severities")
    heal = document.get("heal") or {}
    return HostSeen(
        host=_host(document["host"]),
        received_at=received_at,
        outcome_since=received_at,
        interval_s=_interval(document),
        outcome=outcome,
        told=told_condition(outcome, severities, findings),
        agent_version=_text(document.get("agent_version") or "unknown"),
        role=_text(document.get("role") or "unknown"),
        audited_at=_text(document.get("audited_at") or ""),
        error=_optional_text(document.get("error")),
        sources_lost=tuple(_name(name) for name in _few(document["sources_lost"])),
        guests=_whole(document, "guests"),
        findings=findings,
        severities=severities,
        confirmed=_counts(document, "confirmed"),
        unknown=_counts(document, "unknown"),
        unknown_since=_optional_text(document.get("unknown_since")),
        causes=_counts(document, "causes_by_code"),
        leaked=_counts(document, "leaked"),
        missing=_counts(document, "missing"),
        uncovered=_counts(document, "uncovered"),
        oldest_age_s=_seconds_between(document.get("oldest_at"), document.get("at")),
        oldest_by_code=_times(document, "oldest_by_code"),
        worst=_worst(document.get("worst")),
        held_back=_whole(document, "held_back"),
        heal_enabled=_flag(heal.get("enabled")),
        heal_waiting=_whole(heal, "waiting"),
        amounts=None if document["resources"] is None else _amounts(document),
    )


def _host(value: object) -> str:
    name = _name(value)
    if not name:
        raise ValueError("the host has no name")
    return name


def _name(value: object) -> str:
    """Return the text ``value``, escaped.

    Raises TypeError if ``value`` is not text, ValueError if it has more than MOST_NAME characters.
    """
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not text")
    if len(value) > MOST_NAME:
        raise ValueError(f"{value!r:.60} is longer than {MOST_NAME} characters")
    return printable(value)


def _text(value: object) -> str:
    """Return the text ``value``, cut after MOST_TEXT characters and escaped.

    Raises TypeError if ``value`` is not text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not text")
    return printable(value[:MOST_TEXT])


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _flag(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise TypeError(f"{value!r:.60} is neither true nor false")


def _interval(document: Mapping[str, Any]) -> float:
    seconds = finite(document["interval_s"])
    if seconds is None or seconds < 0:
        raise ValueError(f"interval_s is not a number of seconds: {document['interval_s']!r:.60}")
    return seconds


def _whole(row: Mapping[str, Any], name: str) -> int | None:
    """Return the whole number under the key ``name``; None if the key is missing or its value is null."""
    value = row.get(name)
    number = whole(value)
    if number is None and value is not None:
        raise TypeError(f"{name} is not a whole number: {value!r:.60}")
    return number


def _few(values: object) -> list[Any]:
    if not isinstance(values, list) or len(values) > MOST_ENTRIES:
        raise TypeError(f"{values!r:.60} is not a list of at most {MOST_ENTRIES} entries")
    return values


def _counts(document: Mapping[str, Any], key: str) -> Counts | None:
    """Return the (name, number) pairs of the object under ``key``; None if the key is missing or its value is null."""
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) > MOST_ENTRIES:
        raise TypeError(f"{key} is not an object with at most {MOST_ENTRIES} keys: {value!r:.60}")
    return tuple((_name(name), _whole(value, name) or 0) for name in value)


def _times(document: Mapping[str, Any], key: str) -> tuple[tuple[str, str], ...] | None:
    """Return the (name, time) pairs of the object under ``key``; None if the key is missing or its value is null."""
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) > MOST_ENTRIES:
        raise TypeError(f"{key} is not an object with at most {MOST_ENTRIES} keys: {value!r:.60}")
    return tuple((_name(name), _name(value[name])) for name in value)


def _seconds_between(first: object, last: object) -> float | None:
    """Return the seconds between two times, None if one of them is None.

    Both times are from the sender's clock, so the result is right even if that clock is wrong.
    """
    if first is None or last is None:
        return None
    since, until = (datetime.datetime.fromisoformat(_text(value)) for value in (first, last))
    return max(0.0, (until - since).total_seconds())


def _worst(value: Mapping[str, Any] | None) -> Worst | None:
    if value is None:
        return None
    return Worst(code=_name(value["code"]), severity=_name(value["severity"]), headline=_text(value["headline"]))


def _amounts(document: Mapping[str, Any]) -> tuple[RootAmount, ...]:
    """Return the amounts of the host's root provider; the amounts of child providers are left out."""
    root = document["provider_uuid"]
    rows = [row for row in document["resources"] if row["provider_uuid"] == root]
    return tuple(_amount(row) for row in _few(rows))


def _amount(row: Mapping[str, Any]) -> RootAmount:
    return RootAmount(
        resource_class=_name(row["resource_class"]),
        total=_number(row, "total"),
        reserved=_number(row, "reserved"),
        ratio=_number(row, "allocation_ratio"),
        used=_number(row, "used"),
        free=_number(row, "free"),
    )


def _number(row: Mapping[str, Any], name: str) -> float | None:
    """Return the number under the key ``name``, an int or a float; None if the key is missing or its value is null."""
    value = row.get(name)
    if value is None:
        return None
    as_int, as_float = whole(value), finite(value)
    if as_int is None and as_float is None:
        raise TypeError(f"{name} is not a number: {value!r:.60}")
    return as_float if as_int is None else as_int
