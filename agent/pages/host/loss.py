"""Compute the three numbers at the top of a host's page.

- Sold twice: capacity in use that the scheduler may allocate again.
- Wasted: capacity that Placement records for consumers that use nothing.
- Unaccounted: bytes without an owner, and allocations of consumers that nova does not know.

All amounts are in the unit of their resource class. A number is not known if the audit could not read a source that the
number depends on.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.books.uncovered import RESTS_ON, uncovered
from agent.model.finding import LEAKING, SeenFinding
from agent.model.report import AuditReport, LedgerRow
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, STATE
from agent.pages.codes import MISSING, UNKNOWN_USE
from agent.pages.sizes import class_place

_STORES = (LVM, FILESYSTEM, IMAGES, CEPH)
_UNKNOWN_OWNER = "unknown"
_UNKNOWN_CONSUMERS = frozenset({"consumer-unknown"})
_SYSTEMS = {"promised": "nova", "recorded": "placement"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One of the numbers "sold twice", "wasted" and "unaccounted", as amounts by resource class, without zeros.

    ``missing``: the sources that the number needs but the audit could not read. If a source is missing, the amounts are
    those of the last successful check, and the real amounts may be larger.
    ``size_bytes``: the bytes without an owner, summed over all stores; None for a number that does not count bytes.
    ``seen``: when audits first saw the findings about the amounts (ISO 8601, earliest first).
    ``began``: when the faults in these findings began, if nova's database says so.
    """

    amounts: Mapping[str, int] = field(default_factory=dict)
    size_bytes: int | None = None
    missing: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    began: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether the audit read every source that the number depends on."""
        return not self.missing

    @property
    def is_none(self) -> bool:
        """Whether the number is 0, and the audit read all sources that the number needs."""
        return self.is_known and not self.amounts and not self.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The three numbers of a host.

    ``sold_twice``: amounts that are promised or used although Placement has neither an allocation nor a reserve for
    them, so the scheduler may allocate them again. ``wasted``: amounts recorded for consumers that use nothing.
    ``unaccounted``: bytes without an owner, and amounts that Placement records for consumers that nova does not know.
    """

    sold_twice: Loss
    wasted: Loss
    unaccounted: Loss


def losses_of(report: AuditReport) -> Losses:
    """Return the numbers "sold twice", "wasted" and "unaccounted", computed from the audit's report."""
    left = uncovered(report.provider_uuid, report.inventory, report.ledger)
    return Losses(
        sold_twice=Loss(
            amounts=_sum(
                amounts_of(report, MISSING, "promised"),
                left,
            ),
            missing=_unread(report, *RESTS_ON),
            seen=_seen(report, MISSING | UNKNOWN_USE if left else MISSING),
            began=_began(report, MISSING | UNKNOWN_USE if left else MISSING),
        ),
        wasted=Loss(
            amounts=amounts_of(report, LEAKING, "recorded"),
            missing=_unread(report, PLACEMENT, STATE),
            seen=_seen(report, LEAKING),
            began=_began(report, LEAKING),
        ),
        unaccounted=Loss(
            amounts=amounts_of(report, _UNKNOWN_CONSUMERS, "recorded"),
            size_bytes=without_owner(report),
            missing=_unread(report, PLACEMENT, STATE, LIBVIRT, *_STORES),
            seen=_seen(report, _UNKNOWN_CONSUMERS),
            began=_began(report, _UNKNOWN_CONSUMERS),
        ),
    )


def amounts_of(report: AuditReport, codes: frozenset[str], book: str) -> dict[str, int]:
    """Return the amounts of all consumers that have a finding with one of these codes, summed by resource class.

    ``book`` selects the source: ``promised`` (nova's database) or ``recorded`` (Placement). If the audit could not read
    this source, the amounts come from each finding's evidence, as it was at the last check.
    """
    rows: dict[str, list[LedgerRow]] = defaultdict(list)
    for row in report.ledger:
        if row.consumer_uuid and not row.outside_tree and getattr(row, book):
            rows[row.consumer_uuid].append(row)
    consumers = {seen.finding.consumer_uuid: seen for seen in report.findings if seen.finding.code in codes}
    return _sum(
        *(
            _added((row.resource_class, getattr(row, book)) for row in rows[consumer])
            if consumer in rows
            else _in_evidence(seen, book)
            for consumer, seen in consumers.items()
        )
    )


def _in_evidence(seen: SeenFinding, book: str) -> dict[str, int]:
    claims = set(seen.finding.evidence)
    return _added((each.resource_class, each.amount) for each in claims if each.source.system == _SYSTEMS[book])


def _added(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for name, amount in pairs:
        total[name] += amount
    return total


def without_owner(report: AuditReport) -> int:
    """Return how many bytes of the report's storage have no known owner.

    Each row of ``report.storage`` names the owner of some bytes. The result counts the rows with an unknown owner, and
    the bytes that are in no row.
    """
    stores: dict[str, list[int]] = {}
    for row in report.storage:
        store = stores.setdefault(row.store, [row.store_bytes, 0])
        store[1] += 0 if row.owner_kind == _UNKNOWN_OWNER else row.size_bytes
    return sum(max(0, size - owned) for size, owned in stores.values())


def _seen(report: AuditReport, codes: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(each.first_seen_at for each in _about(report, codes) if each.first_seen_at))


def _began(report: AuditReport, codes: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(each.finding.began_at for each in _about(report, codes) if each.finding.began_at))


def _about(report: AuditReport, codes: frozenset[str]) -> list[SeenFinding]:
    return [seen for seen in report.findings if seen.finding.code in codes]


def _unread(report: AuditReport, *names: str) -> tuple[str, ...]:
    return tuple(source.name for source in report.sources if not source.ok and source.name in names)


def _sum(*parts: Mapping[str, int]) -> dict[str, int]:
    total = _added(pair for part in parts for pair in part.items())
    return {name: total[name] for name in sorted(total, key=class_place) if total[name]}
