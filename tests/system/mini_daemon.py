"""A real daemon with a fake audit that follows a JSON file; it prints one line on stdout for each step.

Run as ``python mini_daemon.py FILE``. All keys of FILE are optional: ``audit_s`` (the audit takes that long), ``deaf``
(the audit does not check whether it is cancelled), ``until`` (the audit lasts until that file exists), ``pause_s`` (the
audit pauses that long), ``error`` (the audit raises crash, config or exit), ``interval_s``, ``start_error``,
``graceful_s``, ``misses``, ``ready_after_s``, ``term_before_start``.
"""

# ruff: noqa: E402 (eventlet is shut out, and signals are caught, before anything else)

import sys

sys.modules["eventlet"] = None

import contextlib
import json
import logging
import os
import queue
import signal
import threading
import time
from types import SimpleNamespace

from agent.daemon.signal_queue import install_handlers

INBOX = queue.SimpleQueue()
install_handlers(INBOX)
print("handlers installed", flush=True)

from agent.daemon import runner as runner_module
from agent.daemon.assembly import assemble
from agent.daemon.audit_queue import Pacing
from agent.daemon.interruptions import Pauses
from agent.daemon.notifier import notifier
from agent.daemon.service import Outside, Reloaded
from agent.daemon.worker import Configured
from agent.errors import AuditCancelled, ConfigError
from agent.model.audit import AuditMemory, AuditResult, Publish
from agent.model.report import AuditReport, Outcome, SourceStatus


def say(what: str) -> None:
    os.write(1, f"{what}\n".encode())


def read_options() -> dict:
    try:
        with open(sys.argv[1]) as file:
            return json.load(file)
    except ValueError as error:
        raise ConfigError(f"{sys.argv[1]}: {error}") from error


class Forgetful:
    def __init__(self, name: str):
        self.name = name

    def forget(self) -> None:
        say(f"forgot {self.name}")


class Clock:
    def now(self) -> str:
        return "2026-01-01T00:00:00.000Z"


PAUSES = Pauses()
PARTS = SimpleNamespace(host=Forgetful("host"), reader=Forgetful("reader"), images=Forgetful("images"), clock=Clock())


def configured() -> Configured:
    options = read_options()
    return Configured(
        settings=SimpleNamespace(**{"host": "mini", "role": SimpleNamespace(value="observer"), **options}),
        parts=PARTS,
        publish=Publish.BY_ROLE,
        pacing=Pacing(),
        interval_s=options.get("interval_s"),
        summary_interval_s=3600.0,
    )


def audit(request, settings, parts, memory, cancelled) -> AuditResult:
    say(f"audit {','.join(request.reasons)} label={getattr(settings, 'label', None)} depth={request.depth.value}")
    end = time.monotonic() + getattr(settings, "audit_s", 0)
    PAUSES.wait(getattr(settings, "pause_s", 0))
    pause = threading.Event()
    while True:
        if not getattr(settings, "deaf", False) and cancelled():
            say("audit cancelled")
            raise AuditCancelled
        if time.monotonic() >= end and os.path.exists(getattr(settings, "until", "/")):
            break
        pause.wait(0.01)
    match getattr(settings, "error", None):
        case "crash":
            raise ZeroDivisionError("a bug")
        case "config":
            raise ConfigError("mini: the identity is lost")
        case "exit":
            raise SystemExit(3)
    report = AuditReport(
        audit_id="a", host="mini", node=None, provider_uuid=None, role="observer", reasons=request.reasons,
        started_at="now", duration_ms=1.0, outcome=Outcome.CLEAN,
        sources=(SourceStatus(name="placement", ok=True, age_s=0, duration_ms=1, error=None),),
    )  # fmt: skip
    return AuditResult(report=report, memory=AuditMemory())


def misses() -> int:
    # The watchdog calls this at any moment, also while the file is bad because a test checks the reload.
    with contextlib.suppress(ConfigError):
        return read_options().get("misses", 0)
    return 0


class Events:
    def start(self, notify) -> None:
        if read_options().get("start_error"):
            raise RuntimeError("events cannot start")
        say("events started")

    def stop(self) -> None:
        say("events stopped")


def main() -> int:
    runner_module.READY_AFTER_S = read_options().get("ready_after_s", runner_module.READY_AFTER_S)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    outside = Outside(
        audit=audit,
        events=(Events(),),
        reload=lambda: Reloaded(configured=configured()),
        save=lambda report: say(f"report {report.outcome.value}"),
        misses=misses,
        end_pauses=PAUSES.end,
        dump=lambda condition: say(f"dump waiting={condition.waiting} healthy={condition.is_healthy}"),
        close=lambda: say("closed"),
        graceful_s=read_options().get("graceful_s", 60.0),
    )
    say(f"pid {os.getpid()} notify={'NOTIFY_SOCKET' in os.environ}")
    runner = assemble(configured(), outside, INBOX, notifier())
    say(f"children {'NOTIFY_SOCKET' in os.environ}")
    if read_options().get("term_before_start"):
        signal.raise_signal(signal.SIGTERM)
    code = runner.run()
    say(f"eventlet {sys.modules.get('eventlet')} processes {os.getpid()}")
    return code


if __name__ == "__main__":
    exit_code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)
