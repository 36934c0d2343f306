"""Decide how bad a host is, by the outcome of its last audit and by its findings. Pure: no I/O."""

from __future__ import annotations

import enum

#: Pairs (name, number), such as the number of findings for each code.
Counts = tuple[tuple[str, int], ...]


class Condition(enum.Enum):
    """The most important fact about a host for the operator.

    The members are in the order of urgency, the worst one first.

    UNRATED: there are findings, but the host's agent is too old to send severities. AWAITED: the host is expected, and
    may still send its first message in time.
    """

    NEVER = "never"
    SILENT = "silent"
    CRASHED = "crashed"
    REFUSED = "refused"
    ERROR = "error"
    UNREADABLE = "unreadable"
    PARTIAL = "partial"
    UNRATED = "unrated"
    WARNING = "warning"
    INFO = "info"
    AWAITED = "awaited"
    CLEAN = "clean"


#: The rank of each condition; 0 is the worst. Unreadable and partial hosts count as equally bad.
RANKS = {condition: number for number, condition in enumerate(Condition)} | {
    Condition.PARTIAL: list(Condition).index(Condition.UNREADABLE)
}
#: The character of a condition in the heat strip, which has one character for each group of hosts.
GLYPHS = {
    Condition.NEVER: "x",
    Condition.SILENT: "?",
    Condition.CRASHED: "#",
    Condition.REFUSED: "#",
    Condition.ERROR: "#",
    Condition.UNREADABLE: "!",
    Condition.PARTIAL: "!",
    Condition.UNRATED: "+",
    Condition.WARNING: "+",
    Condition.INFO: "-",
    Condition.AWAITED: " ",
    Condition.CLEAN: ".",
}
#: Hosts in these conditions need no attention: the table leaves them out unless the operator asks for all hosts.
QUIET = frozenset({Condition.CLEAN, Condition.AWAITED})

_OF_OUTCOME = {
    "crashed": Condition.CRASHED,
    "refused": Condition.REFUSED,
    "unreadable": Condition.UNREADABLE,
    "partial": Condition.PARTIAL,
}
_OF_SEVERITY = (("error", Condition.ERROR), ("warning", Condition.WARNING), ("info", Condition.INFO))


def told_condition(outcome: str, severities: Counts | None, findings: Counts | None) -> Condition:
    """Return the condition that a host's message describes.

    The audit's outcome gives one condition, and the findings give another. The worse of the two is returned.
    """
    by_outcome = _OF_OUTCOME.get(outcome, Condition.CLEAN)
    if by_outcome is Condition.CLEAN and outcome not in ("clean", "findings"):
        # The host's agent is newer and sends an outcome that this program does not know. The host becomes UNRATED and
        # not CLEAN, so that the operator looks at it.
        by_outcome = Condition.UNRATED
    return min(by_outcome, _of_findings(severities, findings), key=RANKS.__getitem__)


def _of_findings(severities: Counts | None, findings: Counts | None) -> Condition:
    numbers = dict(severities or ())
    for severity, condition in _OF_SEVERITY:
        if numbers.get(severity):
            return condition
    return Condition.UNRATED if any(number for _, number in findings or ()) else Condition.CLEAN
