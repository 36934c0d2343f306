"""`stocktake ledger --storage` on real files and on Ceph's output; the command finds a folder that was left behind."""

import os
import shutil

import pytest

from tests.rigs import ceph
from tests.rigs.commands import SmallHost, small_host
from tests.rigs.placement import running

GIB = 1 << 30


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> SmallHost:
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield small_host(tmp_path_factory.mktemp("host"), server)


@pytest.fixture
def instances(host):
    """instances_path with the folders of a running and of a deleted instance, and a base image."""
    place = host.agent.folder / "instances"
    for folder, name in ((host.running[0], "disk"), (host.leaked, "disk"), ("_base", "89ab")):
        (place / folder).mkdir()
        with (place / folder / name).open("wb") as file:
            file.write(os.urandom(200_000))
            # A file system may count other blocks once the file is on the disk.
            file.flush()
            os.fsync(file.fileno())
    yield place
    for path in place.iterdir():
        shutil.rmtree(path)


def taken(path):
    return sum(one.lstat().st_blocks * 512 for one in (path, *path.rglob("*")))


def test_the_storage_ledger_adds_up_to_the_file_system_size(host, instances):
    """The rows of `stocktake ledger --storage` add up to the size of the file system with the instances' folders."""
    rows = [row for row in host.run("ledger", "--storage", "-f", "json").document if row["store"] == str(instances)]
    place = os.statvfs(instances)
    assert sum(row["size_bytes"] for row in rows) == place.f_blocks * place.f_frsize
    assert {row["store_bytes"] for row in rows} == {place.f_blocks * place.f_frsize}
    assert all(row["size_bytes"] >= 0 for row in rows)
    ours = {(row["owner_kind"], row["owner"], row["size_bytes"]) for row in rows}
    assert ours >= {
        ("instance", host.running[0], taken(instances / host.running[0])),
        ("leftover", host.leaked, taken(instances / host.leaked)),
        ("image-cache", str(instances / "_base/89ab"), taken(instances / "_base" / "89ab")),
    }


def test_the_audit_reports_a_leftover_instance_folder(host, instances):
    """A deleted instance's folder is a finding of `stocktake audit` (`image-leftover`) until the folder is removed."""
    found = [f for f in host.run("audit", "-f", "json").document["findings"] if f["code"] == "image-leftover"]
    assert [(f["consumer_uuid"], f["subject"]) for f in found] == [(host.leaked, str(instances / host.leaked))]
    shutil.rmtree(instances / host.leaked)
    document = host.run("audit", "-f", "json").document
    assert "image-leftover" not in {f["code"] for f in document["findings"]}


def test_disk_gb_is_the_size_of_the_ceph_cluster(host, tmp_path):
    """If guest disks are in Ceph, `stocktake inventory` shows the cluster's size as the total of DISK_GB."""
    runner = ceph.printing(tmp_path / "bin", ceph.REEF)
    host.agent.configure({"libvirt": {"images_type": "rbd", "images_rbd_pool": "vms", "rbd_user": "cinder"}})
    try:
        rows = host.run_apart("ledger", "--storage", "-f", "json", PATH=runner.environment["PATH"]).document
        inventory = host.run_apart("inventory", "-f", "json", PATH=runner.environment["PATH"]).document
    finally:
        host.agent.configure()
    pool = [(row["owner_kind"], row["size_bytes"]) for row in rows if row["store"] == "ceph vms"]
    assert pool == [
        ("pool", 805502976),
        ("elsewhere", 64424509440 - 805502976 - 20212629504),
        ("free", 20212629504),
    ]
    assert "--id cinder" in (tmp_path / "bin" / "calls").read_text()
    (disk,) = (row for row in inventory if row["resource_class"] == "DISK_GB")
    assert disk["total"] == 64424509440 // GIB
