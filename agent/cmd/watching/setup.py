"""Build what ``watch`` needs from the command line and the configuration files. Each broker serves one nova cell."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.bus.service import checked_bus
from agent.bus.transport import BROKER, Bus
from agent.cmd.watching.cells import CellParts, WatchedCell
from agent.cmd.watching.expected_lists import ExpectedList, from_file, from_nova
from agent.cmd.watching.store import HostStore, Listen
from agent.config.loaded import Loaded
from agent.config.options.rabbit import bus_options_from
from agent.errors import ConfigError, SourceError, SourceUnavailable
from agent.fleet.view import FleetView, Moment, fleet_view
from agent.usage_error import UsageError

#: Values of ``--expected`` that name no file.
NOVA, NO_EXPECTATION = "nova", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell that the operator named on the command line. ``name`` is "" if it is the only cell."""

    name: str
    loaded: Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Receivers:
    """Functions that ``watch`` calls.

    ``listen`` takes a cell's name and returns the function that receives the valid messages of this cell. ``complain``
    gets a sentence about each sender of unreadable messages. ``told`` gets a sentence when a broker becomes unreachable
    or reachable again.
    """

    listen: Callable[[str], Listen | None]
    complain: Callable[[str], None] | None
    told: Callable[[str], None] | None


class Watched:
    """All nova cells. ``everywhere`` is their common list of expected hosts. A ``with`` block ends with ``close``."""

    def __init__(self, cells: Sequence[WatchedCell], everywhere: ExpectedList | None) -> None:
        self.cells = tuple(cells)
        self.everywhere = everywhere

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, timeout_s: float) -> None:
        """Connect to the brokers of all cells, and start to read the lists of expected hosts.

        Wait until each broker has accepted or refused the connection, but at most ``timeout_s`` seconds for all. Raises
        SourceUnavailable with all errors if no broker has accepted the connection.
        """
        for cell in self.cells:
            cell.start()
        if self.everywhere is not None:
            self.everywhere.start()
        end = time.monotonic() + timeout_s
        errors = []
        for cell in self.cells:
            is_decided = cell.wait_decided(max(0.0, end - time.monotonic()))
            error = cell.error if is_decided else f"no answer within {timeout_s:g} s"
            if error is not None:
                errors.append(f"{cell.name}: {error}" if cell.name else error)
        if len(errors) == len(self.cells):
            raise SourceUnavailable(BROKER, "; ".join(errors))

    def close(self) -> None:
        """Close all connections. If a broker hangs, this takes some seconds."""
        if self.everywhere is not None:
            self.everywhere.close()
        closers = [threading.Thread(target=cell.close, daemon=True) for cell in self.cells]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join()

    @property
    def brokers(self) -> str:
        """The addresses of all brokers, without their passwords."""
        return ", ".join(cell.broker for cell in self.cells)

    @property
    def lists(self) -> tuple[ExpectedList, ...]:
        """All lists of expected hosts."""
        found = (self.everywhere, *(cell.expected for cell in self.cells))
        return tuple(each for each in found if each is not None)

    def view(self, *, waited: bool = False) -> FleetView:
        """Return the present view of the whole fleet. ``waited``: whether the time for the hosts' answers is over."""
        moment = Moment(now=time.monotonic(), at=datetime.datetime.now(datetime.UTC), waited=waited)
        everywhere = self.everywhere.value if self.everywhere else None
        return fleet_view((cell.seen() for cell in self.cells), everywhere, moment)


def watched(cells: Sequence[Cell], expected: str | None, receivers: Receivers) -> Watched:
    """Return the cells without starting them. Raises ConfigError and UsageError.

    ``expected`` is the value of ``--expected``: ``nova``, ``none`` or a file. If the operator did not pass
    the option, ``expected`` is None. Then nova lists the hosts of each cell that has a [state] source.
    """
    everywhere = None
    if expected is not None and expected not in (NOVA, NO_EXPECTATION):
        read = from_file(expected)
        try:
            read()
        except SourceError as error:
            raise UsageError(f"--expected {expected}: {error.message}") from error
        everywhere = ExpectedList(read)
    return Watched([_watched_cell(cell, expected, receivers) for cell in cells], everywhere)


def _watched_cell(cell: Cell, expected: str | None, receivers: Receivers) -> WatchedCell:
    return WatchedCell(
        CellParts(
            name=cell.name,
            bus=_bus(cell.loaded),
            store=HostStore(receivers.listen(cell.name), receivers.complain),
            expected=_nova_list(cell.loaded, expected),
            told=receivers.told,
        )
    )


def _bus(loaded: Loaded) -> Bus:
    options = bus_options_from(loaded)
    if options is None:
        where = ", ".join((*loaded.files, *loaded.nova_files)) or "no file"
        raise ConfigError(f"{where}: watch needs the message bus: set [DEFAULT] transport_url")
    return checked_bus(options)


def _nova_list(loaded: Loaded, expected: str | None) -> ExpectedList | None:
    if expected not in (NOVA, None):
        return None
    read = from_nova(loaded)
    if read is None and expected == NOVA:
        raise UsageError("--expected nova: [state] source is none, so no nova can list the hosts")
    return None if read is None else ExpectedList(read)
