"""Make one row per host, and sums of all hosts, from the hosts' messages and the list of expected hosts. Pure: no I/O.

Every output of ``watch`` is made from a ``FleetView``. An expected host that has sent nothing has a row as well. Two
hosts with the same name in two cells have two rows.
"""

from __future__ import annotations

import datetime
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from agent.fleet.conditions import Condition
from agent.fleet.expected import ExpectedHost
from agent.fleet.host import PATIENCE, SLACK_S, HostSeen

#: The default for the seconds between two messages of a host, used until a host of the cell sends a message.
USUAL_INTERVAL_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """The outage of a broker: ``since`` is when the broker became unreachable, ``error`` is the reason."""

    since: datetime.datetime
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedHosts:
    """The operator's list of the hosts that should send messages to the broker.

    ``hosts`` is None if the list was never read. ``problem`` says why the last read failed; None if it succeeded.
    """

    hosts: tuple[ExpectedHost, ...] | None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSeen:
    """What the message broker of one nova cell has sent. ``name`` is the cell's name, "" if there is only one cell.

    ``away`` is the present outage of the broker, None while the broker can be reached. ``expected`` has the expected
    hosts of this cell. It is None if there is no such list, or if one list is for all cells. ``odd`` is the number of
    hosts whose messages cannot be parsed, ``left_out`` the number of hosts above the maximum. ``stocktake watch`` began
    to wait for messages at ``began_at`` (monotonic seconds) or ``began`` (UTC).
    """

    name: str
    broker: str
    hosts: tuple[HostSeen, ...]
    began_at: float
    began: datetime.datetime
    away: Away | None = None
    expected: ExpectedHosts | None = None
    odd: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a view was made: ``now`` in monotonic seconds, ``at`` in UTC.

    ``waited``: whether the wait for messages is over. After the wait, an expected host that has sent no message has the
    condition NEVER.
    """

    now: float
    at: datetime.datetime
    waited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """One host. ``seen`` is its last message, None if the host has sent no message since ``watch`` began to wait.

    ``is_expected`` is None if no list of expected hosts is known. ``age_s`` is the age of the last message. ``for_s``
    is how many seconds the condition has lasted, None if the host is clean or has sent no message. ``for_at_least``:
    whether the condition may have lasted longer than ``for_s``.
    """

    cell: str
    host: str
    group: str
    disabled: bool
    is_expected: bool | None
    condition: Condition
    seen: HostSeen | None
    age_s: float | None
    for_s: float | None
    for_at_least: bool
    began: datetime.datetime

    @property
    def key(self) -> tuple[str, str]:
        """The cell and the host, which together identify the row in every view."""
        return (self.cell, self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sums over all hosts. ``held_back`` is the number of writes that the agents do not make for now.

    The other sums are amounts by resource class. ``leaked``: allocated to consumers that no longer use the amount.
    ``missing``: promised to instances by nova, but not allocated. ``uncovered``: used by guests or volumes unknown to
    nova, but neither allocated nor reserved.

    ``not_known`` is the number of hosts whose leaked amounts are not known; ``leaked`` does not include these hosts.
    ``uncovered_not_known`` is the number of hosts whose ``uncovered`` amounts are not known.
    """

    leaked: Mapping[str, int]
    missing: Mapping[str, int]
    uncovered: Mapping[str, int]
    held_back: int
    not_known: int
    uncovered_not_known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView:
    """The whole fleet at one moment. ``rows`` has every host, sorted by host and cell.

    ``expected`` is the number of expected hosts, None if no list is known. ``problems`` are the reasons why lists of
    expected hosts could not be read.
    """

    moment: Moment
    cells: tuple[CellSeen, ...]
    rows: tuple[HostRow, ...]
    counts: Mapping[Condition, int]
    sums: Sums
    expected: int | None
    problems: tuple[str, ...]


def fleet_view(cells: Iterable[CellSeen], everywhere: ExpectedHosts | None, moment: Moment) -> FleetView:
    """Return the view of the whole fleet.

    ``everywhere`` is the one list of expected hosts for all cells; None if there is no such list.
    """
    all_cells = tuple(cells)
    rows = tuple(sorted(_rows(all_cells, everywhere, moment), key=attrgetter("host", "cell")))
    lists = [each for each in (everywhere, *(cell.expected for cell in all_cells)) if each is not None]
    known = [each.hosts for each in lists if each.hosts is not None]
    return FleetView(
        moment=moment,
        cells=all_cells,
        rows=rows,
        counts=Counter(row.condition for row in rows),
        sums=_sums(rows),
        expected=sum(map(len, known)) if known else None,
        problems=tuple(dict.fromkeys(each.problem for each in lists if each.problem is not None)),
    )


