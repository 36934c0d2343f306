"""Decide what ``adopt --store`` does: remember the file system or volume group that DISK_GB counts now."""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.adoption import AdoptPlan, AdoptRefusal, StoreStep
from agent.model.settings import Role, Settings
from agent.model.snapshot import Snapshot
from agent.model.units import bytes_to_gib_floor
from agent.resources.counted_store import counted_source
from agent.resources.store_doubt import StoreDoubt, name_of, store_doubt, store_now


def store_adoption(snapshot: Snapshot, settings: Settings, path: str) -> AdoptPlan:
    """Return the plan of ``adopt --store``.

    The plan's step saves the identity of DISK_GB's present file system or volume group in the file ``path``. Pure:
    equal facts yield plans with equal digests.
    """
    now = store_now(snapshot, settings)
    if now is None:
        unread = settings.images_type != "rbd" and not snapshot.fresh(counted_source(settings))
        return AdoptPlan(refusals=(AdoptRefusal(guard="store", why=_unknown(settings), unread=unread),))
    doubt = store_doubt(snapshot, settings)
    if doubt is None:
        known = f"the agent already accepts {name_of(now)} as the store of the guests' disks (DISK_GB)"
        return AdoptPlan(notes=(f"nothing to adopt: {known}",))
    step = StoreStep(path=path, before=snapshot.store, after=now)
    return AdoptPlan(steps=(step,), notes=tuple(_notes(doubt, snapshot, settings)))


def _unknown(settings: Settings) -> str:
    if settings.images_type == "rbd":
        return "DISK_GB counts a Ceph cluster, but adopt --store supports only a file system or a volume group"
    source = counted_source(settings)
    return f"the store of the guests' disks (DISK_GB) is unknown: {source} was not read, or does not report the store"


def _notes(doubt: StoreDoubt, snapshot: Snapshot, settings: Settings) -> Iterable[str]:
    yield doubt.why
    if doubt.disks.missing:
        yield f"guests' disks that are not found in this store: {len(doubt.disks.missing)}"
    recorded = snapshot.recorded_inventory("DISK_GB")
    if settings.role is Role.OWNER and recorded is not None:
        total = bytes_to_gib_floor(doubt.now.size_bytes)
        yield f"after this step, the next audit publishes DISK_GB = {total} in Placement, in place of {recorded.total}"
