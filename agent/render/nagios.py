"""Turn the daemon's last report into one line for Nagios, with performance data and Nagios' exit code. Pure: no I/O.

The codes are those of Nagios' plug-in guidelines: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from agent.model.finding import LEAKING
from agent.model.report import Outcome
from agent.render.documents import Document
from agent.render.status import LastReport

OK, WARNING, CRITICAL, UNKNOWN = 0, 1, 2, 3
_WORDS = {OK: "OK", WARNING: "WARNING", CRITICAL: "CRITICAL", UNKNOWN: "UNKNOWN"}
_BROKEN = frozenset({Outcome.REFUSED, Outcome.CRASHED})
#: The audit interval in seconds that is assumed if no timer triggers audits. AgeLimits counts the age of a report in
#: audit intervals.
_WITHOUT_TIMER_S = 60.0
_MOST_CODES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeLimits:
    """Limits of the last report's age, in audit intervals. An older report makes the check WARNING or CRITICAL."""

    warning: float = 3.0
    critical: float = 10.0


def check_line(last: LastReport, limits: AgeLimits) -> tuple[int, str]:
    """Return the exit code and the line: the state, the host, the problems, and the performance data after ``|``."""
    findings = list(last.audit["findings"])
    errors = [f for f in findings if f["severity"] == "error" and f["confirmed"]]
    interval_s = last.interval_s or _WITHOUT_TIMER_S
    ages = (limits.warning * interval_s, limits.critical * interval_s)
    code = _code(last, findings, errors, ages)
    words = ", ".join(_words(last, findings, errors, ages[0])) or "no findings"
    return code, f"STOCKTAKE {_WORDS[code]} - {last.audit['host']}: {words} | {_performance(last, findings, ages)}"


def unknown_line(why: str) -> tuple[int, str]:
    """Return the exit code and the line for a missing or unreadable report; the sentence ``why`` says what failed."""
    return UNKNOWN, f"STOCKTAKE UNKNOWN - {' '.join(why.replace('|', '/').split())}"


def _code(last: LastReport, findings: list[Document], errors: list[Document], ages: tuple[float, float]) -> int:
    if errors or last.outcome in _BROKEN or last.age_s > ages[1]:
        return CRITICAL
    if findings or last.outcome in {Outcome.PARTIAL, Outcome.UNREADABLE} or last.problems or last.age_s > ages[0]:
        return WARNING
    return OK


def _words(last: LastReport, findings: list[Document], errors: list[Document], old_s: float) -> Iterable[str]:
    if errors:
        codes = [code for code, _ in Counter(f["code"] for f in errors).most_common()]
        more = f" and {len(codes) - _MOST_CODES} more codes" if len(codes) > _MOST_CODES else ""
        yield f"{len(errors)} error{'s' if len(errors) > 1 else ''} ({', '.join(codes[:_MOST_CODES])}{more})"
    if others := len(findings) - len(errors):
        yield f"{others} other finding{'s' if others > 1 else ''}"
    if unknown := _unknown(findings):
        yield f"{unknown} not known"
    if last.outcome not in {Outcome.CLEAN, Outcome.FINDINGS}:
        yield f"outcome {last.outcome.value}"
    if last.age_s > old_s:
        yield f"the last report is {last.age_s:.0f} s old"


def _performance(last: LastReport, findings: list[Document], ages: tuple[float, float]) -> str:
    numbers = Counter(f["severity"] for f in findings)
    leaked = sum(
        claim["amount"]
        for finding in findings
        if finding["code"] in LEAKING
        for claim in finding["evidence"]
        if claim["resource_class"] == "VCPU" and str(claim["source"]).startswith("placement")
    )
    return (
        f"errors={numbers['error']} warnings={numbers['warning']} unknown={_unknown(findings)} leaked_vcpu={leaked:g} "
        f"age={last.age_s:.0f}s;{ages[0]:.0f};{ages[1]:.0f}"
    )


def _unknown(findings: list[Document]) -> int:
    return sum(finding.get("state") == "unknown" for finding in findings)
