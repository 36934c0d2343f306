"""Decide which domains (guests) must be read again from libvirt, and cache the last read value of every domain.

While no events arrive from libvirt, every audit reads every domain. While events arrive, an audit reads a domain only
for one of these reasons:

- An event named the domain.
- The domain's state changed.
- The domain's turn has come: each domain has its turn in every tenth audit. Some changes raise no event, such as a live
  ``setvcpus`` (libvirt 9.0, measured), so only a turn shows them.

Any thread may report an event, but only one thread reads domains.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable, Mapping

from agent.model.host.facts import Domain, DomainState, OddDomain

TURNS = 10


class DomainCache:
    """The last known state of each domain, and the facts from its last read XML, by uuid."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[DomainState, Domain | OddDomain]] = {}
        self._changed: set[str] = set()
        self._all_changed = True
        self._trusted = False
        self._turn = 0

    def trust(self) -> None:
        """Trust events from now on. The next read still gets every domain, because earlier events may be lost."""
        with self._lock:
            self._trusted = True
            self._all_changed = True

    def distrust(self) -> None:
        """Stop trusting events: until trust() is called again, each read gets every domain from libvirt."""
        with self._lock:
            self._trusted = False

    def changed(self, domain_uuid: str) -> None:
        """Note that an event named this domain, so that the next read gets the domain's XML again."""
        with self._lock:
            self._changed.add(domain_uuid)

    def forget(self) -> None:
        """Make the next read get the XML of every domain again."""
        with self._lock:
            self._all_changed = True

    def to_read(self, states: Mapping[str, DomainState]) -> frozenset[str]:
        """Return the uuids of those domains in ``states`` whose XML must be read now.

        If an event reports a change after this call, the next call returns the domain again.
        """
        with self._lock:
            everything = self._all_changed or not self._trusted
            named, self._changed = self._changed, set()
            self._all_changed = False
        self._turn = (self._turn + 1) % TURNS
        if everything:
            return frozenset(states)
        return frozenset(
            domain_uuid
            for domain_uuid, state in states.items()
            if domain_uuid in named or self._turn_of(domain_uuid) == self._turn or self._state(domain_uuid) != state
        )

    def keep(self, states: Mapping[str, DomainState], read: Iterable[Domain | OddDomain]) -> None:
        """Store the domains just read, and drop the domains that no longer exist."""
        self._known |= {one.uuid: (states[one.uuid], one) for one in read}
        self._known = {domain_uuid: known for domain_uuid, known in self._known.items() if domain_uuid in states}

    def all(self) -> tuple[Domain | OddDomain, ...]:
        """Return every cached domain, sorted by uuid."""
        return tuple(self._known[domain_uuid][1] for domain_uuid in sorted(self._known))

    def _state(self, domain_uuid: str) -> DomainState | None:
        known = self._known.get(domain_uuid)
        return None if known is None else known[0]

    @staticmethod
    def _turn_of(domain_uuid: str) -> int:
        # A domain's turn depends on the domain's uuid, not on its position in the list: positions change when domains
        # are defined or removed.
        return zlib.crc32(domain_uuid.encode()) % TURNS
