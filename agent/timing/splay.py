"""Decide at which fraction of a period a host acts, from the host's identity, so that a fleet needs no coordinator.

A host has the same phase (this fraction) after every restart. SHA-256 spreads the phases of hosts evenly, also of
hosts that start together. Python's ``hash`` is unsuitable, because its result differs in each process. Each use of a
phase needs its own salt, because two hosts with equal phases in one use must not have equal phases in another.
Pure: no I/O.
"""

from __future__ import annotations

import hashlib

# A float represents a fraction of 52 bits exactly, so rounding never produces 1.0.
_BITS = 52


def phase(identity: str, salt: str) -> float:
    """Return a fraction in [0, 1) for ``identity``, which is the host's provider uuid or its host name.

    The fraction is the first 52 bits of SHA-256 over salt and identity.
    """
    # The salt's length comes first, so that ("ab", "c") and ("b", "ca") differ.
    text = f"{len(salt)}:{salt}{identity}"
    first = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _BITS)
    return first / (1 << _BITS)


def until_turn(now: float, period_s: float, part: float) -> float:
    """Return the seconds in (0, period_s] from ``now`` to the next moment at phase ``part`` of the period.

    ``now`` is in seconds since the epoch, the only origin that stays the same over restarts of the host.
    """
    waited = (now - part * period_s) % period_s
    # Rounding can make ``waited`` equal to the whole period, so that the difference is 0.
    return (period_s - waited) or period_s
