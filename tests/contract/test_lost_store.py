"""The store of guests' disks is lost and comes back: real mounts, a real volume group, a real Placement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import uuid
from tests.rigs.host import AgentHost, host_on
from tests.rigs.lvm import lvm, make_group
from tests.rigs.mounts import Mounts, ext4_image, needs_mounts
from tests.rigs.placement import Rest

pytestmark = needs_mounts

UUIDS = ("11111111-2222-4333-8444-555555555555", "66666666-7777-4888-9999-000000000000")


@pytest.fixture
def mounts() -> Iterator[Mounts]:
    made = Mounts()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def host(tmp_path: Path, placement: Rest, mounts: Mounts) -> AgentHost:
    """A host with the guests' disks on a mount of 300 GiB; without that mount the folder is on one of 251 GiB."""
    made = host_on(tmp_path, placement.server.url, options={"DEFAULT": {"update_resources_interval": -1}})
    made.options["DEFAULT"]["instances_path"] = instances(made)
    made.configure()
    made.make_cell().dispose()
    mounts.tmpfs(tmp_path / "var", 251)
    mounts.tmpfs(instances(made), 300)
    define(made)
    return made


def instances(host: AgentHost) -> Path:
    return host.folder / "var" / "instances"


def disk_of(host: AgentHost, name: str) -> Path:
    return instances(host) / uuid(name) / "disk"


def define(host: AgentHost, *names: str) -> None:
    """Define these guests and no others in libvirt, each with a disk on the store."""
    disks = "<disk type='file'><driver type='raw'/><source file='{}'/><target dev='vda'/></disk>"
    domains = [domain_xml(name, domain_uuid=uuid(name), disks=[disks.format(disk_of(host, name))]) for name in names]
    (host.folder / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096, domains=domains))


def write_disks(host: AgentHost, *names: str) -> None:
    for name in names:
        disk_of(host, name).parent.mkdir(parents=True)
        disk_of(host, name).write_bytes(b"disk")


def disk_gb(placement: Rest, host: AgentHost) -> int:
    return int(placement.inventories(host.provider_uuid)["DISK_GB"]["total"])


def changed(host: AgentHost) -> list[dict[str, Any]]:
    """Run an audit by hand; return its store-changed findings."""
    return of_store(host.stocktake("audit", "-f", "json").document["findings"])


