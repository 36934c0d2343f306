"""Trigger an audit when libvirt's answer to a capabilities query was too late for the audit that sent the query.

After a cold start libvirt probes QEMU for seconds. Without this trigger, the agent would wait for the next interval,
about a minute, before it publishes the values that depend on the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class LateAnswers:
    """The EventSource that requests an audit when an answer of libvirt comes late. Any thread may call ``report``."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._notify: Callable[[str], None] | None = None

    def start(self, notify: Callable[[str], None]) -> None:
        """From now on, a call of ``report`` passes its reason to ``notify``, which triggers an audit."""
        with self._gate:
            self._notify = notify

    def stop(self) -> None:
        """From now on, a call of ``report`` triggers no audit."""
        with self._gate:
            self._notify = None

    def report(self, reason: str) -> None:
        """Trigger an audit, but only between start() and stop(). A command triggers none: it never calls start()."""
        with self._gate:
            if self._notify is not None:
                self._notify(reason)
