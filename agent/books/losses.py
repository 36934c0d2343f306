"""Count for how long each source has been unread (its *loss*), and decide how severe the finding about the loss is.

The finding is a warning at first. It becomes an error if the loss lasts and the agent needs the source for its writes,
because Placement then keeps outdated values. If such a source rejects the agent's credentials, the finding is an error
at once, because a retry does not help. It stays an error until the agent reads the source, even after a restart. Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from agent.model.finding import Finding, Loss, Severity
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from agent.resources import BUILTIN as RESOURCES

#: The finding about an unread source becomes an error only if both limits are reached: ERROR_AUDITS audits in a row
#: could not read the source, and the source has been unread for ERROR_S seconds.
ERROR_AUDITS = 3
ERROR_S = 300

UNAVAILABLE = "source-unavailable"


class Failed(NamedTuple):
    """A source that this audit could not read, or did not try to read (``asked`` is then False).

    ``denied``: the source rejected the agent's credentials.
    """

    source: str
    denied: bool
    asked: bool = True


class Moment(NamedTuple):
    """The audit's time: ``now`` in ISO 8601 UTC, ``now_s`` in seconds since the boot. ``boot`` identifies the boot."""

    now: str
    now_s: int
    boot: str


def weighty(settings: Settings) -> frozenset[str]:
    """Return the names of the sources that at least one of the agent's writes needs."""
    return frozenset({PLACEMENT, LIBVIRT, STATE}).union(*(resource.needs(settings) for resource in RESOURCES))


def losses_after(
    before: Iterable[Loss], boot_before: str, failed: Iterable[Failed], at: Moment, settings: Settings
) -> tuple[Loss, ...]:
    """Return one Loss for each unread source. The Loss says how long its source has been unread.

    If this audit did not try to read a source, the source keeps its Loss of the last audit.
    """
    known = {loss.source: loss for loss in before}
    heavy = weighty(settings)
    found = []
    for one in failed:
        last = known.get(one.source)
        if not one.asked:
            found.extend([last] if last else [])
            continue
        # After a reboot of the host, the seconds since the previous boot mean nothing: count from now.
        since_s = last.since_s if last and boot_before == at.boot else at.now_s
        audits = last.audits + 1 if last else 1
        lasts = audits >= ERROR_AUDITS and at.now_s - since_s >= ERROR_S
        is_error = one.source in heavy and (one.denied or lasts or (last is not None and last.is_error))
        found.append(Loss(one.source, last.since if last else at.now, since_s, audits, is_error))
    return tuple(sorted(found))


def graded(findings: Iterable[Finding], losses: Iterable[Loss]) -> tuple[Finding, ...]:
    """Return the findings, with severity ERROR if the finding's source has been unread for too long."""
    errors = {loss.source for loss in losses if loss.is_error}
    if not errors:
        return tuple(findings)
    return tuple(
        dataclasses.replace(finding, severity=Severity.ERROR)
        if finding.code == UNAVAILABLE and finding.subject in errors
        else finding
        for finding in findings
    )
