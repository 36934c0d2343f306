"""The options of the monitoring servers, as values. This module imports no HTTP module."""

from __future__ import annotations

from dataclasses import dataclass

from agent.monitoring.address import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthOptions:
    """[healthcheck]: the ``addresses`` to serve, and for how long an answer is valid.

    A check expires if no audit updates it for ``ttl_s`` seconds (0: never), or for three audit intervals if that is
    longer. ``cache_control`` is in seconds (0: no header, -1: no-cache).
    """

    addresses: tuple[Address, ...] = ()
    ttl_s: float = 300.0
    cache_control: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsOptions:
    """[metrics]: the ``addresses`` to serve, and the ``textfile`` to replace after each audit ("": none)."""

    addresses: tuple[Address, ...] = ()
    textfile: str = ""

    @property
    def is_on(self) -> bool:
        """Whether the daemon computes metrics."""
        return bool(self.addresses or self.textfile)
