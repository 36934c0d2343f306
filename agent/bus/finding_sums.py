"""Sum up one host's findings for its state message: numbers by severity and code, leaked amounts, the worst finding.

A finding that the last audit could not check (state ``unknown``) counts in every number, with the amounts of the last
audit that checked the finding. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from agent.model.claim import Claim
from agent.model.finding import LEAKING, FindingState, SeenFinding, Severity
from agent.model.memo import for_equal_arguments

Document = dict[str, Any]

#: The codes of findings which say that nova's database promises an amount for which Placement has no allocation.
MISSING = frozenset({"allocation-missing"})
#: The maximum number of characters of the sentence about the worst finding.
MOST_CHARACTERS = 160

_RECORDED, _PROMISED = "placement", "nova"
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def sums_of(findings: tuple[SeenFinding, ...], *, books_read: bool) -> Document:
    """Return the part of the host's state message that is computed from the findings.

    Amounts are in the unit of their resource class. Without any finding, ``oldest_at`` and ``worst`` are null.
    ``leaked`` has the amounts that only Placement counts. ``missing`` has the amounts that instances have but Placement
    does not count. ``books_read`` is False if this audit could not look for leaked and missing amounts. Then ``leaked``
    and ``missing`` have the amounts of earlier findings, and an empty sum becomes null (unknown).
    """
    sums = _sums(findings)
    unread = {} if books_read else {name: None for name in ("leaked", "missing") if not sums[name]}
    return {**sums, **unread}


# Cached: the sender of state messages asks for the same sums several times between two audits.
@for_equal_arguments
def _sums(findings: tuple[SeenFinding, ...]) -> Document:
    unknown = [seen for seen in findings if seen.state is FindingState.UNKNOWN]
    roots = [seen for seen in findings if not seen.caused_by]
    return {
        "severities": dict(sorted(Counter(seen.finding.severity.value for seen in findings).items())),
        "confirmed": _by_code(seen for seen in findings if seen.confirmed),
        "unknown": _by_code(unknown),
        "unknown_since": min((seen.last_seen_at for seen in unknown if seen.last_seen_at), default=None),
        "causes_by_code": _by_code(roots),
        "leaked": amounts_of(findings, LEAKING, _RECORDED),
        "missing": amounts_of(findings, MISSING, _PROMISED),
        "oldest_by_code": _oldest(findings),
        "oldest_at": min((seen.first_seen_at for seen in findings if seen.first_seen_at), default=None),
        "worst": _worst(roots or findings),
    }


def no_sums() -> Document:
    """Return the keys of ``sums_of``, each with None, which means that the findings are unknown.

    Use this function only if the audit could not look for findings, and no finding of an earlier audit is known.
    """
    return dict.fromkeys(sums_of((), books_read=False))


def _by_code(findings: Iterable[SeenFinding]) -> dict[str, int]:
    return dict(sorted(Counter(seen.finding.code for seen in findings).items()))


def _oldest(findings: Iterable[SeenFinding]) -> dict[str, str]:
    """Return, for each code, the earliest known ``first_seen_at`` of its findings. Omit a code with no known time."""
    found: dict[str, str] = {}
    for seen in findings:
        if seen.first_seen_at:
            found[seen.finding.code] = min(found.get(seen.finding.code, seen.first_seen_at), seen.first_seen_at)
    return dict(sorted(found.items()))


def amounts_of(findings: Iterable[SeenFinding], codes: frozenset[str], book: str) -> dict[str, int]:
    """Return the sum of the amounts in the evidence of the findings with these ``codes``, by resource class.

    ``book`` selects amounts: ``placement`` (allocated) or ``nova`` (promised to instances). If several findings have
    the same amount of the same consumer as evidence, the amount counts once.
    """
    claims: set[Claim] = {
        claim
        for seen in findings
        if seen.finding.code in codes
        for claim in seen.finding.evidence
        if claim.source.system == book
    }
    sums: dict[str, int] = defaultdict(int)
    for claim in claims:
        sums[claim.resource_class] += claim.amount
    return dict(sorted(sums.items()))


def _worst(findings: Sequence[SeenFinding]) -> Document | None:
    """Return the finding with the highest severity; if several have it, return the one that was seen first."""
    if not findings:
        return None
    seen = min(findings, key=_badness)
    finding = seen.finding
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "headline": (finding.headline or finding.actual)[:MOST_CHARACTERS],
        "first_seen_at": seen.first_seen_at,
    }


def _badness(seen: SeenFinding) -> tuple[object, ...]:
    # The finding's id decides between otherwise equal findings, so that each audit chooses the same finding.
    return (_ORDER[seen.finding.severity], seen.first_seen_at, seen.finding.code, seen.finding.id)
