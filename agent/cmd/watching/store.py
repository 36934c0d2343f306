"""Keep the last message that each host of one nova cell sent to the message broker.

oslo.messaging's threads write, the main thread reads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from agent.errors import SourceInconsistent
from agent.fleet.host import HostSeen, host_seen, sender_of

#: The maximum number of hosts of one cell. No real cell has more hosts. So if more host names arrive, some client
#: invents names.
MOST_HOSTS = 30_000
#: The store remembers at most MOST_ODD senders of unreadable messages. When the store has MOST_HOSTS hosts, it leaves
#: out all further hosts, and it counts the left-out hosts up to MOST_ODD.
MOST_ODD = 1000

#: A function that gets each valid message, and the HostSeen that was read from the message.
Listen = Callable[[Any, HostSeen], None]


class HostStore:
    """The last message of each host, and the senders of messages that cannot be read.

    ``listen`` is called for each valid message, ``complain`` once for each sender of unreadable messages.
    """

    def __init__(self, listen: Listen | None = None, complain: Callable[[str], None] | None = None) -> None:
        self._listen = listen
        self._complain = complain
        self._hosts: dict[str, HostSeen] = {}
        self._odd: dict[str, str] = {}
        self._left_out: set[str] = set()
        self._lock = threading.Lock()

    def receive(self, received_at: float, document: Any) -> None:  # noqa: ANN401 - JSON values
        """Keep one message; never raises."""
        try:
            seen = self._kept(received_at, document)
        except SourceInconsistent as error:
            self._refused(sender_of(document), error.message)
            return
        if seen is not None and self._listen is not None:
            self._listen(document, seen)

    def __len__(self) -> int:
        return len(self._hosts)

    def hosts(self) -> tuple[HostSeen, ...]:
        """Return the last message of each host."""
        with self._lock:
            return tuple(self._hosts.values())

    @property
    def odd(self) -> dict[str, str]:
        """The senders of messages that cannot be read, each with the reason."""
        with self._lock:
            return dict(self._odd)

    @property
    def left_out(self) -> int:
        """How many hosts were left out because the store already had MOST_HOSTS hosts. The count ends at MOST_ODD."""
        return len(self._left_out)

    def _kept(self, received_at: float, document: Any) -> HostSeen | None:  # noqa: ANN401 - JSON values
        seen = host_seen(document, received_at)
        with self._lock:
            before = self._hosts.get(seen.host)
            if before is None and len(self._hosts) >= MOST_HOSTS:
                if len(self._left_out) < MOST_ODD:
                    self._left_out.add(seen.host)
                return None
            # Two threads may handle two messages of one host at the same time, in any order. Keep the message that was
            # received later.
            if before is None or before.received_at <= received_at:
                self._hosts[seen.host] = seen.after(before)
        return seen

    def _refused(self, sender: str, problem: str) -> None:
        with self._lock:
            if sender in self._odd or len(self._odd) >= MOST_ODD:
                return
            self._odd[sender] = problem
        if self._complain is not None:
            self._complain(f"{sender}: {problem}")
