"""The daemon's options that commands need too: its folders, intervals and time-outs.

The module is not a part of build.py, which imports the clients of all sources: ``stocktake status`` must start fast.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent.config.loaded import Key, Loaded
from agent.config.problems import refuse

DEFAULT_INTERVAL_S = 60.0


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


def agent_options_from(loaded: Loaded) -> AgentOptions:
    """Return the daemon's folders, intervals and time-outs. Raises ConfigError with each invalid value."""
    settle, cap = loaded.value("agent", "event_settle"), loaded.value("agent", "event_cap")
    probe = [("agent", "probe_socket")] if probe_socket(loaded) else []
    problems = relative_paths(loaded, ("agent", "state_dir"), ("agent", "run_dir"), *probe)
    if settle > cap:
        problems.append(f"{loaded.quote('agent', 'event_cap')}: must not be below event_settle, which is {settle}")
    refuse(problems)
    return AgentOptions(
        interval_s=interval_s_of(loaded),
        event_driven=loaded.value("agent", "event_driven"),
        event_settle_s=settle,
        event_cap_s=cap,
        peer_audit_interval_s=loaded.value("agent", "peer_audit_interval"),
        summary_interval_s=float(loaded.value("agent", "summary_interval")),
        state_dir=loaded.value("agent", "state_dir"),
        run_dir=loaded.value("agent", "run_dir"),
        graceful_shutdown_timeout_s=float(loaded.value("DEFAULT", "graceful_shutdown_timeout")),
        start_splay_s=loaded.value("agent", "start_splay"),
    )


def probe_socket(loaded: Loaded) -> str | None:
    """Return the path of stocktake-probe's socket, None if the agent reads the host without stocktake-probe."""
    path: str | None = loaded.value("agent", "probe_socket")
    return path


def interval_s_of(loaded: Loaded) -> float | None:
    """Return the seconds between two periodic audits, None if no timer triggers audits."""
    seconds = loaded.value("DEFAULT", "update_resources_interval")
    return None if seconds < 0 else float(seconds or DEFAULT_INTERVAL_S)


def relative_paths(loaded: Loaded, *options: Key) -> list[str]:
    """Return one sentence for each of these options whose value is not an absolute path."""
    relative = (option for option in options if not os.path.isabs(loaded.value(*option)))
    return [f"{loaded.quote(*option)}: must be an absolute path" for option in relative]
