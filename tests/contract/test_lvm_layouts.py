"""A hundred drawn layouts as real lvm2 reports them: every byte of the group has an owner, and the right one."""

from __future__ import annotations

import contextlib
import pathlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from agent.books.storage_ledger import volume_group_rows
from agent.ports import Deadline
from agent.sources.storage.lvm import Lvm, SubprocessRunner
from tests.rigs import lvm as rigs
from tests.rigs.facts import instance, snapshot, state
from tests.rigs.lvm_random import HIDING, Layout, Owner, layout

MIB = 1 << 20
EXTENT = 4 * MIB
SEEDS = range(100)
GROUP = "vg0"


@dataclass(frozen=True, slots=True)
class TwoDisks:
    """A group on two disks. ``whole`` sees both disks, ``partial`` one; ``empty``: metadata without volumes."""

    whole: SubprocessRunner
    partial: SubprocessRunner
    empty: str
    backup: pathlib.Path

    def lay_out(self, drawn: Layout) -> SubprocessRunner:
        """Write the drawn layout into the metadata; return the runner that sees the layout's disks."""
        self.backup.write_text(drawn.volumes.into(self.empty), encoding="utf-8")
        rigs.lvm(self.whole, "vgcfgrestore", "-y", "--force", "-f", str(self.backup), GROUP)
        return self.partial if drawn.missing_disk else self.whole


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoDisks]:
    folder = tmp_path_factory.mktemp("layouts")
    with (
        contextlib.closing(rigs.make_group(folder / "a", GROUP, 8 << 30)) as first,
        contextlib.closing(rigs.make_group(folder / "b", "vg1", 8 << 30)) as second,
    ):
        whole = rigs.view(folder / "whole", first, second)
        rigs.lvm(whole, "vgmerge", GROUP, "vg1")
        backup = folder / "metadata"
        rigs.lvm(whole, "vgcfgbackup", "-f", str(backup), GROUP)
        yield TwoDisks(whole, rigs.view(folder / "partial", first), backup.read_text(encoding="utf-8"), backup)


@pytest.mark.root
def test_used_and_free_bytes_of_random_lvm_layouts_add_up(disks: TwoDisks) -> None:
    """For random LVM layouts, the agent's used and free bytes add up to the size of the volume group."""
    for seed in SEEDS:
        drawn = layout(seed, GROUP)
        runner = disks.lay_out(drawn)
        size, free, missing = rigs.lvm(
            runner, "vgs", "--noheadings", "--units", "b", "--nosuffix", "-o", "vg_size,vg_free,vg_missing_pv_count",
            GROUP,
        ).split()  # fmt: skip
        facts = Lvm((GROUP,), 30.0, runner).read(Deadline.after(60.0))
        known = state(*(instance(uuid, uuid=uuid) for uuid in sorted(drawn.instances)))
        rows = volume_group_rows(snapshot(nova=known, lvm=facts))
        assert int(missing) == facts.groups[0].missing_pvs == drawn.missing_disk, f"seed {seed}"
        assert sum(row.size_bytes for row in rows) == int(size), f"seed {seed}"
        assert {row.store_bytes for row in rows} == {int(size)}
        found: dict[Owner, int] = defaultdict(int)
        for row in rows:
            found[row.owner_kind, row.owner] += row.size_bytes
        expected = {owner: extents * EXTENT for owner, extents in drawn.extents.items() if extents}
        assert dict(found) == {**expected, ("free", ""): int(free)}, f"seed {seed}"


def test_each_volume_kind_is_in_at_least_twenty_random_layouts() -> None:
    drawn = [layout(seed, GROUP) for seed in SEEDS]
    counts = Counter(trait for one in drawn for trait in one.traits)
    counts["hidden"] = sum(bool(one.traits & HIDING) for one in drawn)
    counts["missing disk"] = sum(one.missing_disk for one in drawn)
    counts["of block storage"] = sum(any(kind == "block-storage" for kind, _ in one.extents) for one in drawn)
    wanted = (
        "linear",
        "snapshot",
        "thin",
        "raid",
        "pvmove",
        "cache",
        "hidden",
        "missing disk",
        "of block storage",
        "foreign",
    )
    assert {kind: count for kind in wanted if (count := counts[kind]) < 20} == {}
