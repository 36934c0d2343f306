"""Run the daemon's process: arguments, configuration, wiring, then either one audit or the audit loop.

The order of the steps matters. Signal handlers are installed first, because a SIGHUP during the imports would kill the
process. Then this module blocks eventlet, before the first import of any oslo module, which would import eventlet.
Therefore the other imports are inside functions.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import logging
import os
import queue
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from agent.cmd.exit_handling import add_config_arguments, to_stderr
from agent.cmd.log_output.journald import is_read_by_journald, prefix, with_prefix
from agent.daemon.signal_queue import Inbox, install_handlers
from agent.errors import AgentError, AuditCancelled, ConfigError, FolderUnavailable
from agent.exit_codes import BAD_ARGUMENTS, BUG, CLEAN, CONFIGURATION, REFUSED, TEMPORARY, exit_code

if TYPE_CHECKING:
    from agent.cmd.wiring import Wired
    from agent.config.loaded import Loaded
    from agent.daemon.service import Reloaded
    from agent.host_files.agent_lock import Holder
    from agent.model.audit import Publish
    from agent.model.report import AuditReport

PROGRAM = "stocktake-agent"


class Running:
    """Holds the present configuration; a reload of the configuration replaces ``loaded``."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with 127. argparse would exit with 2, which in this program means a partial audit."""
        self.exit(BAD_ARGUMENTS, f"{self.format_usage()}{PROGRAM}: {message}\n")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments. Exits the process on bad arguments, and after --help and --version."""
    return argument_parser().parse_args(argv)


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the daemon's arguments. The daemon's manual page is generated from this parser."""
    parser = _Parser(
        prog=PROGRAM, allow_abbrev=False, description="Audit this host and keep its providers in Placement correct."
    )
    add_config_arguments(parser)
    parser.add_argument(
        "--once", action="store_true", help="run one audit, write what the option [agent] role allows, then exit"
    )
    parser.add_argument(
        "--no-publish", action="store_true", help="write nothing to Placement: every audit is a dry run"
    )
    parser.add_argument("--version", action="version", version=version())
    return parser


def version() -> str:
    """Return the installed version. A source tree that is not installed has no version."""
    try:
        return importlib.metadata.version("stocktake")
    except importlib.metadata.PackageNotFoundError:
        return "unknown: not installed"


def block_modules() -> None:
    """Block eventlet and the charset guessers. Call this function before any import of oslo or requests."""
    sys.modules["eventlet"] = None  # type: ignore[assignment]  # importing eventlet fails from now on
    # With one of these modules, the library ``requests`` guesses the encoding of each response. Without them,
    # ``requests`` assumes UTF-8, which is right for JSON. So blocking both modules saves time, and 2.5 MiB of memory
    # (measured).
    for guesser in ("chardet", "charset_normalizer"):
        sys.modules[guesser] = None  # type: ignore[assignment]
    warnings.filterwarnings("ignore", message="Unable to find acceptable character detection dependency")


def run(argv: Sequence[str], inbox: Inbox) -> int:
    """Run the whole process and return its exit code."""
    arguments = parse(argv)
    block_modules()
    from agent.model.audit import Publish

    publish = Publish.NEVER if arguments.no_publish else Publish.BY_ROLE
    try:
        loaded = configured(arguments)
        if not arguments.once and (other := running_agent(loaded)) is not None:
            _say(f"another {PROGRAM} is running: {other}; not started")
            return REFUSED
        wired = start_up(loaded, arguments, publish)
        return (audit_once if arguments.once else serve)(loaded, wired, publish, inbox)
    except ConfigError as error:
        for problem in error.problems:
            _say(problem)
        return CONFIGURATION
    except FolderUnavailable as error:
        _say(str(error))
        return TEMPORARY


def configured(arguments: argparse.Namespace) -> Loaded:
    """Load the configuration and set up logging. Raises ConfigError."""
    from agent.cmd.logs import setup_logging
    from agent.config.build import load_checked

    loaded = load_checked(arguments.config_file, arguments.config_dir)
    setup_logging(loaded)
    return loaded


