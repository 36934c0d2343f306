"""Compute the uncovered use: what is in use, unknown to the cloud, and not subtracted in Placement. Pure.

If the cloud does not know a use, for example a volume made by hand, the agent makes Placement subtract it from the free
capacity: either as a part of ``reserved``, or as allocations of the agent's own consumers. If ``reserved`` and these
allocations together are smaller than the use, the rest of the use is uncovered. The scheduler may allocate this rest to
instances, although it is in use.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from agent.model.claim import UNMANAGED_CAUSES
from agent.model.memo import for_equal_arguments
from agent.model.own_consumers import own_consumers
from agent.model.report import InventoryRow, LedgerRow
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT, STATE
from agent.model.units import bytes_to_gib_ceil

#: The sources that ``uncovered`` needs. The result is unknown if the last audit could not read one of them.
RESTS_ON = (PLACEMENT, STATE, LIBVIRT, LVM)
UNMANAGED = frozenset(cause.value for cause in UNMANAGED_CAUSES)
#: ``reserved`` is a sum of terms, and each term has a name. The terms that the operator configures for the host itself
#: have names that begin with this prefix.
OWN_RESERVE = "reserved_host"


# Cached, because on an unchanged host the inventory and the ledger are equal to those of the last audit.
@for_equal_arguments
def uncovered(
    provider_uuid: str | None, inventory: tuple[InventoryRow, ...], ledger: tuple[LedgerRow, ...]
) -> dict[str, int]:
    """Return the amounts that are used on the host, but neither allocated nor reserved in Placement, by class.

    The cloud does not know this use. Amounts are in the unit of the class; a class with the amount 0 is left out. A
    class without a recorded inventory is left out too, because its reserve is unknown.
    """
    if provider_uuid is None:
        return {}
    own = own_consumers(provider_uuid)
    found: dict[str, list[LedgerRow]] = defaultdict(list)
    allocated: dict[str, int] = defaultdict(int)
    for row in ledger:
        if row.outside_tree or row.provider_uuid != provider_uuid:
            continue
        if row.consumer_uuid in own:
            allocated[row.resource_class] += row.recorded or 0
        elif row.cause in UNMANAGED and row.held and row.recorded is None:
            found[row.resource_class].append(row)
    reserved = {each.resource_class: each for each in _on_root(provider_uuid, inventory)}
    return {
        name: rest
        for name, rows in sorted(found.items())
        if name in reserved and (rest := _held(rows) - allocated[name] - _reserve(reserved[name], rows)) > 0
    }


def own_reserve(row: InventoryRow) -> int:
    """Return the part of ``reserved`` that the operator configured for the host itself."""
    return sum(amount for name, amount in row.terms if name.startswith(OWN_RESERVE))


@dataclass(frozen=True, slots=True)
class _Recorded:
    resource_class: str
    reserved: int
    ratio: float
    own: int


def _on_root(provider_uuid: str, inventory: Iterable[InventoryRow]) -> Iterable[_Recorded]:
    for row in inventory:
        if row.provider_uuid == provider_uuid and row.recorded is not None:
            recorded = row.recorded
            yield _Recorded(recorded.resource_class, recorded.reserved, recorded.allocation_ratio, own_reserve(row))


def _reserve(recorded: _Recorded, rows: Iterable[LedgerRow]) -> int:
    """Return the part of the recorded ``reserved`` that covers use unknown to the cloud.

    The other part is the reserve that the operator configured for the host itself.
    """
    rest = max(0, recorded.reserved - recorded.own)
    is_size = all(row.size_bytes is not None for row in rows)
    return rest if is_size else math.floor(rest * recorded.ratio + 1e-9)


def _held(rows: Iterable[LedgerRow]) -> int:
    listed = list(rows)
    if all(row.size_bytes is not None for row in listed):
        return bytes_to_gib_ceil(sum(row.size_bytes or 0 for row in listed))
    return sum(row.held or 0 for row in listed)
