"""Findings and their history. A finding is a named difference between the books, with its evidence and a remedy.

The three books are called "promised" (nova's database), "held" (libvirt, storage) and "recorded" (Placement).
"""

from __future__ import annotations

import enum
import functools
import uuid
from dataclasses import dataclass, field
from typing import NamedTuple

from agent.model.claim import Claim
from agent.model.placement import LeftProvider
from agent.model.provider_config import Addition

#: For role companion (nova-compute runs on the host too): heal changes a consumer's allocations only if they were the
#: same in this number of audits in a row.
STEADY_AUDITS = 3
#: A key in the facts of a rival-writer finding. The value says whether the other program changed what this agent wrote.
OVERWROTE = "overwrote"
#: The codes of findings about sources that could not be read. These findings rest on no source, because they report the
#: failed read itself.
ABOUT_READS = frozenset({"source-unavailable", "source-stale"})
#: The codes of findings about an allocation that its instance does not need on this host.
INSTANCE_LEAKS = frozenset({"allocation-leaked", "allocation-stale-move"})
#: INSTANCE_LEAKS, and the code about allocations for the agent's own consumers that are no longer needed.
LEAKING = INSTANCE_LEAKS | {"companion-leftover"}
_FINDINGS = uuid.UUID("0f4cba20-5b4e-4f05-8a4b-6c0d3c9f2f11")


class Severity(enum.Enum):
    """How urgent a finding is. An error needs the operator soon, a warning at some time, an info needs no action."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class FindingState(enum.Enum):
    """What the last audit knows about a finding that is not gone.

    SEEN: the audit checked the finding, and it exists. CONFIRMED: the finding exists, and enough audits have confirmed
    it since it appeared. UNKNOWN: the audit could not check the finding, because it could not read a source that the
    finding rests on.
    """

    SEEN = "seen"
    CONFIRMED = "confirmed"
    UNKNOWN = "unknown"


class RemedyKind(enum.Enum):
    """What the operator does.

    HEAL: run ``stocktake heal``. INSPECT: only look. HAND: change something by hand. WAIT: wait.
    """

    HEAL = "heal"
    INSPECT = "inspect"
    HAND = "hand"
    WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing that the operator can do about a finding. ``command`` is one line to paste, or None if none is known.

    The command contains no placeholder: if a value is unknown, the command is None and the words say what to find out.
    """

    kind: RemedyKind
    words: str
    command: str | None = None


class GoneReason(enum.Enum):
    """Why a finding is gone. CLOUD_CHANGED: nova's database changed. HOST_CHANGED: guests or disks changed."""

    HEALED = "healed"
    SOURCE_BACK = "source-back"
    CONFIGURATION_CHANGED = "configuration-changed"
    IDENTITY_CHANGED = "identity-changed"
    PLACEMENT_CHANGED = "placement-changed"
    CLOUD_CHANGED = "cloud-changed"
    HOST_CHANGED = "host-changed"
    SEVERAL = "several"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference that an audit found.

    - ``expected``, ``actual``: sentences with numbers and units.
    - ``subject``: a text that makes the id unique if code, provider, consumer and class of two findings are the same.
    - ``evidence``: the amounts that show the difference.
    - ``facts``: further (name, value) pairs for the JSON document.
    - ``rests_on_recorded``: only an audit that read the allocations from Placement, not from its cache, may confirm the
      finding.
    - ``rests_on``: the names of the sources that an audit must have read to check the finding.
    - ``remedies``: in the order in which to try them; ``remedy`` has the same remedies as one text.
    - ``headline``: one sentence of at most 160 characters: who, what, where.
    - ``known``: sentences that help the operator to decide. They are no evidence: if they change, the finding stays the
      same.
    - ``began_at``: when the fault began according to nova's rows (ISO 8601 UTC), None if no row says that.
      ``began_because``: what happened then.
    - ``saved_id``: the id, if an old history file has the id but not the other fields. Otherwise "": the id is computed
      from the other fields.
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
    rests_on: frozenset[str] = frozenset()
    remedies: tuple[Remedy, ...] = ()
    headline: str = ""
    known: tuple[str, ...] = ()
    began_at: str | None = None
    began_because: str = ""
    saved_id: str = ""

    @property
    def id(self) -> str:
        """A uuid5 that identifies the finding; it is the same in every audit and after every restart."""
        return self.saved_id or _id(
            self.code, self.provider_uuid, self.consumer_uuid, self.resource_class, self.subject
        )


# Each audit needs each id many times: without the cache, computing ids took a quarter of the CPU time of an audit with
# 500 unchanged findings (benchmarks/).
@functools.lru_cache(maxsize=8192)
def _id(*about: str | None) -> str:
    return str(uuid.uuid5(_FINDINGS, "|".join(part or "" for part in about)))


