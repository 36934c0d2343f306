"""thin-pool-overcommitted: lvm2's own condition, with the sums."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import LVM, Snapshot
from tests.rigs.facts import findings, lvm_settings, settings, without
from tests.rigs.thin_pools import pool_world

CODE = "thin-pool-overcommitted"


def test_an_overcommitted_thin_pool_is_reported() -> None:
    """If the volumes of an LVM thin pool may outgrow it, the finding shows the sizes of the pool and the volumes."""
    (found,) = findings(pool_world(40, 30), CODE, lvm_settings())
    assert (found.subject, found.resource_class, found.severity) == ("vg0/tpool", "DISK_GB", Severity.WARNING)
    assert found.expected == (
        "the thin volumes of pool vg0/tpool fit into its 53687091200 bytes "
        "and the 10737418240 bytes that are free in volume group vg0"
    )
    assert found.actual.endswith(" the pool's thin volumes add up to 75161927680 bytes, 1.4 times the pool size")
    assert dict(found.facts)["factor"] == 1.4


@pytest.mark.parametrize(
    "quiet",
    [pool_world(40, 20), pool_world(50), pool_world(), without(pool_world(40, 30), LVM)],
    ids=["just fits with what is free", "fits", "empty", "lvm not read"],
)
def test_a_thin_pool_with_enough_space_is_not_reported(quiet: Snapshot) -> None:
    """The agent reports no LVM thin pool that has enough space for its volumes."""
    assert findings(quiet, CODE, lvm_settings()) == ()


def test_with_disk_files_a_thin_pool_finding_omits_disk_gb() -> None:
    """If guest disks are files and not LVM volumes, the finding about a thin pool does not show DISK_GB."""
    (found,) = findings(pool_world(40, 30), CODE, settings(volume_groups=("vg0",)))
    assert found.resource_class is None