def running_agent(loaded: Loaded) -> Holder | None:
    """Take the lock that allows one daemon per host.

    Return the daemon that has the lock, or None if this process has taken the lock.

    If the run directory cannot be used, this process runs without the lock. A host without an agent would be worse than
    a host with two agents: the write lock still keeps two agents from writing at the same time.
    """
    from agent.cmd.wiring import SystemClock
    from agent.config.agent_options import agent_options_from
    from agent.errors import SourceUnavailable
    from agent.host_files.agent_lock import AgentLock
    from agent.telemetry import events
    from agent.telemetry.event_log import log_event

    try:
        return AgentLock(agent_options_from(loaded).run_dir).take(SystemClock().now())
    except SourceUnavailable as error:
        log_event(events.AGENT_LOCK_UNUSABLE, error=str(error))
        return None


def start_up(loaded: Loaded, arguments: argparse.Namespace, publish: Publish) -> Wired:
    """Prepare the agent's folders, and build the sources and clients. Raises ConfigError."""
    from agent.cmd import wiring
    from agent.cmd.waits.caller import DAEMON, SINGLE_AUDIT
    from agent.telemetry import events
    from agent.telemetry.event_log import log_event

    try:
        wiring.prepare_state_dir(loaded, publish)
    except FolderUnavailable as error:
        # Do not end the process here: the agent can run without a state directory, but it forgets everything at a
        # restart. If the host's identity is stored in that directory only, the first audit ends the process with exit
        # code 75.
        log_event(events.STATE_DIR_UNUSABLE, error=str(error))
    wiring.sweep_left_behind(loaded)
    return wiring.wire(loaded, SINGLE_AUDIT if arguments.once else DAEMON)


def serve(loaded: Loaded, wired: Wired, publish: Publish, inbox: Inbox) -> int:
    """Run audits until a signal requests the stop, and return the exit code."""
    from agent.cmd.bus_wiring import bus_service_from
    from agent.cmd.log_output.state_report import write_state_report
    from agent.cmd.monitoring_wiring import monitoring_from
    from agent.cmd.wiring import configured_from
    from agent.config.agent_options import agent_options_from
    from agent.config.build import notices
    from agent.daemon.assembly import assemble
    from agent.daemon.notifier import notifier
    from agent.daemon.service import Outside
    from agent.daemon.triggers import start_delay_s
    from agent.healing.after_audit import AuditThenHeal
    from agent.host_files.reports import write_report

    options = agent_options_from(loaded)
    _announce(loaded, notices(loaded))
    running, our_version = Running(loaded), version()
    outside = Outside(
        audit=AuditThenHeal(),
        events=(wired.late, wired.events()) if options.event_driven else (wired.late,),
        reload=_reloader(running, wired, publish),
        dump=lambda condition: write_state_report(condition, running.loaded, our_version),
        save=lambda report: write_report(options.run_dir, report, our_version),
        misses=lambda: wired.libvirt_reader.misses,
        reading=lambda: wired.mark.source,
        sent_at=lambda: wired.placement.sent_at,
        end_pauses=wired.pauses.end,
        close=wired.close,
        graceful_s=options.graceful_shutdown_timeout_s,
        bus=bus_service_from(loaded, wired.parts.clock.now),
        monitoring=monitoring_from(loaded, wired.parts.clock.now, lambda: wired.placement.counts),
        start_delay_s=start_delay_s(loaded.value("DEFAULT", "host"), options.start_splay_s),
    )
    runner = assemble(configured_from(loaded, wired.parts, publish), outside, inbox, notifier())
    # The imported modules stay until the process ends, so the garbage collector need not scan their objects. Without
    # the freeze, every full collection would scan them (40 ms).
    gc.freeze()
    return runner.run()


