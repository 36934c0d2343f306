"""Write hosts, times and amounts as text for the page of the fleet.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence

from agent.fleet.conditions import Condition, Counts
from agent.fleet.table import middle_cut, what
from agent.fleet.view import HostRow
from agent.fleet.words import UNKNOWN, duration
from agent.pages.blocks import Cell
from agent.pages.fleet.facts import FleetFacts
from agent.pages.sizes import by_the_rule, listed
from agent.pages.times import age_words, moment_of

NONE = "-"
#: The maximum number of characters of a host's or group's name. A longer name is cut in the middle, because its column
#: does not wrap.
MOST_NAME = 48


def hosts(number: int) -> str:
    """Return ``1 host``, ``14 hosts``."""
    return counted(number, "host", "hosts")


def hosts_and_files(number: int, facts: FleetFacts) -> str:
    """Return for example ``11 hosts and 1 file that is not a report``. A number that is 0 is left out.

    The number of files is never added to the number of hosts, because such a file may belong to a host that is already
    counted.
    """
    files = len(facts.unreadable)
    of_files = f"{counted(files, 'file that is', 'files that are')} not {'a report' if files == 1 else 'reports'}"
    return " and ".join((*((hosts(number),) if number else ()), *((of_files,) if files else ())))


def counted(number: int, one: str, many: str) -> str:
    """Return the number with the noun in the singular or plural: ``1 host``, ``14 hosts``."""
    return f"{number} {one if number == 1 else many}"


def amounts(found: Counts | Mapping[str, int] | None) -> str:
    """Return ``8 VCPU, 16 GiB RAM``; ``?`` if the amounts are not known, ``-`` if there are none."""
    return UNKNOWN if found is None else ", ".join(listed(dict(found))) or NONE


def share(part: float, whole: float) -> str:
    """Return ``part / whole`` as ``1.2 %``; a share between 0 and 0.1 % is written ``<0.1 %``."""
    percent = 100.0 * part / whole if whole > 0 else 0.0
    return "<0.1 %" if 0 < percent < 0.1 else f"{percent:.1f} %"


def stamp(at: datetime.datetime, now: datetime.datetime) -> str:
    """Return the time in UTC with its age: ``2026-11-22 03:11 (age 2 h)``. The column's heading says UTC."""
    return f"{at.astimezone(datetime.UTC):%Y-%m-%d %H:%M} ({age_words((now - at).total_seconds())})"


def stamp_of(text: str, now: datetime.datetime) -> str:
    """Return an ISO 8601 time in the form of ``stamp``. Other text stays unchanged; an empty text becomes ``?``."""
    moment = moment_of(text)
    return stamp(moment, now) if moment else text or UNKNOWN


def since(row: HostRow, facts: FleetFacts) -> str:
    """Return a text with the time at which an audit first saw the host's oldest finding.

    For a silent host, the time is that of its last message.
    """
    if row.condition is Condition.NEVER:
        return "not known"
    if row.for_s is None:
        return NONE
    text = stamp(facts.at - datetime.timedelta(seconds=min(row.for_s, 1e9)), facts.at)
    return f"{text}, or earlier" if row.for_at_least else text


def oldest(row: HostRow) -> Mapping[str, str]:
    """Return, by finding code, when an audit first saw the host's oldest finding with this code (ISO 8601).

    Return {} if the host's message has no such times.
    """
    return dict((row.seen.oldest_by_code if row.seen else None) or ())


def since_codes(row: HostRow, codes: Iterable[str], facts: FleetFacts) -> str:
    """Return a text with the time at which an audit first saw the host's oldest finding with one of these codes.

    If the host's message has no such time, return what ``since`` returns: the time of the oldest finding of any code.
    """
    times = oldest(row)
    known = [times[code] for code in codes if code in times]
    return stamp_of(min(known), facts.at) if known else since(row, facts)


def began_codes(row: HostRow, codes: Iterable[str], facts: FleetFacts) -> str:
    """Return a text with the time at which the oldest fault with one of these codes began.

    The time comes from nova's database; the text is ``?`` if the database has no such time.
    """
    times = began_by_code(row, facts)
    return stamp_of(min((times[code] for code in codes if code in times), default=""), facts.at)


def began_by_code(row: HostRow, facts: FleetFacts) -> Mapping[str, str]:
    """Map each finding code to the time (ISO 8601) at which the oldest fault with this code began.

    The times come from nova's database. A code without a known time is left out.
    """
    details = facts.details_of(row)
    return {each.code: each.began for each in details.codes if each.began} if details else {}


def as_of(row: HostRow) -> str:
    """Return ``as of 2026-11-21 21:36``, the time of a silent host's numbers; "" for a host that is not silent."""
    if row.condition is not Condition.SILENT or row.seen is None:
        return ""
    audited = moment_of(row.seen.audited_at)
    return f"as of {audited.astimezone(datetime.UTC):%Y-%m-%d %H:%M}" if audited else "as of its last report"


def state_age_s(row: HostRow, facts: FleetFacts) -> float | None:
    """Return the age in seconds of the audit that the row shows; None if the host has sent nothing."""
    if row.seen is None or row.age_s is None:
        return None
    audited = moment_of(row.seen.audited_at)
    audited_age = 0.0 if audited is None else (facts.at - audited).total_seconds()
    return max(0.0, row.age_s, audited_age)


def short_age(seconds: float | None) -> str:
    """Return ``12s``, ``6m``, ``2h``, ``3d``; ``-`` if the host has sent nothing."""
    return NONE if seconds is None else duration(seconds)


def about(row: HostRow, facts: FleetFacts) -> str:
    """Return in words what is wrong with the host. On a page made from reports, the text does not mention messages."""
    if facts.details is not None and row.condition is Condition.NEVER:
        return "expected, but there is no report of this host"
    if facts.details is not None and row.condition is Condition.SILENT:
        return "the report of this host is old"
    return by_the_rule(what(row, facts.at))


def place(row: HostRow) -> str:
    """Return where the host is: its group, and its cell if the fleet has several cells."""
    return name(" / ".join(part for part in (row.cell, row.group) if part))


def name(text: str) -> str:
    """Return the name of a host or group, cut in its middle if it is long."""
    return middle_cut(text, MOST_NAME)


def host_cell(row: HostRow, places: Mapping[tuple[str, str], str] | None = None) -> Cell:
    """Return the cell with the host's name. If ``places`` has the id of the host's row, the name links to the row.

    The cell also says if the host is disabled, and shows the date of a silent host's numbers.
    """
    target = (places or {}).get(row.key, "")
    notes = [note for note in ("disabled" if row.disabled else "", as_of(row)) if note]
    shown = f"{name(row.host)} ({', '.join(notes)})" if notes else name(row.host)
    return Cell(text=shown, href=f"#{target}" if target else "")


def marked_names(facts: FleetFacts) -> Mapping[str, str]:
    """Return each host's name as the page shows it, with the notes "disabled" and "as of ..." (``host_cell``)."""
    return {row.host: host_cell(row).text for row in facts.view.rows}


def and_more(shown: int, total: int, noun: str) -> str:
    """Return the line below a table that leaves rows out, such as ``and 3 more hosts``; "" if no row is left out."""
    return f"and {total - shown} more {noun}" if total > shown else ""


def some(names: Sequence[str], most: int) -> str:
    """Return the first ``most`` names, and the number of the others: ``a, b and 3 more``."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
