"""Configuration values of the parts outside the audit, one small class for each part."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.model.nova import StateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Options of the daemon. ``interval_s`` is None if no timer triggers audits."""

    interval_s: float | None
    event_driven: bool
    event_settle_s: float
    event_cap_s: float
    peer_audit_interval_s: float
    summary_interval_s: float
    state_dir: str
    run_dir: str
    graceful_shutdown_timeout_s: float
    start_splay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """The state source. ``connection`` is None unless the source is SQL; it contains a password, so repr omits it."""

    kind: StateKind
    connection: str | None = field(default=None, repr=False)