def audit_once(loaded: Loaded, wired: Wired, publish: Publish, inbox: Inbox) -> int:
    """Run one audit that reads everything, and return its exit code.

    The audit does not write the report file in a dry run or while the daemon is running. ``stocktake status`` then
    shows the daemon's last report.

    Raises ConfigError if the configuration or the file compute_id is wrong, FolderUnavailable if that file cannot be
    read now.
    """
    from agent.audit.run import run_audit
    from agent.cmd.wiring import configured_from
    from agent.config.agent_options import agent_options_from
    from agent.daemon.publisher import ReportDesk
    from agent.daemon.worker import crash_report
    from agent.host_files.agent_lock import AgentLock
    from agent.host_files.reports import report_path, write_report
    from agent.model.audit import AuditMemory, AuditRequest, Depth, Publish
    from agent.telemetry import events
    from agent.telemetry.event_log import log_event

    configured = configured_from(loaded, wired.parts, publish)
    run_dir = agent_options_from(loaded).run_dir
    daemon = AgentLock(run_dir).holder()
    if daemon is not None:
        _say(f"{PROGRAM} is running ({daemon}), so this run does not replace the report {report_path(run_dir)}")
    kept = publish is not Publish.NEVER and daemon is None

    def save(report: AuditReport) -> None:
        if kept:
            write_report(run_dir, report, version())
            log_event(events.REPORT_BY_HAND, path=report_path(run_dir))

    desk = ReportDesk(save, on_status=lambda _status: None)
    request = AuditRequest(reasons=("once",), publish=publish, depth=Depth.FULL)
    with wired:
        try:
            result = run_audit(request, configured.settings, wired.parts, AuditMemory(), lambda: stop_asked(inbox))
            report = result.report
        except AuditCancelled:
            return CLEAN
        except (ConfigError, FolderUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 - the boundary where a bug becomes an exit code
            if not isinstance(error, AgentError):
                desk.bug("audit", error)
            report = crash_report(request, configured.settings, AuditMemory(), error, wired.parts.clock.now())
        desk.publish(report, configured)
    return exit_code(report)


def stop_asked(inbox: Inbox) -> bool:
    """Return whether SIGTERM or SIGINT has arrived. A single audit ignores all other signals."""
    while True:
        try:
            message = inbox.get_nowait()
        except queue.Empty:
            return False
        if message in {signal.SIGTERM, signal.SIGINT}:
            # Put the signal back, so that every later call returns True as well.
            inbox.put(message)
            return True


def main() -> NoReturn:
    """Run the program ``stocktake-agent`` (entry point of the console script)."""
    inbox: Inbox = queue.SimpleQueue()
    install_handlers(inbox)
    try:
        code = run(sys.argv[1:], inbox)
    except Exception:  # noqa: BLE001 - the last boundary: a bug becomes exit code 1
        trace = traceback.format_exc().rstrip("\n")
        sys.stderr.write(f"{with_prefix(trace, logging.CRITICAL) if is_read_by_journald() else trace}\n")
        code = BUG
    leave(code)


def _say(line: str) -> None:
    """Write one line to stderr, with the priority of an error if systemd's journal reads stderr."""
    to_stderr(line, f"{prefix(logging.ERROR)}{PROGRAM}")


def leave(code: int) -> NoReturn:
    """Exit at once. A normal exit would wait for all threads to end, forever if a thread hangs in libvirt."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or BUG
    os._exit(code)


def _announce(loaded: Loaded, notices: tuple[str, ...]) -> None:
    from agent.telemetry import events
    from agent.telemetry.event_log import log_event

    fields = {
        "agent_version": version(),
        "pid": os.getpid(),
        "role": loaded.value("agent", "role"),
        "host": loaded.value("DEFAULT", "host"),
        "files": (*loaded.files, *loaded.nova_files),
    }
    log_event(events.STARTING, **fields)
    for notice in notices:
        log_event(events.CONFIGURATION_NOTICE, notice=notice)


def _reloader(running: Running, wired: Wired, publish: Publish) -> Callable[[], Reloaded]:
    """Return the function that handles a SIGHUP: it reads and checks all configuration files again.

    The function logs each changed option that takes effect only after a restart.
    """
    from agent.cmd.logs import setup_logging
    from agent.cmd.wiring import configured_from
    from agent.config.build import notices
    from agent.config.reload import changes, needs_restart, reload
    from agent.daemon.service import Reloaded
    from agent.telemetry import events
    from agent.telemetry.event_log import log_event

    def read_again() -> Reloaded:
        fresh = reload(running.loaded)
        configured = configured_from(fresh, wired.parts, publish)
        setup_logging(fresh)
        restart_needed, changed = needs_restart(running.loaded, fresh), changes(running.loaded, fresh)
        for option in restart_needed:
            log_event(events.RESTART_NEEDED, option=option)
        known = notices(running.loaded)
        for notice in notices(fresh):
            if notice not in known:
                log_event(events.CONFIGURATION_NOTICE, notice=notice)
        running.loaded = fresh
        return Reloaded(configured=configured, changed=changed, restart_needed=restart_needed)

    return read_again
