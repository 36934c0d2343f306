"""Where in a period a host's turn is: a fraction that its identity decides, so that a fleet needs no coordinator.

The same host has the same phase after every restart, and hosts started by one
command have phases as even as SHA-256 makes them. Python's own ``hash`` is
another in each process. Two uses of one host take two salts: hosts that share a
moment for one of them must not share it for the other. Pure.
"""

from __future__ import annotations

import hashlib

# So many bits below one are a float without rounding: never 1.0.
_BITS = 52


def phase(identity: str, salt: str) -> float:
    """A fraction in [0, 1) for the host that ``identity`` names: its provider's uuid, or a host name.

    The first 52 bits of SHA-256 over both.
    """
    # The length first: ("ab", "c") and ("b", "ca") are two hosts.
    text = f"{len(salt)}:{salt}{identity}"
    first = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _BITS)
    return first / (1 << _BITS)


def until_turn(now: float, period_s: float, part: float) -> float:
    """Seconds in (0, period_s] from ``now`` to the next moment at phase ``part`` of the period.

    ``now`` is in seconds since the epoch, the one origin that a host's restarts share.
    """
    waited = (now - part * period_s) % period_s
    # Rounding can make the remainder the whole period.
    return (period_s - waited) or period_s
