"""Report this process's state to systemd by the sd_notify protocol.

The agent does not use oslo.service for this, because oslo.service can send only READY. Each message is one datagram to
``$NOTIFY_SOCKET``. The agent removes systemd's variables from its environment, so that vgs and other child processes
send no messages to systemd. Without systemd, every message is dropped.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from dataclasses import dataclass

SEND_S = 1.0


@dataclass(frozen=True, slots=True)
class Notifier:
    """Sends messages to systemd. ``address`` is systemd's socket, or None to send nothing.

    ``watchdog_s``: the maximum seconds between two ``WATCHDOG=1``; None if systemd does not watch this process.
    """

    address: str | None
    watchdog_s: float | None

    def send(self, *assignments: str) -> None:
        """Send ``NAME=value`` lines as one message; ignore the error if systemd does not receive the message."""
        if self.address is None:
            return
        # A leading @ stands for the null byte of an abstract socket.
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        message = "\n".join(line.replace("\n", " ") for line in assignments).encode()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                # Wait if systemd's buffer is full, so that READY is not lost. The wait has a limit, so that the main
                # thread can go on.
                out.settimeout(SEND_S)
                out.sendto(message, address)
        except OSError:
            return


def notifier_from(environment: MutableMapping[str, str], pid: int) -> Notifier:
    """Return the notifier that systemd's variables describe, and remove these variables from ``environment``."""
    address = environment.pop("NOTIFY_SOCKET", None)
    usec = environment.pop("WATCHDOG_USEC", "")
    watched = environment.pop("WATCHDOG_PID", str(pid))
    is_watched = usec.isdigit() and int(usec) > 0 and watched == str(pid)
    return Notifier(address, int(usec) / 1e6 if is_watched else None)


def notifier() -> Notifier:
    """Return the object that reports this process's state to systemd."""
    return notifier_from(os.environ, os.getpid())
