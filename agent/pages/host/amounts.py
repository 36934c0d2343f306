"""The amounts that a finding is about, by class, and the sentence that says what they mean for the host.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from agent.books.uncovered import uncovered
from agent.model.finding import LEAKING, SeenFinding
from agent.model.report import AuditReport
from agent.pages.codes import MISSING, ORPHANS, UNKNOWN_USE
from agent.pages.sizes import listed
from agent.text.wording import some_of

_OTHERS = {
    "consumer-unknown": "For a consumer that is not in nova's database, Placement records",
    "consumer-on-several-providers": "The consumer has allocations on several hosts; the allocations on this host are",
    "allocation-differs": "Nova's and Placement's amounts differ; the larger one is",
    "guest-missing": "For a guest that is missing on this host, nova's amount is",
    "over-capacity": "This host is over its capacity by",
}
_COUNTED_BY = {
    "compute-node-orphaned": "nova's database still contains these amounts",
    "provider-orphaned": "the scheduler may still use these amounts",
}
_ROW = (("VCPU", "vcpus"), ("MEMORY_MB", "memory_mib"), ("DISK_GB", "local_gib"))


def amounts_of_finding(report: AuditReport, seen: SeenFinding) -> dict[str, int]:
    """Return the finding's amounts by class, in the unit of the class.

    The amounts come from the finding itself: its ``facts``, or its ``evidence`` about this host. If the finding has no
    amount, the amounts come from the report's table of all consumers (``report.ledger``).
    """
    finding = seen.finding
    facts = dict(finding.facts)
    if finding.code in ORPHANS:
        found = ((name, facts.get(key)) for name, key in _ROW)
        return {name: value for name, value in found if isinstance(value, int) and value}
    missing = facts.get("missing")
    if finding.resource_class and isinstance(missing, int | float) and missing > 0:
        return {finding.resource_class: math.ceil(missing)}
    others = str(facts.get("other_providers", ""))
    claims = {claim for claim in finding.evidence if not others or claim.provider_key.name not in others}
    by_system: dict[str, dict[str, int]] = defaultdict(dict)
    for claim in claims:
        sums = by_system[claim.source.system]
        sums[claim.resource_class] = sums.get(claim.resource_class, 0) + claim.amount
    # Several systems (nova, libvirt, Placement) may report the same use. To count it only once, return the amounts of
    # the one system with the largest amounts.
    return _largest(by_system.values()) or _in_ledger(report, seen)


def impact_of(report: AuditReport, group: Sequence[SeenFinding]) -> str:
    """Return a sentence that says what the amounts of the findings in ``group`` mean for the host.

    All findings in ``group`` have the same code. Return "" if no amount is known.
    """
    sums: dict[str, int] = defaultdict(int)
    for seen in group:
        for name, amount in amounts_of_finding(report, seen).items():
            sums[name] += amount
    texts = listed(sums)
    if not texts:
        return ""
    code, amounts = group[0].finding.code, some_of(texts)
    are = "is" if len(texts) == 1 and sum(sums.values()) == 1 else "are"
    if code in LEAKING:
        return f"{amounts} of this host {are} wasted."
    if code in MISSING:
        return f"{amounts} of this host can be sold twice: promised by nova, but still free in Placement."
    if code in UNKNOWN_USE:
        return f"{amounts} of this host {are} used, but unknown to the cloud. {_cover(report, sums)}"
    if code in ORPHANS:
        return f"No host has these {amounts}, but {_COUNTED_BY[code]}."
    return f"{_OTHERS[code]} {amounts}." if code in _OTHERS else ""


def _cover(report: AuditReport, sums: Mapping[str, int]) -> str:
    """Return a sentence about guests and volumes unknown to nova: how much of their use Placement counts as free.

    The sentence is only about the classes in ``sums``.
    """
    left = uncovered(report.provider_uuid, report.inventory, report.ledger)
    found = listed({name: amount for name, amount in left.items() if name in sums})
    if not found:
        return "Placement already counts all of this use, as reserved or as allocated."
    return f"Placement counts {some_of(found)} as free, although guests or volumes unknown to nova use these amounts."


def _largest(sums: Iterable[dict[str, int]]) -> dict[str, int]:
    return max(sums, key=lambda each: sorted(each.values(), reverse=True), default={})


def _in_ledger(report: AuditReport, seen: SeenFinding) -> dict[str, int]:
    finding = seen.finding
    about = finding.consumer_uuid or finding.subject
    found: dict[str, int] = defaultdict(int)
    for row in report.ledger:
        if about and (row.consumer_uuid or row.consumer_key) == about and not row.outside_tree:
            found[row.resource_class] += max(row.promised or 0, row.held or 0, row.recorded or 0)
    return {name: amount for name, amount in found.items() if amount}
