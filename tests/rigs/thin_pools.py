"""A snapshot of a host with one thin pool."""

from __future__ import annotations

from dataclasses import replace

from agent.model.host.storage import ThinPool, Volume
from agent.model.snapshot import Snapshot
from agent.model.units import GIB
from tests.rigs.facts import group, snapshot, uuid, volume


def pool_world(
    *sizes_gib: int, data: float | None = None, metadata: float | None = None, group_gib: int = 61
) -> Snapshot:
    """Return a pool of 50 GiB with 1 GiB of metadata, 10 GiB left in the group, and thin volumes of these sizes.

    The volumes are named after the instances i0, i1 and so on.
    """
    pool = Volume(group="vg0", name="tpool", uuid="p", size_bytes=50 * GIB, extent_bytes=0, segment_type="thin-pool")
    parts = (
        replace(volume("tpool_tdata", 50), parent="tpool", hidden=True, role="private,thin,pool,data"),
        replace(volume("tpool_tmeta", 1), parent="tpool", hidden=True),
    )
    thin = tuple(
        Volume(group="vg0", name=f"{uuid(f'i{number}')}_disk", uuid=f"t{number}", size_bytes=size * GIB,
               extent_bytes=0, pool="tpool", segment_type="thin")
        for number, size in enumerate(sizes_gib)
    )  # fmt: skip
    facts = ThinPool(
        group="vg0",
        name="tpool",
        size_bytes=50 * GIB,
        metadata_bytes=GIB,
        data_percent=data,
        metadata_percent=metadata,
    )
    return snapshot(lvm=replace(group(group_gib, pool, *parts, *thin), thin_pools=(facts,)))
