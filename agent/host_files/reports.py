"""The last report as a file in the run directory: what ``stocktake status`` reads, also while the bus is down."""

from __future__ import annotations

import os

from agent.errors import SourceInconsistent, SourceUnavailable
from agent.host_files.atomic import replace_file
from agent.model.report import AuditReport
from agent.render.documents import Document, report_from_json, report_to_json

FILE = "report.json"
# No secrets, but the names that tenants gave their instances: for root and the group of the folder.
MODE = 0o640


def report_path(run_dir: str) -> str:
    """Where the report lies."""
    return os.path.join(run_dir, FILE)


def write_report(run_dir: str, report: AuditReport) -> None:
    """Replace the last report. Raises SourceUnavailable where the folder cannot be written."""
    path = report_path(run_dir)
    try:
        os.makedirs(run_dir, mode=0o750, exist_ok=True)
        replace_file(path, report_to_json(report), MODE)
    except OSError as error:
        raise SourceUnavailable("report", f"{path} cannot be written: {error.strerror}") from error


def read_report(run_dir: str) -> Document:
    """The last report. Raises SourceUnavailable where there is none, SourceInconsistent where it is not one."""
    path = report_path(run_dir)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError as error:
        raise SourceUnavailable("report", f"{path} does not exist: no daemon has reported since boot") from error
    except OSError as error:
        hint = ", it is for root and the group of its folder" if isinstance(error, PermissionError) else ""
        raise SourceUnavailable("report", f"{path} cannot be read: {error.strerror}{hint}") from error
    except UnicodeDecodeError as error:
        raise SourceInconsistent("report", f"{path}: not a JSON document") from error
    try:
        return report_from_json(text)
    except SourceInconsistent as error:
        raise SourceInconsistent("report", f"{path}: {error.message}") from error
