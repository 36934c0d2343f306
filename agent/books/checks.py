"""Decide whether one audit could check a finding: only an audit that checked a finding may report the finding as gone.

To check a finding, an audit must read every source that the finding rests on. Even then, the audit cannot check the
finding in three cases:

- A guest, row or folder of a source could not be read.
- The finding needs a consumer's record in Placement, and the agent has not read that record.
- The finding is about an action that this audit did not try, such as a write.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agent.model.finding import ABOUT_READS, INSTANCE_LEAKS, OVERWROTE, Booked, Finding
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE

#: The reason why a finding about writes could not be checked: the audit tried no write. Other reasons are source names.
WRITES = "writes"

# Findings about a source, or a part of a source, that could not be read. Such a finding reports the failed read itself.
# So the audit can check the finding although it could not read the part.
_ABOUT_PARTS = ABOUT_READS | {"state-row-unreadable"}
#: To check these findings, the audit must have read the consumer's own record (``GET /allocations/{consumer}``).
OF_RECORDS = frozenset(
    {"companion-leftover", "consumer-on-several-providers", "consumer-project-differs", "consumer-unknown"}
)
# Findings about allocations that no guest on this host needs. Without libvirt, the audit does not know what the guests
# need. Then the audit reports no new finding of this kind, and an old finding ends only if the allocation is gone.
_OF_NO_GUEST = INSTANCE_LEAKS | {"consumer-unknown", "migration-finished-but-counted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What one audit could check. The default is an audit that read everything.

    ``unread``: the sources that were not read. ``not_asked``: the unread sources that the agent did not try to read.
    ``parts``: guests, instances (uuids) and paths that could not be read, each with its source.
    ``rows``: the messages about rows of nova's database that do not parse; each message names the uuids in its row.
    ``codes``: finding codes that this audit did not check, each with what the audit lacked: a source, or WRITES.
    ``is_new_process``: this is the process's first audit, which does not know what the agent wrote before.
    ``recorded_is_fresh``: this audit itself read the allocations.
    ``unrecorded``: consumers with allocations on this host. The agent did not read their allocations on other hosts.
    ``holders``: if libvirt was not read, all consumers with allocations on this host; else empty.
    ``shared_is_read``: all sharing providers were read.
    """

    unread: frozenset[str] = frozenset()
    not_asked: frozenset[str] = frozenset()
    parts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    rows: str = ""
    codes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    is_new_process: bool = False
    recorded_is_fresh: bool = True
    unrecorded: frozenset[str] = frozenset()
    holders: frozenset[str] = frozenset()
    shared_is_read: bool = True

    def missing(self, finding: Finding, booked: tuple[Booked, ...] = ()) -> tuple[str, ...]:
        """Return what this audit lacked to check a finding that it did not find; () if the finding is gone.

        The result contains the names of unread sources. It contains WRITES if this audit tried no write, or does not
        know the agent's earlier writes. ``booked``: the finding's amounts when an audit last saw the finding.
        """
        because = {self.codes[finding.code]} if finding.code in self.codes else set()
        if self.is_new_process and (OVERWROTE, True) in finding.facts:
            because.add(WRITES)
        because |= self._unread(finding) | self._parts(finding)
        if finding.rests_on_recorded and not self.recorded_is_fresh:
            because.add(PLACEMENT)
        if finding.code in OF_RECORDS and finding.consumer_uuid in self.unrecorded:
            because.add(PLACEMENT)
        if finding.code in _OF_NO_GUEST and finding.consumer_uuid in self.holders:
            because.add(LIBVIRT)
        if not self.shared_is_read and any(one.shared for one in booked):
            because.add(PLACEMENT)
        if finding.saved_id:
            because |= self._without_text(finding)
        return tuple(sorted(because))

    def _without_text(self, finding: Finding) -> set[str]:
        """Return the sources that this audit may have lacked to check ``finding``.

        Only the finding's code is known, not its consumer and subject. So the finding may be about any guest, row or
        path that this audit could not read.
        """
        found = set() if finding.code in _ABOUT_PARTS else set(self.parts.values()) | ({STATE} if self.rows else set())
        is_of_placement = PLACEMENT in finding.rests_on or not finding.rests_on
        if is_of_placement and not (self.recorded_is_fresh and self.shared_is_read):
            found.add(PLACEMENT)
        if finding.code in OF_RECORDS and self.unrecorded:
            found.add(PLACEMENT)
        if finding.code in _OF_NO_GUEST and self.holders:
            found.add(LIBVIRT)
        return found

    def missing_though_found(self, finding: Finding) -> tuple[str, ...]:
        """Return the unread sources that make a finding of this audit unknown; () if there are none.

        A source that the agent deliberately did not ask does not count. For example, ``identity-changed`` reports that
        the host's identity is in doubt. Because of this doubt the agent does not ask Placement. So Placement's missing
        answer does not make ``identity-changed`` unknown.
        """
        because = (self._unread(finding) - self.not_asked) | self._parts(finding)
        if finding.rests_on_recorded and not self.recorded_is_fresh:
            because.add(PLACEMENT)
        return tuple(sorted(because))

    def _unread(self, finding: Finding) -> set[str]:
        if finding.rests_on:
            return set(finding.rests_on & self.unread)
        # A finding that an older version saved does not name its sources: assume that the finding rests on all sources.
        return set() if finding.code in ABOUT_READS else set(self.unread)

    def _parts(self, finding: Finding) -> set[str]:
        if finding.code in _ABOUT_PARTS:
            return set()
        names = (finding.consumer_uuid or "", finding.subject)
        found = {self.parts[name] for name in names if name in self.parts}
        found |= {source for part, source in self.parts.items() if finding.subject.startswith(f"{part.rstrip('/')}/")}
        if self.rows and finding.consumer_uuid and finding.consumer_uuid in self.rows:
            found.add(STATE)
        return found
