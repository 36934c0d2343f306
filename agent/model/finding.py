"""A finding: a named difference between the books, with its evidence and a remedy; and the history of findings."""

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
    """How urgent a finding is. An error needs the operator soon, a warning at some time, an info needs no action."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference that an audit found.

    ``expected`` and ``actual`` are sentences with numbers and units. ``subject`` distinguishes findings that share
    code, provider, consumer and class. ``evidence`` are the claims. ``facts`` are further (name, value) pairs for the
    JSON document. ``rests_on_recorded``: only an audit that read the allocations itself may confirm this finding.
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
        """A uuid5 that identifies the finding; it is the same in every audit and after every restart."""
        return _id(self.code, self.provider_uuid, self.consumer_uuid, self.resource_class, self.subject)


# Each audit needs each id many times: without the cache, computing ids took a quarter of the CPU time of an audit with
# 500 unchanged findings (benchmarks/).
@functools.lru_cache(maxsize=8192)
def _id(*about: str | None) -> str:
    return str(uuid.uuid5(_FINDINGS, "|".join(part or "" for part in about)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The record of one finding in the history file.

    ``times`` is the number of audits counted towards confirmation. ``counted_at`` is the time of the last counted
    audit, in seconds since boot. ``stands_since`` is the time of the first of the consecutive audits that saw the same
    evidence; it is empty in a file that an older version wrote.
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
    """A finding with its history; ``stands_since`` has the same meaning as in ``Sighting``."""

    finding: Finding
    confirmed: bool
    first_seen_at: str
    stands_since: str = ""


class Silence(NamedTuple):
    """The last signs of life of this host's nova-compute: its heartbeat and the root provider's generation.

    ``heartbeat`` is ISO 8601 or empty. ``since`` is when an audit first read both values, in seconds since boot.
    """

    heartbeat: str
    generation: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The contents of the history file, kept across audits and restarts.

    ``sightings``: all findings that are still remembered, sorted by finding id.
    ``added``: what provider.yaml files added to providers.
    ``left``: providers that stayed in Placement when the agent deleted their compute node records.
    ``boot``: identifier of the boot since which ``read_until``, ``counted_at`` and ``silence.since`` count seconds.
    Seconds since another boot cannot be compared with them.
    ``read_until``: end of the last audit's reads, in seconds since boot.
    ``silence``: since when nova-compute has shown no sign of life, if a nova-compute has written to this provider.
    """

    sightings: tuple[Sighting, ...] = field(default=())
    added: tuple[Addition, ...] = ()
    left: tuple[LeftProvider, ...] = ()
    boot: str = ""
    read_until: int | None = None
    silence: Silence | None = None
