"""Compare nova's database, the host and Placement, or reuse the last audit's result if the facts are equal.

First remove the values that change by themselves: times, measured memory, free space, the service's heartbeat. With
these values, no two snapshots would be equal, and every audit of an unchanged host would compute the same result again.
The result is computed without the removed values, so it cannot depend on them. Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from agent.books.compare import compare
from agent.books.ledger import books, digest, promise_of
from agent.books.recency import clock_that_matters
from agent.books.report_rows import ledger_rows
from agent.model.compared import Basis, Compared, Subject
from agent.model.host.facts import BLANK, HostFacts
from agent.model.host.storage import StorageFacts
from agent.model.nova import NovaState
from agent.model.placement import PlacementView
from agent.model.settings import Settings
from agent.model.snapshot import Reading, Snapshot

T = TypeVar("T")

_BLANKS: dict[str, Any] = {f.name: f.metadata[BLANK] for f in dataclasses.fields(HostFacts) if BLANK in f.metadata}


def compared(snapshot: Snapshot, settings: Settings, subject: Subject, before: Compared | None) -> Compared:
    """Compare nova's database, the host and Placement. If the last audit had equal facts, return the last result."""
    basis = Basis(facts=still(snapshot), settings=settings, subject=subject)
    if before is not None and before.basis == basis:
        # Keep the newer facts, although they equal the old facts. The next snapshot shares objects with the newer
        # facts, and the comparison of an object with itself is fast.
        return dataclasses.replace(before, basis=basis)
    written = books(basis.facts, settings, subject.node)
    rows = compare(basis.facts, written, promise_of(basis.facts, subject.node))
    return Compared(
        basis=basis,
        books=written,
        rows=rows,
        ledger=ledger_rows(rows, basis.facts.placement.value, basis.facts.nova.value, subject),
        digest=digest(written) if written.state_known and written.host_known else None,
    )


def still(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the values that change by themselves (such as times). The comparison ignores them."""
    return Snapshot(
        placement=_still(snapshot.placement, _still_view),
        nova=_still(snapshot.nova, _still_state),
        host=_still(snapshot.host, lambda host: dataclasses.replace(host, **_BLANKS)),
        storage=tuple(
            _still(reading, lambda read: StorageFacts(groups=read.groups, volumes=read.volumes))
            for reading in snapshot.storage
        ),
    )


def _still(reading: Reading[T], still_value: Callable[[T], T]) -> Reading[T]:
    value = None if reading.value is None else still_value(reading.value)
    return dataclasses.replace(reading, taken_at="", duration_s=0.0, value=value)


def _still_view(view: PlacementView) -> PlacementView:
    named = tuple(dataclasses.replace(p, generation=None, inventories=(), traits=frozenset()) for p in view.providers)
    return PlacementView(
        root_uuid=view.root_uuid,
        providers=named,
        allocations=view.allocations,
        unlisted=view.unlisted,
        allocations_fresh=True,
        consumers=view.consumers,
        shared=view.shared,
    )


def _still_state(state: NovaState) -> NovaState:
    clock = clock_that_matters(state)
    return dataclasses.replace(
        state, now=clock, heartbeat=None, newest_heartbeat=None, pulse_at=None, service=None, nodes=()
    )
