"""The three numbers at the top of a host's page: sold twice, wasted, unaccounted. Pure.

All amounts are in the unit of their resource class. A number is not known if the audit could not read a source that the
number depends on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.model.claim import UNMANAGED_CAUSES
from agent.model.finding import LEAKING, SeenFinding
from agent.model.own_consumers import own_consumers
from agent.model.report import AuditReport, InventoryRow, LedgerRow
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, STATE
from agent.model.units import bytes_to_gib_ceil
from agent.pages.host.books import class_place

_UNMANAGED = frozenset(cause.value for cause in UNMANAGED_CAUSES)
_STORES = (LVM, FILESYSTEM, IMAGES, CEPH)
_UNKNOWN_OWNER = "unknown"
_MISSING = frozenset({"allocation-missing"})
_UNKNOWN_CONSUMERS = frozenset({"consumer-unknown"})
_SYSTEMS = {"promised": "nova", "recorded": "placement"}
_OWN_RESERVE = "reserved_host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One number: amounts by resource class, without zeros. ``missing``: the unread sources that the number depends on.

    ``size_bytes`` are the bytes in stores without an owner, None for a number that does not count bytes. While a source
    is missing, the amounts are those of the last successful check, and the real amounts may be larger.
    """

    amounts: Mapping[str, int] = field(default_factory=dict)
    size_bytes: int | None = None
    missing: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether the audit read every source that the number depends on."""
        return not self.missing

    @property
    def is_none(self) -> bool:
        """Whether the number is known to be zero."""
        return self.is_known and not self.amounts and not self.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The three numbers of a host.

    ``sold_twice``: amounts promised or used without an allocation or a reserve, so the scheduler may allocate them
    again. ``wasted``: amounts recorded for consumers that use nothing. ``unaccounted``: bytes without an owner, and
    amounts that Placement records for consumers that nova does not know.
    """

    sold_twice: Loss
    wasted: Loss
    unaccounted: Loss


def losses_of(report: AuditReport) -> Losses:
    """Return the three numbers, computed from the audit's report."""
    return Losses(
        sold_twice=Loss(
            amounts=_sum(amounts_of(report, _MISSING, "promised"), uncovered(report)),
            missing=_unread(report, PLACEMENT, STATE, LIBVIRT, LVM),
        ),
        wasted=Loss(amounts=amounts_of(report, LEAKING, "recorded"), missing=_unread(report, PLACEMENT, STATE)),
        unaccounted=Loss(
            amounts=amounts_of(report, _UNKNOWN_CONSUMERS, "recorded"),
            size_bytes=without_owner(report),
            missing=_unread(report, PLACEMENT, STATE, LIBVIRT, *_STORES),
        ),
    )


def amounts_of(report: AuditReport, codes: frozenset[str], book: str) -> dict[str, int]:
    """Return the amounts of one book, by class, of the consumers of live findings with these codes.

    If the ledger has no amount of a consumer because the book was not read, the amount of the last check is taken from
    the finding's evidence.
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


def uncovered(report: AuditReport) -> dict[str, int]:
    """Return how much use unknown to the cloud is neither in Placement's ``reserved`` nor in the agent's allocations.

    A class whose recorded inventory is not known is left out, because the reserve of such a class is not known.
    """
    if report.provider_uuid is None:
        return {}
    own = own_consumers(report.provider_uuid)
    found: dict[str, list[LedgerRow]] = defaultdict(list)
    allocated: dict[str, int] = defaultdict(int)
    for row in report.ledger:
        if row.outside_tree or row.provider_uuid != report.provider_uuid:
            continue
        if row.consumer_uuid in own:
            allocated[row.resource_class] += row.recorded or 0
        elif row.cause in _UNMANAGED and row.held and row.recorded is None:
            found[row.resource_class].append(row)
    reserved = {row.resource_class: row for row in _on_root(report)}
    return {
        name: rest
        for name, rows in sorted(found.items())
        if name in reserved and (rest := _held(rows) - allocated[name] - _reserve(reserved[name], rows)) > 0
    }


def without_owner(report: AuditReport) -> int:
    """Return the bytes of all stores without a known owner: bytes in no row, and rows whose owner is unknown."""
    stores: dict[str, list[int]] = {}
    for row in report.storage:
        store = stores.setdefault(row.store, [row.store_bytes, 0])
        store[1] += 0 if row.owner_kind == _UNKNOWN_OWNER else row.size_bytes
    return sum(max(0, size - owned) for size, owned in stores.values())


@dataclass(frozen=True, slots=True)
class _Recorded:
    resource_class: str
    reserved: int
    ratio: float
    own: int


def _on_root(report: AuditReport) -> Iterable[_Recorded]:
    for row in report.inventory:
        if row.provider_uuid == report.provider_uuid and row.recorded is not None:
            yield _Recorded(
                row.recorded.resource_class, row.recorded.reserved, row.recorded.allocation_ratio, _own_reserve(row)
            )


def _own_reserve(row: InventoryRow) -> int:
    return sum(amount for name, amount in row.terms if name.startswith(_OWN_RESERVE))


def _reserve(recorded: _Recorded, rows: Iterable[LedgerRow]) -> int:
    """Return how much unmanaged use Placement's ``reserved`` covers: ``reserved`` minus the host's own reserve."""
    rest = max(0, recorded.reserved - recorded.own)
    is_size = all(row.size_bytes is not None for row in rows)
    return rest if is_size else math.floor(rest * recorded.ratio + 1e-9)


def _held(rows: Iterable[LedgerRow]) -> int:
    listed = list(rows)
    if all(row.size_bytes is not None for row in listed):
        return bytes_to_gib_ceil(sum(row.size_bytes or 0 for row in listed))
    return sum(row.held or 0 for row in listed)


def _unread(report: AuditReport, *names: str) -> tuple[str, ...]:
    return tuple(source.name for source in report.sources if not source.ok and source.name in names)


def _sum(*parts: Mapping[str, int]) -> dict[str, int]:
    total = _added(pair for part in parts for pair in part.items())
    return {name: total[name] for name in sorted(total, key=class_place) if total[name]}