def of_store(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [finding for finding in findings if finding["code"] == "store-changed"]


def once(host: AgentHost) -> None:
    assert host.agent("--once").code in (0, 3)


def test_disk_gb_is_unchanged_if_instances_path_is_unmounted(placement, host, mounts):
    """If the mount of instances_path is lost, the agent keeps DISK_GB in Placement and reports a finding."""
    once(host)
    assert disk_gb(placement, host) == 300
    mounts.unmount(instances(host))
    once(host)
    assert disk_gb(placement, host) == 300
    (told,) = changed(host)
    assert (told["severity"], told["resource_class"]) == ("error", "DISK_GB")
    assert "300 GiB" in told["expected"]
    assert "251 GiB" in told["actual"]
    assert "stocktake adopt --store" in told["remedy"]
    mounts.tmpfs(instances(host), 300)
    assert host.agent("--once").code == 0
    assert changed(host) == []


def test_explain_disk_gb_shows_a_changed_file_system(host, mounts):
    """After instances_path was unmounted, `stocktake explain DISK_GB` shows the finding store-changed."""
    once(host)
    mounts.unmount(instances(host))
    said = host.stocktake("explain", "DISK_GB").stdout
    assert "store-changed" in said
    assert "tmpfs" in said
    assert "DISK_GB" in host.stocktake("inventory", "--diff").stdout


def test_the_daemon_keeps_disk_gb_during_an_unmount(placement, host, mounts):
    """While instances_path is unmounted, the daemon keeps DISK_GB in Placement and reports `store-changed`."""
    with host.daemon() as daemon:
        assert of_store(daemon.first_audit()["audit"]["findings"]) == []
        mounts.unmount(instances(host))
        assert len(of_store(daemon.audit_now()["audit"]["findings"])) == 1
        assert disk_gb(placement, host) == 300
        mounts.tmpfs(instances(host), 300)
        assert of_store(daemon.audit_now()["audit"]["findings"]) == []
    assert disk_gb(placement, host) == 300


def test_the_daemon_keeps_disk_gb_if_two_folders_are_unmounted(placement, host, mounts):
    """The running daemon keeps DISK_GB if instances_path and its state directory are both unmounted."""
    state = host.folder / "state"
    mounts.tmpfs(state, 1)
    with host.daemon() as daemon:
        daemon.first_audit()
        mounts.unmount(state)
        mounts.unmount(instances(host))
        assert len(of_store(daemon.audit_now()["audit"]["findings"])) == 1
    assert disk_gb(placement, host) == 300


def test_a_missing_guest_disk_reveals_an_unmount(placement, host, mounts):
    """If instances_path and the state directory are unmounted, the agent sees it from a missing guest disk."""
    state = host.folder / "state"
    mounts.tmpfs(state, 1)
    define(host, "i1")
    write_disks(host, "i1")
    once(host)
    mounts.unmount(state)
    mounts.unmount(instances(host))
    once(host)
    assert disk_gb(placement, host) == 300
    (told,) = changed(host)
    assert str(disk_of(host, "i1")) in told["actual"]
    assert not (state / "store.json").exists()


def test_a_larger_disk_gb_in_placement_reveals_an_unmount(placement, host, mounts):
    """After an unmount, the file system is smaller than DISK_GB in Placement, so the agent notices the unmount."""
    state = host.folder / "state"
    mounts.tmpfs(state, 1)
    once(host)
    mounts.unmount(state)
    mounts.unmount(instances(host))
    once(host)
    assert disk_gb(placement, host) == 300
    assert "and the agent published a larger DISK_GB earlier" in changed(host)[0]["actual"]


def test_disk_gb_grows_with_the_file_system(placement, host, mounts):
    """If the file system of instances_path grows, the agent raises DISK_GB in Placement without a finding."""
    define(host, "i1")
    write_disks(host, "i1")
    once(host)
    mounts.resize(instances(host), 400)
    once(host)
    assert (disk_gb(placement, host), changed(host)) == (400, [])


def test_disk_gb_shrinks_if_all_guest_disks_are_present(placement, host, mounts):
    """If the file system of instances_path shrinks and has all guest disks, the agent lowers DISK_GB in Placement."""
    define(host, "i1")
    write_disks(host, "i1")
    once(host)
    mounts.resize(instances(host), 200)
    once(host)
    assert (disk_gb(placement, host), changed(host)) == (200, [])


def test_disk_gb_does_not_shrink_if_a_guest_disk_is_missing(placement, host, mounts):
    """If the file system of instances_path shrinks and a guest's disk is missing there, the agent keeps DISK_GB."""
    define(host, "i1", "i2")
    write_disks(host, "i1", "i2")
    once(host)
    disk_of(host, "i2").unlink()
    mounts.resize(instances(host), 200)
    once(host)
    assert disk_gb(placement, host) == 300
    assert f"missing in the store: {disk_of(host, 'i2')}" in changed(host)[0]["actual"]


def test_disk_gb_is_unchanged_if_another_disk_is_mounted(placement, host, mounts, tmp_path):
    """If another disk is mounted at instances_path, the agent keeps DISK_GB and reports both file system UUIDs."""
    mounts.unmount(instances(host))
    first, second = (
        ext4_image(tmp_path / f"{number}.img", 1100 * number, uuid) for number, uuid in enumerate(UUIDS, 2)
    )
    mounts.ext4(instances(host), first)
    once(host)
    held = disk_gb(placement, host)
    mounts.unmount(instances(host))
    mounts.ext4(instances(host), second)
    once(host)
    assert disk_gb(placement, host) == held
    assert UUIDS[0] in changed(host)[0]["actual"]
    assert UUIDS[1] in changed(host)[0]["actual"]


def test_a_bind_mount_of_the_same_disk_causes_no_finding(host, mounts, tmp_path):
    """The disk of instances_path is mounted elsewhere and bound to instances_path; the agent reports no change."""
    mounts.unmount(instances(host))
    image = ext4_image(tmp_path / "store.img", 2200, UUIDS[0])
    mounts.ext4(instances(host), image)
    once(host)
    mounts.unmount(instances(host))
    mounts.loop()  # takes the device number that the image had
    mounts.ext4(tmp_path / "srv", image)
    mounts.bind(tmp_path / "srv", instances(host))
    once(host)
    assert changed(host) == []


def test_adopt_accepts_changed_storage_and_can_be_undone(placement, host, mounts):
    """`stocktake adopt --store` ends the finding `store-changed`, and `stocktake undo` brings it back."""
    once(host)
    mounts.unmount(instances(host))
    plan = host.stocktake("adopt", "--store", "-f", "json")
    assert (plan.code, len(plan.document["steps"])) == (3, 1)
    assert host.stocktake("adopt", "--store", "--plan", "0" * 64, "--yes").code == 5
    assert len(changed(host)) == 1
    done = host.stocktake("adopt", "--store", "--plan", plan.document["digest"], "--yes", "-f", "json")
    assert (done.code, [each["result"] for each in done.document["results"]]) == (4, ["done"])
    once(host)
    assert (disk_gb(placement, host), changed(host)) == (251, [])
    assert host.stocktake("adopt", "--store").code == 0
    assert host.stocktake("undo", done.document["results"][0]["entry_id"]).code == 0
    assert len(changed(host)) == 1


def test_the_daemon_publishes_new_disk_gb_after_adopt(placement, host, mounts):
    """After `stocktake adopt --store` accepts changed storage, the daemon publishes the new DISK_GB."""
    with host.daemon() as daemon:
        daemon.first_audit()
        mounts.unmount(instances(host))
        daemon.audit_now()
        plan = host.stocktake("adopt", "--store", "-f", "json").document
        assert host.stocktake("adopt", "--store", "--plan", plan["digest"], "--yes").code == 4
        assert of_store(daemon.audit_now()["audit"]["findings"]) == []
    assert disk_gb(placement, host) == 251


@pytest.mark.parametrize("role", ["observer", "companion"])
def test_adopt_store_works_as_observer_and_companion(placement, host, mounts, role):
    """`stocktake adopt --store` accepts changed storage in the roles observer and companion too."""
    host.options["agent"] = {"role": role}
    host.configure()
    placement.make_provider(host.name, uuid=host.provider_uuid)
    placement.set_inventories(host.provider_uuid, {"DISK_GB": {"total": 300}})
    host.agent("--once")
    mounts.unmount(instances(host))
    assert len(changed(host)) == 1
    plan = host.stocktake("adopt", "--store", "-f", "json").document
    done = host.stocktake("adopt", "--store", "--plan", plan["digest"], "--yes", "-f", "json")
    assert done.code == 4
    assert changed(host) == []
    assert host.stocktake("undo", done.document["results"][0]["entry_id"]).code == 0


def test_disk_gb_is_kept_despite_a_corrupt_store_json(placement, host, mounts):
    """If instances_path is unmounted and the agent's file store.json is corrupt, the agent keeps DISK_GB."""
    define(host, "i1")
    write_disks(host, "i1")
    once(host)
    memory = host.folder / "state" / "store.json"
    memory.write_text("{")
    mounts.unmount(instances(host))
    once(host)
    assert (disk_gb(placement, host), memory.read_text()) == (300, "{")
    mounts.tmpfs(instances(host), 300)
    write_disks(host, "i1")
    once(host)
    assert json.loads(memory.read_text())["store"]["name"] == str(instances(host))
    assert (host.folder / "state" / "store.json.bad").read_text() == "{"


def test_disk_gb_follows_a_new_volume_group_after_adopt(placement, tmp_path):
    """A smaller LVM volume group replaces the old one; DISK_GB changes only after `stocktake adopt --store`."""
    made = host_on(tmp_path, placement.server.url)
    rig = make_group(tmp_path, "lost-vg", 8 << 30)
    try:
        made.environment = rig.environment
        made.options = {"libvirt": {"images_type": "lvm", "images_volume_group": rig.name}}
        made.configure()
        made.make_cell().dispose()
        define(made)
        once(made)
        held = disk_gb(placement, made)
        device = str(rig.device)
        lvm(rig.runner, "vgremove", "-f", "-y", rig.name)
        lvm(rig.runner, "pvremove", "-f", "-y", device)
        lvm(rig.runner, "pvcreate", "-y", "--setphysicalvolumesize", "4g", device)
        lvm(rig.runner, "vgcreate", "--setautoactivation", "n", rig.name, device)
        once(made)
        assert disk_gb(placement, made) == held == 7
        (told,) = changed(made)
        assert "3 GiB" in told["actual"]
        plan = made.stocktake("adopt", "--store", "-f", "json").document
        assert made.stocktake("adopt", "--store", "--plan", plan["digest"], "--yes").code == 4
        once(made)
        assert (disk_gb(placement, made), changed(made)) == (3, [])
    finally:
        rig.close()
