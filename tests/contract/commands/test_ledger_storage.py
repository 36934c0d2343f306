"""`stocktake ledger --storage` against a real volume group: its rows add up to lvm2's figures."""

import contextlib
import csv
import io

import pytest

from tests.rigs import lvm as rigs
from tests.rigs.commands import SmallHost, small_host
from tests.rigs.placement import running

pytestmark = pytest.mark.root
MIB = 1 << 20


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    with contextlib.closing(rigs.make_group(tmp_path_factory.mktemp("lvm"), "vg0")) as rig:
        yield rig


@pytest.fixture(scope="module")
def host(tmp_path_factory, group) -> SmallHost:
    with running(tmp_path_factory.mktemp("placement")) as server:
        made = small_host(tmp_path_factory.mktemp("host"), server)
        made.agent.configure({"libvirt": {"images_type": "lvm", "images_volume_group": "vg0"}})
        for name, size in ((f"{made.running[0]}_disk", 100), (f"{made.leaked}_disk", 40), ("by-hand", 20)):
            group.add_volume(name, size * MIB)
        yield made


def storage(host: SmallHost, group, *arguments: str):
    return host.run_apart("ledger", "--storage", *arguments, **group.environment)


def test_the_storage_ledger_adds_up_to_the_volume_group_size(host, group):
    """The rows of `stocktake ledger --storage` add up to the size of the LVM volume group with the guests' disks."""
    ended = storage(host, group, "-f", "json")
    rows = ended.document
    size, free = rigs.lvm(
        group.runner, "vgs", "--noheadings", "--units", "b", "--nosuffix", "-o", "vg_size,vg_free"
    ).split()
    vg = [row for row in rows if row["store"] == "vg vg0"]
    assert sum(row["size_bytes"] for row in vg) == int(size)
    assert {row["store_bytes"] for row in vg} == {int(size)}
    assert [(row["owner_kind"], row["owner"], row["size_bytes"], row["source"]) for row in vg] == [
        ("foreign", "vg0/by-hand", 20 * MIB, "lvm vg0/by-hand"),
        ("instance", host.running[0], 100 * MIB, f"lvm vg0/{host.running[0]}_disk"),
        ("orphaned", host.leaked, 40 * MIB, f"lvm vg0/{host.leaked}_disk"),
        ("free", "", int(free), "lvm vg0"),
    ]


def test_the_storage_ledger_accounts_for_every_byte(host, group):
    """The last line of `stocktake ledger --storage` for an LVM volume group says "unaccounted 0 bytes"."""
    ended = storage(host, group)
    assert ended.stderr == ""
    (foot,) = [line for line in ended.stdout.splitlines() if line.startswith("total vg vg0")]
    assert foot == (
        "total vg vg0: 0.996 GiB (1069547520 bytes), accounted for 0.996 GiB (1069547520 bytes), unaccounted 0 bytes"
    )
    assert "orphaned" in ended.stdout


def test_the_storage_ledger_can_show_one_consumer(host, group):
    """`stocktake ledger --storage --consumer UUID` prints only the rows of the instance with this UUID."""
    ended = storage(host, group, "--consumer", host.running[0], "-f", "csv", "-c", "owner", "-c", "size_bytes")
    assert list(csv.reader(io.StringIO(ended.stdout)))[1:] == [[host.running[0], str(100 * MIB)]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--resource-class", "VCPU"), "--storage counts bytes, not a resource class: leave out --resource-class"),
        (("--consumer", "nobody"), "nobody owns nothing in the stores of"),
        (("-c", "verdict"), "unknown column verdict; the columns are store, owner_kind"),
    ],
)
def test_the_storage_ledger_exits_127_for_wrong_arguments(host, group, arguments, said):
    """For example, `stocktake ledger --storage` rejects an unknown column."""
    ended = storage(host, group, *arguments)
    assert (ended.code, ended.stdout) == (127, "")
    assert said in ended.stderr
