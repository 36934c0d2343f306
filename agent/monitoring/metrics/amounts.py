"""Gauges of amounts: inventories, books, leaks, stores, thin pools, guests and NUMA cells.

There are three books: "promised" (nova's database), "held" (libvirt, storage) and "recorded" (Placement's allocations).
A function returns None if the audit did not read the sources of the function's values. The caller then keeps the values
of an earlier audit. The argument ``before`` has these earlier values. A function that knows only some new values
returns the other values from ``before``.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from agent.bus.finding_sums import MISSING, amounts_of
from agent.model.claim import UNMANAGED_CAUSES
from agent.model.finding import INSTANCE_LEAKS
from agent.model.placement import Inventory
from agent.model.report import AuditReport, InventoryRow, LedgerRow, Verdict
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, STATE
from agent.monitoring.metrics.values import Sample, Samples

#: The three books, each with the source from which the audit reads the book's amounts.
BOOKS = {"promised": STATE, "held": LIBVIRT, "recorded": PLACEMENT}
#: The classes that only guests use. If libvirt lists no guest, the book "held" has 0 for these classes, not unknown.
_OF_GUESTS = frozenset({"VCPU", "PCPU", "MEMORY_MB"})
_STORES = (LVM, IMAGES, FILESYSTEM, CEPH)
_KIB = 1024
_MIB = 1024 * 1024


def resources(report: AuditReport) -> Samples | None:
    """Return the inventory, the used amount and the free amount of each class.

    The root provider has its own values, and all child providers together have one sum. Return None if Placement was
    not read.
    """
    if not was_read(report, PLACEMENT):
        return None
    by_kind: dict[tuple[str, str], list[InventoryRow]] = defaultdict(list)
    for row in report.inventory:
        shown = row.wanted or row.recorded
        if shown is not None:
            by_kind[_kind(report, row), shown.resource_class].append(row)
    found: dict[str, list[Sample]] = defaultdict(list)
    for (kind, resource_class), rows in sorted(by_kind.items()):
        for name, value in _of_rows(kind, rows).items():
            if value is not None:
                found[name].append(Sample((_hostname(report), kind, resource_class), value))
    return {name: tuple(samples) for name, samples in found.items()}


def differs(report: AuditReport, before: Samples) -> Samples | None:
    """Return for each class 1 if the wanted inventory differs from the inventory in Placement, else 0.

    If the agent cannot decide the wanted inventory of a class, the class keeps its value from the earlier audit.
    Return None if libvirt or Placement was not read.
    """
    if not (was_read(report, PLACEMENT) and was_read(report, LIBVIRT)):
        return None
    found: dict[tuple[str, ...], float | None] = {}
    kept = {sample.labels: sample.value for sample in before.get("resource_differs", ())}
    rows = [(row, shown) for row in report.inventory if (shown := row.wanted or row.recorded) is not None]
    # All child providers together have one value per class. If the inventory of one child is undecided, the value must
    # stay as it was before this audit. So the loop visits undecided children last, and they restore the old value.
    for row, shown in sorted(rows, key=lambda pair: not pair[0].is_decided):
        labels = (_hostname(report), _kind(report, row), shown.resource_class)
        is_other = row.wanted is not None and row.wanted != row.recorded
        found[labels] = max(found.get(labels) or 0.0, float(is_other)) if row.is_decided else kept.get(labels)
    known = (Sample(labels, value) for labels, value in sorted(found.items()) if value is not None)
    return {"resource_differs": tuple(known)}


def _kind(report: AuditReport, row: InventoryRow) -> str:
    return "root" if row.provider_uuid == report.provider_uuid else "child"


def _of_rows(kind: str, rows: list[InventoryRow]) -> dict[str, float | None]:
    shown = [row.wanted or row.recorded for row in rows]
    there = [inventory for inventory in shown if inventory is not None]
    return {
        "resource_inventory": _sum(there, lambda inventory: inventory.total),
        "resource_reserved": _sum(there, lambda inventory: inventory.reserved),
        "resource_used": _known_sum(row.used for row in rows),
        "resource_free": _known_sum(row.free for row in rows),
        "resource_max_unit": max(inventory.max_unit for inventory in there),
        "resource_allocation_ratio": there[0].allocation_ratio if kind == "root" else None,
    }


def _sum(rows: list[Inventory], value: Callable[[Inventory], float]) -> float:
    return sum(value(row) for row in rows)


def _known_sum(values: Iterable[float | None]) -> float | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def book(report: AuditReport, name: str, before: Samples) -> Samples | None:
    """Return the promised, held or recorded amounts (``name``), summed by class; None if their source was not read.

    Held amounts lack a class if no source shows its use, for example DISK_GB if the guests' disks are files.
    """
    # With [state] source = none, the agent computes the promised amounts from libvirt's guests instead of nova's rows.
    without_cloud = name == "promised" and report.nova_versions is None
    if not was_read(report, BOOKS[name]) or (without_cloud and not was_read(report, LIBVIRT)):
        return None
    rows = list(_in_tree(report))
    if name == "held":
        # ``seen``: the classes for which libvirt or the storage reports used amounts. RESERVED rows are left out,
        # because their amounts come from the configuration.
        seen = {row.resource_class for row in rows if row.held is not None and row.verdict is not Verdict.RESERVED}
        rows = [row for row in rows if row.resource_class in seen | _OF_GUESTS]
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        sums[row.resource_class] += getattr(row, name) or 0
    samples = {Sample((_hostname(report), resource_class, name), value) for resource_class, value in sums.items()}
    if name == "held" and _is_lost(report, LVM):
        # LVM shows how much DISK_GB the guests hold. While LVM cannot be read, DISK_GB keeps its earlier value.
        samples = {one for one in samples if one.labels[1] != "DISK_GB"}
        samples |= {one for one in before.get("book_amount", ()) if one.labels[1] == "DISK_GB"}
    return {"book_amount": tuple(sorted(samples))}


def leaks(report: AuditReport, before: Samples) -> Samples | None:
    """Return the leaked amounts (too much in Placement) and the missing amounts (too little) by class.

    The result is None if Placement or nova's rows were not read. While libvirt cannot be read, the amounts come from
    the findings of earlier audits. If no audit has read libvirt yet, the result is None.
    """
    is_read = was_read(report, PLACEMENT) and was_read(report, STATE)
    if not is_read or not (before or was_read(report, LIBVIRT)):
        return None
    confirmed = [seen for seen in report.findings if seen.confirmed]
    zero = dict.fromkeys(_classes(report), 0)
    found = {
        "resource_leaked": zero | amounts_of(report.findings, INSTANCE_LEAKS, "placement"),
        "resource_missing": zero | amounts_of(confirmed, MISSING, "nova"),
    }
    return {
        name: tuple(
            Sample((_hostname(report), resource_class), value) for resource_class, value in sorted(sums.items())
        )
        for name, sums in found.items()
    }


def unmanaged(report: AuditReport) -> Samples | None:
    """Return how much is used without the cloud's knowledge, by class and cause (such as a foreign volume).

    None if libvirt, LVM or nova's database was not read: then the agent cannot tell what the cloud does not know.
    """
    if not (was_read(report, LIBVIRT) and was_read(report, STATE)) or _is_lost(report, LVM):
        return None
    sums: dict[tuple[str, str], float] = defaultdict(float)
    causes = {cause.value for cause in UNMANAGED_CAUSES}
    for row in _in_tree(report):
        if row.cause in causes and row.held is not None:
            sums[row.resource_class, row.cause] += row.held
    samples = (Sample((_hostname(report), *labels), value) for labels, value in sorted(sums.items()))
    return {"resource_unmanaged": tuple(samples)}


def stores(report: AuditReport, before: Samples) -> Samples | None:
    """Return the size of each store, and how many bytes of the store each kind of owner uses.

    Return None if no store was read. Also return None if the cloud's state or libvirt was not read, because the owners
    are then unknown. If only some stores were read, the other stores keep their values from the earlier audit.
    """
    if not report.storage or not (was_read(report, LIBVIRT) and was_read(report, STATE)):
        return None
    sizes = {row.store: float(row.store_bytes) for row in report.storage}
    owners: dict[tuple[str, str], float] = defaultdict(float)
    for row in report.storage:
        owners[row.store, row.owner_kind] += row.size_bytes
    unaccounted = {store: owners.pop((store, "unknown"), 0.0) for store in sizes}
    for store, size in sizes.items():
        known = sum(amount for (name, _), amount in owners.items() if name == store)
        unaccounted[store] = max(unaccounted[store], size - known)
    found = {
        "store_size_bytes": [Sample((store,), size) for store, size in sizes.items()],
        "store_unaccounted_bytes": [Sample((store,), rest) for store, rest in unaccounted.items()],
        "store_owner_bytes": [Sample(labels, amount) for labels, amount in owners.items()],
    }
    if any(_is_lost(report, source) for source in _STORES):
        for name, samples in found.items():
            samples += [sample for sample in before.get(name, ()) if sample.labels[0] not in sizes]
    return {name: tuple(sorted(samples)) for name, samples in found.items()}


def pools(report: AuditReport) -> Samples | None:
    """Return the used ratios and the over-commit ratio of each thin pool; None if LVM was not read."""
    if not was_read(report, LVM):
        return None
    found = {
        "thin_pool_data_used_ratio": [(pool.path, pool.data_ratio) for pool in report.thin_pools],
        "thin_pool_metadata_used_ratio": [(pool.path, pool.metadata_ratio) for pool in report.thin_pools],
        "thin_pool_overcommit_ratio": [(pool.path, pool.overcommit_ratio) for pool in report.thin_pools],
    }
    return {
        name: tuple(Sample((path,), value) for path, value in rows if value is not None) for name, rows in found.items()
    }


def guests(report: AuditReport) -> Samples | None:
    """Return the numbers of guests by kind and state; None if libvirt was not read."""
    if report.guests is None:
        return None
    kinds, states = ("instance", "foreign"), ("running", "shutoff", "paused", "other")
    numbers = {(kind, state): 0 for kind in kinds for state in states} | {(k, s): n for k, s, n in report.guests}
    return {"guests": tuple(Sample(labels, number) for labels, number in sorted(numbers.items()))}


def numa(report: AuditReport) -> Samples | None:
    """Return the free CPUs, memory (bytes) and huge pages of each NUMA cell; None if cells or their use are unknown."""
    view = report.resource_view
    if view is None or view.cells is None or report.cell_usages is None:
        return None
    used = {usage.id: usage for usage in report.cell_usages}
    cpus, memory, pages = [], [], []
    for cell in view.cells:
        usage = used.get(cell.id)
        if usage is None:
            continue
        cpus.append(Sample((str(cell.id),), len(set(cell.pcpuset) - set(usage.pinned))))
        memory.append(Sample((str(cell.id),), (cell.memory_mib - usage.memory_mib) * _MIB))
        taken = dict(usage.pages)
        pages += [
            Sample((str(cell.id), str(pool.size_kib * _KIB)), pool.total - pool.reserved - taken.get(pool.size_kib, 0))
            for pool in cell.pages
        ]
    return {
        "numa_dedicated_cpus_free": tuple(cpus),
        "numa_memory_free_bytes": tuple(memory),
        "huge_pages_free": tuple(pages),
    }


def was_read(report: AuditReport, name: str) -> bool:
    """Return whether this audit read the source."""
    return any(source.name == name and source.ok for source in report.sources)


def _is_lost(report: AuditReport, name: str) -> bool:
    return any(source.name == name and not source.ok for source in report.sources)


def _in_tree(report: AuditReport) -> Iterable[LedgerRow]:
    return (row for row in report.ledger if not row.outside_tree)


def _classes(report: AuditReport) -> list[str]:
    return sorted({row.resource_class for row in _in_tree(report)})


def _hostname(report: AuditReport) -> str:
    return report.node or report.host
