"""Collect requests for audits, and decide when one audit starts for all collected requests.

A request has a reason (a text) and no data. Every audit reads the present state, so a hundred requests and one request
cause the same work. The audit is *due* when no new request has come for ``settle_s`` seconds, and at the latest
``cap_s`` seconds after the first request. So 200 libvirt events in a second cause few audits, and no event waits
forever. A request that comes while an audit runs causes another audit afterwards.

If [agent] start_splay spreads the first audits of all hosts over time, this host's first audit waits for its turn. Only
a request of an operator or a peer makes an audit due earlier.

A peer (a caller on the message bus) may request audits without limit. All peers together cause at most one audit per
``peer_s`` seconds. If another request causes an audit earlier, that audit also answers the waiting peers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: The maximum number of reasons of one kind in an audit's report. The kind of a reason is its text before the colon. If
#: there are more reasons of a kind, the report has one summary of them instead.
REASONS_PER_KIND = 8
#: The maximum number of kinds that one audit's report lists. Reasons of further kinds become OTHER_KIND.
KINDS = 32
REASON_LENGTH = 200
OTHER_KIND = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """When an audit is due: when no new request has come for ``settle_s`` seconds.

    At the latest, the audit is due ``cap_s`` seconds after the first request. If only callers on the message bus
    (peers) request audits, ``peer_s`` is the minimum time in seconds between two audits.
    """

    settle_s: float = 0.2
    cap_s: float = 1.0
    peer_s: float = 10.0


@dataclass(slots=True)
class _Gathering:
    """The reasons of all requests for the next audit, limited in number and length."""

    first_at: float
    last_at: float
    urgent: bool = False
    by_kind: dict[str, set[str]] = field(default_factory=dict)

    def add(self, reason: str) -> None:
        kind = reason.partition(":")[0][:REASON_LENGTH]
        if kind not in self.by_kind and len(self.by_kind) >= KINDS:
            kind, reason = OTHER_KIND, OTHER_KIND
        known = self.by_kind.setdefault(kind, set())
        if len(known) <= REASONS_PER_KIND:
            known.add(reason[:REASON_LENGTH])

    def due_at(self, pacing: Pacing) -> float:
        if self.urgent:
            return self.first_at
        return min(self.last_at + pacing.settle_s, self.first_at + pacing.cap_s)

    def reasons(self) -> list[str]:
        shown: list[str] = []
        for kind, known in self.by_kind.items():
            shown.extend(
                known if len(known) <= REASONS_PER_KIND else (f"{kind}: more than {REASONS_PER_KIND} audit requests",)
            )
        return shown


class AuditQueue:
    """The queue of requests for audits, with many producers and one consumer.

    Only the worker calls ``take``. Any thread may call the other methods, even in a callback of libvirt, because they
    cannot fail and no thread keeps the queue's lock during slow work. Once ``closed`` is True, ``take`` returns None.
    """

    def __init__(self, pacing: Pacing, clock: Callable[[], float] = time.monotonic) -> None:
        self._pacing = pacing
        self._clock = clock
        self._changed = threading.Condition()
        self._gathering: _Gathering | None = None
        self._peers: _Gathering | None = None
        self._peers_taken_at = float("-inf")
        self.closed = False
        self._held = False

    @property
    def waiting(self) -> tuple[str, ...]:
        """The reasons of all requests that ``take`` has not returned yet, sorted."""
        with self._changed:
            return self._reasons()

    def request(self, reason: str) -> None:
        """Request an audit soon. ``reason`` is ``kind`` or ``kind: detail``."""
        with self._changed:
            self._gather(reason)

    def request_now(self, reason: str) -> None:
        """Request an audit that is due at once: it does not wait ``settle_s`` seconds for further requests.

        For an operator's request, a reload, a retry, or the repetition of an audit.
        """
        with self._changed:
            self._gather(reason).urgent = True

    def request_in_turn(self, reason: str) -> None:
        """Request a periodic audit. The audit is due at once, but between ``hold`` and ``release`` it waits."""
        with self._changed:
            gathering = self._gather(reason)
            gathering.urgent = gathering.urgent or not self._held

    def request_by_peer(self, reason: str) -> float | None:
        """Request an audit for a peer (a caller on the message bus). Return the maximum seconds until the audit.

        Return None if the queue is closed. The next audit for a peer is due at least ``peer_s`` seconds after the
        worker last took a peer's request. If another request causes an audit earlier, that audit answers the peer too.
        """
        with self._changed:
            if self.closed:
                return None
            now = self._clock()
            if self._peers is None:
                self._peers = _Gathering(now, now)
                self._changed.notify_all()
            self._peers.add(reason)
            due_at = self._due_at()
            assert due_at is not None, "this is a bug: an RPC request waits, but no time is set for the next audit"
            return max(0.0, due_at - now)

    def hold(self) -> None:
        """Delay all audits until ``release``, except those requested by ``request_now`` or ``request_by_peer``."""
        with self._changed:
            self._held = True

    def release(self, reason: str) -> None:
        """Undo ``hold()`` and request an audit at once: the delay of this host's first audit is over."""
        with self._changed:
            self._held = False
            self._gather(reason).urgent = True

    def pace(self, pacing: Pacing) -> None:
        """Use the new delays of ``pacing`` before audits, also for requests that already wait in the queue."""
        with self._changed:
            self._pacing = pacing
            self._changed.notify_all()

    def take(self, timeout_s: float) -> tuple[str, ...] | None:
        """Wait for a due audit and return the reasons of all its requests, sorted.

        Returns None if no audit was due within ``timeout_s`` or if the queue is closed.
        """
        deadline = self._clock() + timeout_s
        with self._changed:
            while not self.closed:
                now = self._clock()
                due_at = self._due_at()
                if due_at is not None and now >= due_at:
                    return self._hand_out()
                if now >= deadline:
                    return None
                self._changed.wait(min(deadline, due_at if due_at is not None else deadline) - now)
            return None

    def close(self) -> None:
        """Drop all requests in the queue, ignore later requests, and let ``take`` return None."""
        with self._changed:
            self.closed = True
            self._gathering = self._peers = None
            self._changed.notify_all()

    def _due_at(self) -> float | None:
        gathering = self._gathering
        is_held = gathering is None or (self._held and not gathering.urgent)
        own = () if gathering is None or is_held else (gathering.due_at(self._pacing),)
        peers = (self._peers_taken_at + self._pacing.peer_s,) if self._peers else ()
        return min((*own, *peers), default=None)

    def _reasons(self) -> tuple[str, ...]:
        waiting = (gathering for gathering in (self._gathering, self._peers) if gathering)
        return tuple(sorted({reason for gathering in waiting for reason in gathering.reasons()}))

    def _gather(self, reason: str) -> _Gathering:
        now = self._clock()
        gathering = self._gathering or _Gathering(now, now)
        gathering.last_at = now
        gathering.add(reason)
        if not self.closed:
            self._gathering = gathering
            self._changed.notify_all()
        return gathering

    def _hand_out(self) -> tuple[str, ...]:
        reasons = self._reasons()
        if self._peers is not None:
            self._peers_taken_at = self._clock()
        self._gathering = self._peers = None
        return reasons
