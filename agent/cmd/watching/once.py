"""Ask all agents once, wait for their answers, print the fleet, and decide the exit code."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from agent.cmd.exit_handling import to_stderr
from agent.cmd.waits.caller import Watch
from agent.cmd.watching.drawing import report_lines
from agent.cmd.watching.page_file import write_view
from agent.cmd.watching.setup import Watched
from agent.exit_codes import CLEAN, FINDINGS, PARTIAL, TEMPORARY
from agent.fleet.documents import COLUMNS, csv_row, fleet_document
from agent.fleet.fail_on import holding
from agent.fleet.ordering import Choice, chosen
from agent.fleet.view import FleetView
from agent.render.draw import drawn
from agent.render.layout import Look

#: The wait ends when no further host has answered for this many seconds.
SETTLED_S = 2.0
#: After the agents' last answer, the command waits at most this many seconds for the lists of expected hosts.
LISTS_S = 25.0
_LOOK_S = 0.1
_STDOUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The options of ``watch --once``.

    ``timeout_s`` is the longest wait for the first answer. ``fail_on`` has the conditions of ``--fail-on``. ``waiting``
    is a function that shows on stderr what the command waits for. ``page`` is the file for the HTML page about all
    hosts; ``-`` writes the page to stdout instead of the table.
    """

    form: str
    choice: Choice
    timeout_s: float
    fail_on: frozenset[str]
    look: Look
    waiting: Watch
    page: str | None = None


def one_round(watched: Watched, wanted: Round, out: TextIO) -> int:
    """Wait for the answers, print, and return the exit code.

    75: a broker is unreachable. 2: no agent answered. 3: a condition of ``fail_on`` holds.

    The condition "never" means that an expected host has never sent a message. If this condition is in ``fail_on`` and
    a list of expected hosts could not be read, the code is also 2.
    """
    _wait_for_answers(watched, wanted.timeout_s)
    with wanted.waiting("the list of expected hosts", LISTS_S):
        _wait_for_lists(watched)
    view = watched.view(waited=True)
    if wanted.page is not None:
        write_view(wanted.page, view)
    if wanted.page != _STDOUT:
        _print(view, wanted, out)
    for cell in watched.cells:
        for sender, problem in cell.odd.items():
            to_stderr(f"{sender}: {problem}")
    return _code(view, wanted)


def _wait_for_answers(watched: Watched, timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    known = 0
    while time.monotonic() < end:
        time.sleep(_LOOK_S)
        heard = sum(cell.heard for cell in watched.cells)
        if heard > known:
            known, end = heard, time.monotonic() + SETTLED_S


def _wait_for_lists(watched: Watched) -> None:
    end = time.monotonic() + LISTS_S
    for each in watched.lists:
        each.wait_first(max(0.0, end - time.monotonic()))


def _print(view: FleetView, wanted: Round, out: TextIO) -> None:
    if wanted.form == "json":
        out.write(json.dumps(fleet_document(view), indent=2, allow_nan=False) + "\n")
    elif wanted.form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(csv_row(row, view.moment.at) for row in view.rows)
    elif view.rows:
        rows = chosen(view.rows, wanted.choice)
        out.write(drawn(report_lines(view, rows, wanted.look.width), wanted.look))


def _code(view: FleetView, wanted: Round) -> int:
    away = [cell for cell in view.cells if cell.away]
    for cell in away:
        to_stderr(f"{cell.name}: the broker cannot be reached: {cell.away.error if cell.away else ''}")
    for problem in view.problems:
        to_stderr(f"the list of expected hosts was not read: {problem}")
    if away:
        return TEMPORARY
    if not any(row.seen for row in view.rows):
        to_stderr(f"no agent has answered within {wanted.timeout_s:g} s")
        return PARTIAL
    if "never" in wanted.fail_on and view.problems:
        return PARTIAL
    return FINDINGS if _held(view, wanted.fail_on) else CLEAN


def _held(view: FleetView, fail_on: Iterable[str]) -> bool:
    return not holding(view.rows).isdisjoint(fail_on)
