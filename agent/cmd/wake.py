"""Ask the daemon for an audit after a command changed something, so that ``stocktake status`` shows the change."""

from __future__ import annotations

from collections.abc import Iterable

from agent.config.agent_options import agent_options_from
from agent.config.loaded import Loaded
from agent.healing.attempt import WriteAttempt
from agent.host_files.agent_lock import wake
from agent.host_files.journal import Result

# Wake the daemon also after a write with the outcome UNKNOWN: such a write may have changed something.
_CHANGED = frozenset({Result.DONE, Result.UNKNOWN})


def wake_after(loaded: Loaded, outcomes: Iterable[WriteAttempt]) -> None:
    """Send SIGUSR1 to the daemon if a write has, or may have, changed something. Without a daemon, nothing happens."""
    if any(outcome.result in _CHANGED for outcome in outcomes):
        wake(agent_options_from(loaded).run_dir)
