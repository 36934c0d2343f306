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
_LOOK_NOW = "to audit without a daemon, run `stocktake audit`"


def report_path(run_dir: str) -> str:
    """Return the path of the report file."""
    return os.path.join(run_dir, FILE)


def write_report(run_dir: str, report: AuditReport, agent_version: str = "") -> None:
    """Write the report and the agent's version to the report file. Raises SourceUnavailable if that fails."""
    path = report_path(run_dir)
    try:
        os.makedirs(run_dir, mode=0o750, exist_ok=True)
        replace_by_parts(path, report_parts(report, agent_version), MODE)
    except OSError as error:
        raise SourceUnavailable("report", f"{path} cannot be written: {error.strerror}") from error


def read_report(run_dir: str) -> Document:
    """Return the last report. Raises SourceUnavailable if the report is missing, SourceInconsistent if malformed."""
    text = read_report_text(run_dir)
    try:
        return report_from_json(text)
    except SourceInconsistent as error:
        raise SourceInconsistent("report", f"{report_path(run_dir)}: {error.message}") from error


def read_report_text(run_dir: str) -> str:
    """Return the text of the last report.

    Raises SourceUnavailable if the file cannot be read, SourceInconsistent if the file is not UTF-8.
    """
    path = report_path(run_dir)
    try:
        return text_of_file(path)
    except SourceUnavailable as error:
        cause = error.__cause__
        if isinstance(cause, FileNotFoundError):
            why = f"{path} does not exist, so no daemon has reported since boot; {_LOOK_NOW}"
        elif isinstance(cause, PermissionError):
            why = f"{path} {error.message}; only root and the group of the report's folder may read the report"
        else:
            why = f"{path} {error.message}"
        raise SourceUnavailable("report", why) from error
    except SourceInconsistent as error:
        raise SourceInconsistent("report", f"{path}: {error.message}") from error


def text_of_file(path: str, most: int = -1) -> str:
    """Return the first ``most`` characters of a report file, or the whole text if ``most`` is -1.

    The errors do not name the path.

    Raises SourceUnavailable (its cause is the OSError), or SourceInconsistent if the file is not UTF-8.
    """
    try:
        with open_regular(path) as file:
            return file.read(most)
    except OSError as error:
        raise SourceUnavailable("report", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceInconsistent("report", "not a JSON document") from error
