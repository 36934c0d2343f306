"""Write the report that SIGUSR2 causes: package, threads, processes, configuration, and what the daemon is doing.

oslo.reports makes the report, as for other OpenStack services. The library takes 21 MiB and 0.2 s, so it is imported
when the signal comes. The library's signal handler is not used, because it interrupts the main thread at any
instruction. If the main thread then has a lock that the handler needs, the handler waits forever. The library's section
on the configuration is not used either, because that section shows the logins in URLs.
"""

from __future__ import annotations

import datetime
import logging
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from agent.cmd.log_output.journald import is_read_by_journald, with_prefix
from agent.config.loaded import Loaded
from agent.telemetry import events
from agent.telemetry.dump import Condition, fields_of, sections
from agent.telemetry.event_log import log_event
from agent.text.wording import printable

#: The mode of a report's file: only owner and group may read the file, because it names findings and options.
MODE = 0o640


def write_state_report(condition: Condition, loaded: Loaded, version: str) -> None:
    """Write the report to a file in ``[oslo_reports] log_dir``, and log an event that names the file.

    The report goes to stderr if that option is unset or the file cannot be written.
    """
    now = datetime.datetime.now(datetime.UTC)
    text = report_text(condition, loaded, version, now.isoformat(timespec="seconds"))
    folder, where = loaded.value("oslo_reports", "log_dir"), {}
    try:
        if folder:
            where = {"file": _to_file(folder, now, text)}
    except OSError as error:
        where = {"error": f"{folder}: {error.strerror or error}"}
    if "file" not in where:
        _to_stderr(text)
    log_event(events.STATE_DUMP, **fields_of(condition), **where)


def report_text(condition: Condition, loaded: Loaded, version: str, now: str) -> str:
    """Return the text of the report; ``now`` is ISO 8601 UTC. Secrets are masked."""
    from oslo_reports import report
    from oslo_reports.generators import version as package

    made = report.TextReport("Stocktake agent")
    made.add_section("Package", package.PackageReportGenerator(_Version(version)))
    made.add_section("Threads", _threads)
    made.add_section("Processes", _processes)
    made.add_section("Configuration", lambda: _configuration(loaded))
    for title, body in sections(condition, now):
        made.add_section(title, _constant(body))
    return str(made.run())


class _Version:
    """The version object that oslo.reports reads, with the method names that the library requires."""

    def __init__(self, version: str) -> None:
        self._version = version

    def vendor_string(self) -> str:
        """Return the vendor."""
        return "Stocktake developers"

    def product_string(self) -> str:
        """Return the program."""
        return "stocktake-agent"

    def version_string_with_package(self) -> str:
        """Return the version."""
        return self._version


def _constant(body: str) -> Callable[[], str]:
    return lambda: body


def _processes() -> Any:  # noqa: ANN401 - a model of oslo.reports
    """Return the section about this process and its children.

    If a child ends while oslo.reports reads the child's data, return a sentence with the error instead.
    """
    from oslo_reports.generators import process

    try:
        return process.ProcessReportGenerator()()
    except Exception as error:  # noqa: BLE001 - psutil's errors, such as ZombieProcess; oslo.reports requires psutil
        return f"the processes cannot be read now: {error}"


def _threads() -> str:
    """Return each thread's name and stack.

    Each frame of a stack is one line, with the line of source code but without the values of variables.
    """
    from oslo_reports.generators import threading as stacks

    names = {thread.ident: thread.name for thread in threading.enumerate()}
    model: Any = stacks.ThreadReportGenerator()()
    named = [(names.get(ident, str(ident)), thread["stack_trace"]["lines"]) for ident, thread in model.items()]
    named.sort(key=lambda pair: pair[0])
    return "\n".join(line for name, frames in named for line in (f"thread {printable(name)}", *map(_frame, frames)))


def _frame(frame: Mapping[str, Any]) -> str:
    return f"  {frame['filename']}:{frame['line']} in {frame['name']}: {frame['code'] or 'no source'}"


def _configuration(loaded: Loaded) -> Any:  # noqa: ANN401 - a model of oslo.reports
    """Return the effective options by group, as ``stocktake config show`` prints them: without secrets and logins."""
    from oslo_reports.models import with_default_views
    from oslo_reports.views.text import generic

    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for row in loaded.rows():
        groups[row.group][row.option] = "(unset)" if row.value is None else printable(row.value)
    view = generic.KeyValueView(dict_sep=":")
    return with_default_views.ModelWithDefaultViews(dict(groups), text_view=view)


def _to_file(folder: str, now: datetime.datetime, text: str) -> str:
    """Write a new file, named as oslo.reports names its files, and return its path. Raises OSError."""
    path = os.path.join(folder, f"stocktake-agent_gurumeditation_{now:%Y%m%d%H%M%S}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{text}\n")
    return path


def _to_stderr(text: str) -> None:
    shown = with_prefix(text.rstrip("\n"), logging.INFO) if is_read_by_journald() else text.rstrip("\n")
    sys.stderr.write(f"{shown}\n")
    sys.stderr.flush()
