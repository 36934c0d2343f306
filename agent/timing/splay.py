"""Spread the periodic actions of a fleet's hosts over the period, without communication between the hosts.

Each host acts at its own phase: a fraction of the period, computed from the host's identity. The phase stays the same
after a restart. SHA-256 spreads the phases evenly; Python's ``hash`` is unsuitable, because it differs in each process.
Each kind of action needs its own salt: two hosts that share a phase for one kind should not share it for all.
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
    # The salt's length comes first, so that salt "a" with identity "bc" differs from salt "ab" with identity "c".
    text = f"{len(salt)}:{salt}{identity}"
    first = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _BITS)
    return first / (1 << _BITS)


def until_turn(now: float, period_s: float, part: float) -> float:
    """Return the seconds from ``now`` until the host's next turn: more than 0, at most ``period_s``.

    The turns repeat every ``period_s``. ``part`` is the host's phase, the fraction of the period after which its turn
    comes. ``now`` is in seconds since the epoch, because a monotonic clock starts again when the host restarts.
    """
    waited = (now - part * period_s) % period_s
    # Rounding can make ``waited`` equal to the whole period, so that the difference is 0.
    return (period_s - waited) or period_s
