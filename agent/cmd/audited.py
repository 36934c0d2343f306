"""Run one audit in a command's own process, with the daemon's code.

The audit reads all sources and the history of findings. It changes the history and Placement only if the command may
write (``Publish``). For each source that could not be read, the command prints one line to stderr; stdout has only the
command's output.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace

from agent.audit.parts import AuditTask
from agent.audit.run import run_audit
from agent.cmd import wiring
from agent.cmd.exit_handling import to_stderr
from agent.cmd.logs import setup_command_logging
from agent.cmd.not_root import closed_to_us, require_root
from agent.cmd.unread import refuse_unreadable, unread_lines
from agent.cmd.waits.caller import Caller
from agent.cmd.waits.progress import waits_shown
from agent.cmd.wiring import Wired
from agent.config.agent_options import agent_options_from
from agent.config.build import load_checked, settings_from
from agent.config.loaded import Loaded
from agent.config.traced_conf import set_override
from agent.errors import FolderUnavailable
from agent.model.audit import AuditMemory, AuditRequest, Depth, Publish
from agent.model.report import AuditReport
from agent.telemetry.event_log import emit
from agent.telemetry.lines import audit_line

# The loggers of libraries that log every retry. A command hides those log lines and prints one line with the final
# error.
CHATTY = ("keystoneauth", "urllib3")


def loaded_for(options: argparse.Namespace) -> Loaded:
    """Load the configuration that the global options name, and set up logging to stderr. Raises ConfigError."""
    loaded = load_checked(options.config_file, options.config_dir)
    command_logging(options, loaded)
    return loaded


def command_logging(options: argparse.Namespace, loaded: Loaded) -> None:
    """Set up logging to stderr, without the libraries' log lines about retries. Raises ConfigError."""
    if options.debug:
        set_override(loaded.conf, "DEFAULT", "debug", True)  # noqa: FBT003 - an option's value
    setup_command_logging(loaded)
    if not options.debug:
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.ERROR)


@contextlib.contextmanager
def wired_for(options: argparse.Namespace, loaded: Loaded, command: str) -> Iterator[Wired]:
    """Build the sources and clients for a command, and close them after the block.

    While the command waits for an answer, stderr shows what the command waits for. Raises ConfigError.
    """
    with (
        waits_shown(options) as watch,
        wiring.wire(loaded, Caller(program=f"stocktake {command}", watch=watch)) as wired,
    ):
        closed = closed_to_us(loaded)
        yield wired if closed is None else replace(wired, parts=closed.without_closed_files(wired.parts))


@contextlib.contextmanager
def task_of(
    options: argparse.Namespace, loaded: Loaded, command: str, publish: Publish = Publish.NEVER
) -> Iterator[AuditTask]:
    """Build the sources and clients for a command's audit or change; close them after the block. Raises ConfigError."""
    request = AuditRequest(reasons=(f"command: {command}",), publish=publish, depth=Depth.FULL)
    with wired_for(options, loaded, command) as wired:
        parts = wired.parts
        yield AuditTask(
            request=request,
            settings=settings_from(loaded),
            parts=parts,
            cancelled=lambda: False,
            late=parts.late(),
        )


def audited(options: argparse.Namespace, command: str, publish: Publish = Publish.NEVER) -> AuditReport:
    """Run one audit and return its report.

    Raises ConfigError if the configuration is wrong, NoDocument (exit code 75) if not enough sources could be read.
    """
    loaded = loaded_for(options)
    if publish is Publish.BY_ROLE:
        require_root(loaded)
    try:
        wiring.prepare_state_dir(loaded, publish)
    except FolderUnavailable as error:
        to_stderr(not_saved(loaded, error))
    with task_of(options, loaded, command, publish) as task:
        report = run_audit(task.request, task.settings, task.parts, AuditMemory(), task.cancelled).report
    emit((audit_line(report),))
    closed = closed_to_us(loaded)
    report = replace(report, own_files_read=closed is None)
    refuse_unreadable(report, closed)
    for line in unread_lines(report, closed):
        to_stderr(line)
    if report.error is not None:
        to_stderr(report.error)
    return report


def not_saved(loaded: Loaded, error: Exception) -> str:
    """Return the line that says why this run cannot save its findings for later runs."""
    folder = agent_options_from(loaded).state_dir
    cannot_write = f"(cannot write {folder})"
    return f"findings of this run are not saved {cannot_write}: {error}"
