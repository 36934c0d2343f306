"""Read the report of the daemon's last audit, for ``stocktake status`` and for commands with ``--last``.

These commands ask no source, so they answer at once, even while every service is down.
"""

from __future__ import annotations

import argparse
import datetime
from dataclasses import dataclass

from agent.cmd.exit_handling import to_stderr
from agent.cmd.unread import refuse_unreadable, unread_lines
from agent.config.agent_options import agent_options_from
from agent.config.load import load
from agent.exit_codes import CLEAN, PARTIAL
from agent.host_files.reports import read_report, report_path
from agent.host_files.saved_report import saved_report
from agent.model.report import AuditReport
from agent.render.documents import Document
from agent.render.status import LastReport, last_report, stale_line
from agent.text.amounts import number_text


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonReport:
    """The daemon's last report.

    ``document``: the whole file. ``audit``: the part of it that ``stocktake audit`` would print.
    ``head``: the first line of an answer for people.
    ``problems``: a sentence for each row of the file that could not be read.
    ``stale``: a sentence if the report is older than three audit intervals, else "".
    ``code``: 2 if ``stale`` or ``problems`` is not empty, else 0. If ``code`` is 2, a command that would exit with 0 or
    3 exits with 2.
    """

    report: AuditReport
    audit: Document
    code: int
    head: str
    document: Document
    problems: tuple[str, ...] = ()
    stale: str = ""


def read_last(options: argparse.Namespace) -> tuple[Document, LastReport]:
    """Return the daemon's last report as JSON, and the report's age and problems. Print the problems to stderr.

    Raises AgentError (exit code 75) if there is no readable report.
    """
    agent = agent_options_from(load(options.config_file, options.config_dir))
    now, path = datetime.datetime.now(datetime.UTC).isoformat(), report_path(agent.run_dir)
    document = read_report(agent.run_dir)
    last = last_report(document, path, now, agent.interval_s)
    if last.is_stale:
        to_stderr(stale_line(last))
    for problem in last.problems:
        to_stderr(f"{path}: this command leaves out an unreadable row of the report: {problem}")
    return document, last


def daemon_report(options: argparse.Namespace) -> DaemonReport:
    """Return the daemon's last report. Print to stderr its unreadable rows, and the sources that were not read.

    Raises AgentError or NoDocument (exit code 75) if there is no readable report, or if the daemon's last audit could
    not read enough sources.
    """
    last = last_saved(options)
    refuse_unreadable(last.report, None)
    for line in unread_lines(last.report, None):
        to_stderr(line)
    return last


def last_saved(options: argparse.Namespace) -> DaemonReport:
    """Return the daemon's last report, even if its audit could read no source.

    Print the report's unreadable rows to stderr. Raises AgentError (exit code 75) if there is no readable report.
    """
    document, last = read_last(options)
    saved = saved_report(document)
    missed = tuple(problem for problem in saved.problems if problem not in last.problems)
    for problem in missed:
        to_stderr(f"{last.path}: this command leaves out an unreadable row of the report: {problem}")
    return DaemonReport(
        report=saved.report,
        audit=last.audit,
        code=PARTIAL if last.is_stale or last.problems or missed else CLEAN,
        head=f"from the daemon's report of {saved.report.started_at}, {number_text(round(last.age_s))} s old",
        document=document,
        problems=(*last.problems, *missed),
        stale=stale_line(last) if last.is_stale else "",
    )
