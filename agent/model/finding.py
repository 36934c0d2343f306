"""A finding: a named difference between the books, with its evidence and what to do."""

from __future__ import annotations

import enum
import functools
import uuid
from dataclasses import dataclass, field
from typing import NamedTuple

from agent.model.claim import Claim
from agent.model.placement import LeftProvider
from agent.model.provider_config import Addition

_FINDINGS = uuid.UUID("0f4cba20-5b4e-4f05-8a4b-6c0d3c9f2f11")


class Severity(enum.Enum):
    """How loud: error needs a human soon, warning sometime, info never by itself."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference. ``subject`` tells apart findings that share code, provider, consumer and class.

    ``expected`` and ``actual`` are sentences with numbers and units. ``evidence``
    are the claims; ``facts`` further (name, value) pairs that belong in the
    document. ``rests_on_recorded``: must not be confirmed from a stale reading
    of Placement's allocations.
    """

    code: str
    severity: Severity
    remedy: str
    expected: str
    actual: str
    provider_uuid: str | None = None
    consumer_uuid: str | None = None
    resource_class: str | None = None
    subject: str = ""
    evidence: tuple[Claim, ...] = ()
    facts: tuple[tuple[str, str | int | float | bool | None], ...] = ()
    rests_on_recorded: bool = False

    @property
    def id(self) -> str:
        """Stable over audits and restarts: a uuid5 of what the finding is about."""
        return _id(self.code, self.provider_uuid, self.consumer_uuid, self.resource_class, self.subject)


# Asked for many times an audit; it was a quarter of the CPU of a quiet one with 500 findings (benchmarks/).
@functools.lru_cache(maxsize=8192)
def _id(*about: str | None) -> str:
    return str(uuid.uuid5(_FINDINGS, "|".join(part or "" for part in about)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What is remembered of a finding between audits: the history file's one value.

    ``stands_since`` is the first of the audits in a row that saw its evidence as it is; empty in a file of an
    older program. ``counted_at`` is when the last of the ``times`` was counted, in seconds since the machine's start.
    """

    id: str
    code: str
    first_seen_at: str
    last_seen_at: str
    times: int
    evidence_digest: str
    stands_since: str = ""
    counted_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFinding:
    """A finding with what its history says about it; ``stands_since`` as the sighting has it."""

    finding: Finding
    confirmed: bool
    first_seen_at: str
    stands_since: str = ""


class Silence(NamedTuple):
    """nova-compute's signs of life on this host: its heartbeat, the root's generation, and since when both stand.

    ``heartbeat`` is ISO 8601 or empty, ``since`` in seconds since the machine's start.
    """

    heartbeat: str
    generation: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What audits and restarts remember: all sightings that are still alive, by finding id, and what files added.

    ``left`` are providers that stayed when we deleted their compute node records. ``looked_at`` is the last audit, in
    seconds since the machine's start, and ``boot`` which start that was: another one's seconds say nothing. ``silence``
    is how long nova-compute, whose provider is to be taken over, has given no sign of life.
    """

    sightings: tuple[Sighting, ...] = field(default=())
    added: tuple[Addition, ...] = ()
    left: tuple[LeftProvider, ...] = ()
    boot: str = ""
    looked_at: int | None = None
    silence: Silence | None = None