def interval_of(hosts: Iterable[HostSeen]) -> float:
    """Return the usual seconds between two messages of a host: the median of these hosts' intervals."""
    intervals = [seen.interval_s for seen in hosts]
    return statistics.median_low(intervals) if intervals else USUAL_INTERVAL_S


def _rows(cells: tuple[CellSeen, ...], everywhere: ExpectedHosts | None, moment: Moment) -> Iterator[HostRow]:
    for cell in cells:
        listed = _by_host(cell.expected or everywhere)
        for seen in cell.hosts:
            yield _heard_row(cell, seen, listed, moment.now)
        if cell.expected is not None:
            yield from _unheard_rows(cell.name, (cell,), listed, moment)
    if everywhere is not None:
        yield from _unheard_rows("", cells, _by_host(everywhere), moment)


def _by_host(expected: ExpectedHosts | None) -> Mapping[str, ExpectedHost] | None:
    """Return the expected hosts by name; None if no list is known."""
    if expected is None or expected.hosts is None:
        return None
    return {each.host: each for each in expected.hosts}


def row_of_message(cell: str, seen: HostSeen, at: datetime.datetime) -> HostRow:
    """Return the row of the host whose message ``seen`` has just arrived. ``at`` is the time of arrival.

    The row's ``is_expected`` is None, because this function knows no list of expected hosts.
    """
    arrived = CellSeen(name=cell, broker="", hosts=(seen,), began_at=seen.received_at, began=at)
    return _heard_row(arrived, seen, None, seen.received_at)


def _heard_row(cell: CellSeen, seen: HostSeen, listed: Mapping[str, ExpectedHost] | None, now: float) -> HostRow:
    expected = listed.get(seen.host) if listed else None
    age_s = seen.age_s(now)
    condition = Condition.SILENT if seen.is_silent(now) else seen.told
    for_s: float | None = None
    at_least = False
    if condition is Condition.SILENT:
        for_s = age_s
    elif condition is not Condition.CLEAN:
        at_least = seen.oldest_age_s is None
        for_s = max(0.0, now - seen.outcome_since) if seen.oldest_age_s is None else seen.oldest_age_s + age_s
    return HostRow(
        cell=cell.name,
        host=seen.host,
        group=expected.group if expected else "",
        disabled=expected is not None and expected.disabled,
        is_expected=None if listed is None else expected is not None,
        condition=condition,
        seen=seen,
        age_s=age_s,
        for_s=for_s,
        for_at_least=at_least,
        began=cell.began,
    )


def _unheard_rows(
    cell: str, cells: tuple[CellSeen, ...], listed: Mapping[str, ExpectedHost] | None, moment: Moment
) -> Iterator[HostRow]:
    """Yield the rows of the expected hosts (``listed``) that have sent no message.

    ``cells`` are all cells to which these hosts may belong.
    """
    heard = {seen.host for each in cells for seen in each.hosts}
    unheard = [each for host, each in (listed or {}).items() if host not in heard]
    if not unheard:
        return
    is_late = moment.waited or all(moment.now > _patience_ends_at(each) for each in cells)
    for expected in unheard:
        yield HostRow(
            cell=cell,
            host=expected.host,
            group=expected.group,
            disabled=expected.disabled,
            is_expected=True,
            condition=Condition.NEVER if is_late else Condition.AWAITED,
            seen=None,
            age_s=None,
            for_s=None,
            for_at_least=False,
            began=min(each.began for each in cells),
        )


def _patience_ends_at(cell: CellSeen) -> float:
    return cell.began_at + PATIENCE * interval_of(cell.hosts) + SLACK_S


def _sums(rows: Iterable[HostRow]) -> Sums:
    leaked: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    uncovered: Counter[str] = Counter()
    held_back = not_known = uncovered_not_known = 0
    for row in rows:
        seen = row.seen
        if seen is None or seen.leaked is None:
            not_known += 1
        if seen is None or seen.uncovered is None:
            uncovered_not_known += 1
        if seen is not None and (seen.leaked or seen.missing or seen.uncovered or seen.held_back):
            leaked.update(dict(seen.leaked or ()))
            missing.update(dict(seen.missing or ()))
            uncovered.update(dict(seen.uncovered or ()))
            held_back += seen.held_back or 0
    return Sums(
        leaked=leaked,
        missing=missing,
        uncovered=uncovered,
        held_back=held_back,
        not_known=not_known,
        uncovered_not_known=uncovered_not_known,
    )
