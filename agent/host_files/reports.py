"""Write and read the report of the last audit, a file in the run directory.

``stocktake status`` reads this file, so the command works even while the message bus is down.
"""

from __future__ import annotations

import os

from agent.errors import SourceInconsistent, SourceUnavailable
from agent.host_files.atomic import replace_by_parts
from agent.host_files.regular_file import open_regular
from agent.model.report import AuditReport
from agent.render.documents import Document, report_from_json, report_parts

FILE = "report.json"
# Only root and the folder's group may read the file: it has the names that tenants gave their instances.
MODE = 0o640


def report_path(run_dir: str) -> str:
    """Return the path of the report file."""
    return os.path.join(run_dir, FILE)


def write_report(run_dir: str, report: AuditReport, agent_version: str = "") -> None:
    """Replace the last report, and name the agent's version. Raises SourceUnavailable if the folder is not writable."""
    path = report_path(run_dir)
    try:
        os.makedirs(run_dir, mode=0o750, exist_ok=True)
        replace_by_parts(path, report_parts(report, agent_version), MODE)
    except OSError as error:
        raise SourceUnavailable("report", f"{path} cannot be written: {error.strerror}") from error


def read_report(run_dir: str) -> Document:
    """Return the last report. Raises SourceUnavailable if there is none, SourceInconsistent if it is malformed."""
    text = read_report_text(run_dir)
    try:
        return report_from_json(text)
    except SourceInconsistent as error:
        raise SourceInconsistent("report", f"{report_path(run_dir)}: {error.message}") from error


def read_report_text(run_dir: str) -> str:
    """Return the text of the last report. Raises SourceUnavailable, or SourceInconsistent if the file is not UTF-8."""
    path = report_path(run_dir)
    try:
        with open_regular(path) as file:
            return file.read()
    except FileNotFoundError as error:
        hint = "; without a daemon, `stocktake audit` looks now"
        raise SourceUnavailable(
            "report", f"{path} does not exist, so no daemon has reported since boot{hint}"
        ) from error
    except OSError as error:
        hint = (
            "; only root and the group of the report's folder may read the report"
            if isinstance(error, PermissionError)
            else ""
        )
        raise SourceUnavailable("report", f"{path} cannot be read: {error.strerror}{hint}") from error
    except UnicodeDecodeError as error:
        raise SourceInconsistent("report", f"{path}: not a JSON document") from error
