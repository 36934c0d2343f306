"""Watch one cell over its message broker: receive the agents' messages, and detect the broker's outages.

oslo.messaging reconnects by itself without telling the caller. So a thread sends a probe, a message without a
receiver, every PROBE_S seconds to learn whether the broker accepts messages. After an outage the thread asks all agents
for their state.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.bus.audit_request import audit_soon
from agent.bus.fanout import accepted_within
from agent.bus.listener import FleetListener
from agent.bus.transport import PROBE, PROBE_TOPIC, Bus
from agent.cmd.watching.expected_lists import ExpectedList
from agent.cmd.watching.store import HostStore
from agent.errors import SourceUnavailable
from agent.fleet.view import Away, CellSeen

PROBE_S = 5.0
#: A broker that does not accept a probe within this number of seconds counts as unreachable.
ANSWER_S = 8.0
UNDECIDED, UP, AWAY = "undecided", "up", "away"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellParts:
    """The objects that a WatchedCell uses.

    ``expected`` lists the hosts that should send messages, and is None if there is no list.

    ``told`` is called with a sentence when the broker becomes unreachable, and when it is reachable again.
    """

    name: str
    bus: Bus
    store: HostStore
    expected: ExpectedList | None
    told: Callable[[str], None] | None = None


class WatchedCell:
    """One watched cell. ``start`` connects in a thread; ``seen`` returns at any time what the hosts have sent."""

    def __init__(self, parts: CellParts) -> None:
        self._parts = parts
        self._began_at = time.monotonic()
        self._began = _now()
        self._away: Away | None = None
        self._decided = threading.Event()
        self._closing = threading.Event()
        self._listener: FleetListener | None = None
        self._thread = threading.Thread(target=self._live, name="watch-cell", daemon=True)

    @property
    def name(self) -> str:
        """The cell's name; "" if there is only one cell."""
        return self._parts.name

    @property
    def broker(self) -> str:
        """The address of the cell's broker, without its password."""
        return self._parts.bus.options.shown

    @property
    def expected(self) -> ExpectedList | None:
        """The list of this cell's expected hosts; None if the operator wants no list."""
        return self._parts.expected

    @property
    def odd(self) -> dict[str, str]:
        """The senders whose messages cannot be parsed, each with the reason."""
        return self._parts.store.odd

    @property
    def heard(self) -> int:
        """The number of hosts that have sent a message."""
        return len(self._parts.store)

    @property
    def error(self) -> str | None:
        """The broker's error as a text while the broker is unreachable, else None."""
        away = self._away
        return None if away is None else away.error

    def start(self) -> None:
        """Start two threads: one connects to the broker, one reads the list of expected hosts. Return at once."""
        if self._parts.expected is not None:
            self._parts.expected.start()
        self._thread.start()

    def wait_decided(self, timeout_s: float) -> bool:
        """Wait for the end of the first attempt to connect; return False if that takes over ``timeout_s`` seconds."""
        return self._decided.wait(timeout_s)

    def seen(self) -> CellSeen:
        """Return what the hosts of the cell have sent until now."""
        store = self._parts.store
        return CellSeen(
            name=self.name,
            broker=self.broker,
            hosts=store.hosts(),
            began_at=self._began_at,
            began=self._began,
            away=self._away,
            expected=self._parts.expected.value if self._parts.expected else None,
            odd=len(store.odd),
            left_out=store.left_out,
        )

    def audit_soon(self, host: str) -> str:
        """Ask a host's agent for an audit; return the agent's answer as a sentence.

        Raises SourceUnavailable if the agent does not answer.
        """
        return audit_soon(self._parts.bus, host)

    def close(self) -> None:
        """Close the connection. If the broker hangs, this takes at most two seconds."""
        self._closing.set()
        if self._parts.expected is not None:
            self._parts.expected.close()
        if self._listener is not None:
            self._listener.close()

    def _live(self) -> None:
        while not self._closing.is_set():
            if self._listener is None or self._listener.is_refused:
                self._listen()
            else:
                self._probe(self._listener)
            self._decided.set()
            self._closing.wait(PROBE_S)

    def _listen(self) -> None:
        """Connect to the broker, and ask the agents of all hosts for their state."""
        self._listener = FleetListener(self._parts.bus, self._parts.store.receive)
        try:
            self._listener.listen()
            self._listener.ask()
        except SourceUnavailable as error:
            self._is_away(error.message)
        else:
            self._is_back()

    def _probe(self, listener: FleetListener) -> None:
        try:
            is_there = accepted_within(ANSWER_S, self._parts.bus, PROBE_TOPIC, PROBE)
        except SourceUnavailable as error:
            self._is_away(error.message)
            return
        if not is_there:
            self._is_away(f"{self.broker} did not answer within {ANSWER_S:g} s")
        elif self._away is not None and listener.is_up:
            self._ask_again(listener)

    def _ask_again(self, listener: FleetListener) -> None:
        """Ask all agents for their state, because the messages that they sent during the outage are lost."""
        try:
            listener.ask()
        except SourceUnavailable as error:
            self._is_away(error.message)
        else:
            self._is_back()

    def _is_away(self, error: str) -> None:
        if self._away is None and not self._closing.is_set():
            self._away = Away(since=_now(), error=error)
            self._tell(f"the broker cannot be reached: {error}")

    def _is_back(self) -> None:
        if self._away is not None:
            self._away = None
            self._tell(f"the broker can be reached again: {self.broker}")

    def _tell(self, words: str) -> None:
        if self._parts.told is not None:
            self._parts.told(f"{self.name}: {words}" if self.name else words)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