class Booked(NamedTuple):
    """One consumer's amounts of one class on one provider, when the finding was last checked.

    ``promised`` is from nova's database, ``held`` from the host, ``recorded`` from Placement; None if there is no
    amount. ``shared``: the provider is a sharing provider, which not every audit reads.
    """

    consumer: str
    resource_class: str
    promised: int | None
    held: int | None
    recorded: int | None
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The history of one finding that still exists, as the history file keeps it.

    A finding is confirmed after several audits. ``times`` is how many audits in a row counted towards the confirmation,
    up to the largest number that any decision needs. ``counted_at`` is when the last of these audits ended its reads,
    in seconds since boot. ``stands_since``: since when each audit has seen the finding with the same evidence; empty if
    an older version of the agent wrote the file. ``last_seen_at``: when an audit last checked the finding and found it.

    ``confirmed``: whether the finding was ever confirmed since it appeared. ``finding`` is the finding as last seen. It
    is None if the file is from an older version, which did not save the finding. ``booked`` has the amounts of the
    finding's consumers when the finding was last seen. From these amounts, a later audit can say which book changed.
    ``caused_by`` has the same meaning as in ``SeenFinding``. ``unknown_because`` says what the last audit did not read.
    """

    id: str
    code: str
    first_seen_at: str
    last_seen_at: str
    times: int
    evidence_digest: str
    stands_since: str = ""
    counted_at: int = 0
    confirmed: bool = False
    finding: Finding | None = None
    booked: tuple[Booked, ...] = ()
    caused_by: tuple[str, ...] = ()
    unknown_because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFinding:
    """A finding with its history.

    ``stands_since``: since when each audit has found the same evidence. ``times``: how many audits in a row counted
    towards the confirmation. ``confirmed``: whether the finding was ever confirmed since it appeared, even if a later
    audit could not check it. ``last_seen_at``: when an audit last checked the finding and found it.

    ``unknown_because``: why the finding is in state UNKNOWN. Contains the names of the sources that were not read.
    Contains ``writes`` if the finding is about a write and the audit tried no write.

    ``caused_by``: the ids of the findings that cause this finding. ``symptoms``: the ids of the findings it causes.
    """

    finding: Finding
    confirmed: bool
    first_seen_at: str
    stands_since: str = ""
    times: int = 0
    state: FindingState = FindingState.SEEN
    last_seen_at: str = ""
    unknown_because: tuple[str, ...] = ()
    caused_by: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneFinding:
    """A finding that an audit checked and that does not exist any more. ``seen`` is the finding as last seen.

    ``words`` say what changed. If the reason is HEALED, ``entry_id`` is the id of the repair's journal entry, and
    ``actor`` is who made the repair.
    """

    seen: SeenFinding
    reason: GoneReason
    words: str
    entry_id: str | None = None
    actor: str | None = None


class Loss(NamedTuple):
    """A source that could not be read. ``audits`` counts the consecutive audits that could not read the source.

    ``since`` says since when (ISO 8601 UTC). ``since_s`` is the same moment in seconds since boot. ``is_error``:
    whether the finding about the source has become an error. The finding stays an error until the source is read.
    """

    source: str
    since: str
    since_s: int
    audits: int
    is_error: bool = False


class Silence(NamedTuple):
    """The last signs of life of this host's nova-compute: its heartbeat and the root provider's generation.

    ``heartbeat`` is ISO 8601 or empty. ``since``: when the heartbeat or the generation last changed, in seconds after
    boot.
    """

    heartbeat: str
    generation: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The contents of the history file, kept across audits and restarts.

    - ``sightings``: all findings that are still remembered, sorted by finding id.
    - ``added``: what provider.yaml files added to providers.
    - ``left``: providers that stayed in Placement after the agent deleted their compute node records.
    - ``boot``: the id of the host's boot. All times in seconds are seconds after this boot.
    - ``read_until``: when the last audit ended its reads, in seconds after boot.
    - ``silence``: nova-compute's last signs of life, None if the agent saw none.
    - ``nova_alive_since``: since when every audit has found nova-compute alive, in seconds after boot; None if the last
      audit found it dead. Only role companion fills this field.
    - ``losses``: the sources that the last audit could not read.
    - ``root_uuid``, ``settings_digest``: the host's provider and the configuration at the last audit.
    """

    sightings: tuple[Sighting, ...] = field(default=())
    added: tuple[Addition, ...] = ()
    left: tuple[LeftProvider, ...] = ()
    boot: str = ""
    read_until: int | None = None
    silence: Silence | None = None
    nova_alive_since: int | None = None
    losses: tuple[Loss, ...] = ()
    root_uuid: str | None = None
    settings_digest: str = ""
