"""Gather the facts of the fleet's page: from a folder of reports, or from the messages that ``watch`` has received."""

from __future__ import annotations

import datetime

from agent.cmd.watching.expected_lists import from_file
from agent.errors import SourceError
from agent.fleet.expected import ExpectedHost
from agent.fleet.view import ExpectedHosts, FleetView
from agent.host_files.installed import installed_version
from agent.host_files.report_folder import read_folder, report_files
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.gathered import Folder, gathered
from agent.usage_error import UsageError


def facts_of_folder(folder: str, expected: str | None) -> FleetFacts:
    """Return the facts of all reports in the folder. The reports are read one after another.

    ``expected`` is a file that lists the expected hosts, None without a list. Raises SourceUnavailable if the folder
    cannot be read, UsageError if the list cannot be read.
    """
    listed = None if expected is None else ExpectedHosts(hosts=_expected(expected))
    names = report_files(folder)
    about = Folder(
        source=f"{len(names)} report {'file' if len(names) == 1 else 'files'} of the folder {folder}",
        made=datetime.datetime.now(datetime.UTC),
        version=installed_version(),
        expected=listed,
    )
    return gathered(read_folder(folder, names), about)


def facts_of_view(view: FleetView) -> FleetFacts:
    """Return the facts from the messages that the agents have sent."""
    brokers = ", ".join(cell.broker for cell in view.cells)
    return FleetFacts(
        view=view,
        source=f"the agents' messages on the bus ({brokers})",
        made=view.moment.at.isoformat(),
        version=installed_version(),
    )


def _expected(file: str) -> tuple[ExpectedHost, ...]:
    try:
        return from_file(file)()
    except SourceError as error:
        raise UsageError(f"--expected {file}: {error.message}") from error
