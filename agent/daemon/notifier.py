"""Tell systemd how this process is: the sd_notify protocol, which oslo.service speaks only in part (READY alone).

Each message is one datagram to ``$NOTIFY_SOCKET``. The variables are taken out of the
environment, so that vgs and other children cannot speak in our name. Without systemd
every message goes nowhere.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from dataclasses import dataclass

SEND_S = 1.0


@dataclass(frozen=True, slots=True)
class Notifier:
    """``watchdog_s``: how often systemd wants to hear ``WATCHDOG=1`` at least, None where it does not."""

    address: str | None
    watchdog_s: float | None

    def send(self, *assignments: str) -> None:
        """Send ``NAME=value`` lines as one message; a systemd that does not listen changes nothing for us."""
        if self.address is None:
            return
        # A leading @ stands for the null byte of an abstract socket.
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        message = "\n".join(line.replace("\n", " ") for line in assignments).encode()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                # A full buffer must neither lose READY nor stop the main thread.
                out.settimeout(SEND_S)
                out.sendto(message, address)
        except OSError:
            return


def notifier_from(environment: MutableMapping[str, str], pid: int) -> Notifier:
    """The notifier that systemd asked for; its variables are removed from ``environment``."""
    address = environment.pop("NOTIFY_SOCKET", None)
    usec = environment.pop("WATCHDOG_USEC", "")
    watched = environment.pop("WATCHDOG_PID", str(pid))
    is_watched = usec.isdigit() and int(usec) > 0 and watched == str(pid)
    return Notifier(address, int(usec) / 1e6 if is_watched else None)


def notifier() -> Notifier:
    """The notifier of this process."""
    return notifier_from(os.environ, os.getpid())
