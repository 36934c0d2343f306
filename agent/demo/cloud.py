"""Build the demo's cloud from real parts, and register each part for removal as soon as the part exists.

The parts: a cell database on SQLite, a Placement process, volume groups on loop devices (or simulated lvm2 reports if
loop devices are not available), and libvirt's test driver. Each host is configured like a real compute host: nova.conf
sets almost everything, and stocktake.conf very little. This module also writes what nova and the scheduler would write:
rows and allocations.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import requests
import sqlalchemy

from agent.demo import cast, cell
from agent.demo.cast import HOSTS, Guest, HostCast
from agent.demo.interruptions import Interruptions
from agent.demo.node_xml import node_xml
from agent.demo.placement import TOKEN, Lifetime, PlacementServer, start_placement
from agent.demo.volume_group import DemoGroup, VolumeGroupRig, lvm_conf, open_group
from agent.errors import PlacementRejected
from agent.model.nova import ComputeNode, Instance, Migration
from agent.model.units import GIB, MIB

# lvm2 stores metadata on the device, so a volume group is slightly smaller than its file.
_LVM_METADATA_BYTES = 64 * MIB
_YESTERDAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCloud:
    """The demo's cloud. All its files are in one folder; it also has loop devices and a Placement process."""

    folder: Path
    placement: PlacementServer
    groups: tuple[DemoGroup, ...]
    lvm_folder: Path

    def config_file(self, host: HostCast) -> Path:
        """Return the path of the configuration file of that host's agent."""
        return self.folder / host.name / "stocktake.conf"

    @property
    def has_real_groups(self) -> bool:
        """Whether at least one volume group is real; lvm2 reports only real groups."""
        return any(isinstance(group, VolumeGroupRig) for group in self.groups)


def build(
    folder: Path,
    lifetime: Lifetime,
    progress: Callable[[str], None],
    standing: contextlib.ExitStack,
    interruptions: Interruptions,
) -> DemoCloud:
    """Build and return the cloud in its state before the first audit.

    ``progress`` is called with one line of text for each part, and may raise. Each part is registered in ``standing``
    as soon as the part exists; closing ``standing`` removes the registered parts.
    """
    progress("starting Placement on SQLite, in its own process")
    placement = start_placement(
        folder / "placement", lifetime=lifetime, waiting=interruptions.allowed, cell=folder / "cell.sqlite"
    )
    standing.callback(placement.stop)
    groups = tuple(_group(folder, host, progress, standing) for host in HOSTS)
    cloud = DemoCloud(folder=folder, placement=placement, groups=groups, lvm_folder=folder / "lvm")
    _see_only(cloud)
    progress("creating a cell database on SQLite with nova's tables, and two hypervisors of libvirt's test driver")
    with interruptions.allowed():
        _fill_cell(folder / "cell.sqlite")
        for host in HOSTS:
            _configure(cloud, host)
        _second_host_as_it_was(cloud)
    return cloud


def _group(folder: Path, host: HostCast, progress: Callable[[str], None], standing: contextlib.ExitStack) -> DemoGroup:
    group = open_group(folder, host.group, host.disk_gib * GIB + _LVM_METADATA_BYTES)
    standing.callback(group.close)
    progress(f"volume group {group.name}: {group.description}")
    for guest in host.guests:
        group.add_volume(f"{guest.uuid}_disk", guest.flavor.root_gib * GIB)
    for name, gib in host.foreign:
        group.add_volume(name, gib * GIB)
    return group


def _see_only(cloud: DemoCloud) -> None:
    """Write one lvm.conf with which lvm2 sees both hosts' groups and no other device of the machine."""
    devices = [g.device for g in cloud.groups if isinstance(g, VolumeGroupRig) and g.device]
    lock_folder = cloud.lvm_folder / "lock"
    lock_folder.mkdir(parents=True)
    (cloud.lvm_folder / "lvm.conf").write_text(lvm_conf(devices, lock_folder), encoding="utf-8")


def _configure(cloud: DemoCloud, host: HostCast) -> None:
    folder = cloud.folder / host.name
    folder.mkdir()
    (folder / "node.xml").write_text(node_xml(host), encoding="utf-8")
    (folder / "nova.conf").write_text(
        f"""# The configuration of nova-compute on this compute host.
[DEFAULT]
host = {host.name}
state_path = {folder}
cpu_allocation_ratio = {host.cpu_ratio}
[compute]
provider_config_location = {folder}/provider_config
[libvirt]
connection_uri = test://{urllib.parse.quote(str(folder))}/node.xml
images_type = lvm
images_volume_group = {host.group}
[database]
connection = sqlite:///{cloud.folder}/cell.sqlite
[placement]
auth_type = admin_token
token = {TOKEN}
endpoint_override = {cloud.placement.url}
""",
        encoding="utf-8",
    )
    cloud.config_file(host).write_text(
        f"""# Stocktake needs only these options here: the path of nova.conf, and its own folders.
[agent]
nova_conf = {folder}/nova.conf
# The demo runs its audits without a pause; on a real host, audits are a minute apart.
confirm_spacing = 0
state_dir = {folder}/state
run_dir = {folder}/run
[heal]
# The demo repairs a finding at once; on a real host a finding must be five minutes old.
min_age = 0
""",
        encoding="utf-8",
    )
    (folder / "state").mkdir()
    (folder / "run").mkdir()


def _fill_cell(path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
    with engine.begin() as connection:
        cell.create_tables(connection)  # type: ignore[arg-type]
        cell.add_heartbeat(connection)
        for number, host in enumerate(HOSTS, start=1):
            cell.add_compute_node(connection, _node(number, host.root_uuid, host, host.name))
            for guest in host.guests:
                cell.add_instance(connection, _instance(guest, host.name))
            for guest in host.leaked:
                gone = dataclasses.replace(
                    _instance(guest, host.name), vm_state="deleted", deleted=True, deleted_at=now - _YESTERDAY
                )
                cell.add_instance(connection, gone)
            if host.ghost:
                ghost = _node(number + len(HOSTS), cast.known_uuid(host.ghost), host, host.ghost)
                cell.add_compute_node(connection, ghost)
        moving = _instance(cast.RESIZED, cast.ELSEWHERE)
        resizing = dataclasses.replace(moving, task_state="resize_prep", old_flavor=cast.SMALL, new_flavor=cast.LARGE)
        cell.add_instance(connection, resizing)
        cell.add_migration(connection, _evacuation(now - _YESTERDAY))
        cell.add_migration(connection, _resize(now))
    engine.dispose()


def _node(number: int, uuid: str, host: HostCast, hostname: str) -> ComputeNode:
    return ComputeNode(
        id=number,
        uuid=uuid,
        host=host.name,
        hypervisor_hostname=hostname,
        deleted=False,
        vcpus=host.cpus,
        memory_mib=host.memory_mib,
        local_gib=host.disk_gib,
    )


def _instance(guest: Guest, host: str) -> Instance:
    return Instance(
        uuid=guest.uuid,
        name=guest.name,
        project_id=cast.PROJECT,
        user_id=cast.USER,
        host=host,
        node=host,
        vm_state="active",
        task_state=None,
        deleted=False,
        hidden=False,
        flavor=guest.flavor,
        flavor_id=guest.flavor.id,
    )


def _evacuation(at: datetime.datetime) -> Migration:
    return Migration(
        id=1,
        uuid=cast.known_uuid("evacuation"),
        instance_uuid=cast.EVACUATED.uuid,
        kind="evacuation",
        status="done",
        source_host=cast.FIRST.name,
        source_node=cast.FIRST.name,
        dest_host=cast.SECOND.name,
        dest_node=cast.SECOND.name,
        old_type_id=cast.EVACUATED.flavor.id,
        new_type_id=cast.EVACUATED.flavor.id,
        created_at=at,
        updated_at=at,
    )


def _resize(at: datetime.datetime) -> Migration:
    return dataclasses.replace(
        _evacuation(at),
        id=2,
        uuid=cast.known_uuid("resize"),
        instance_uuid=cast.RESIZED.uuid,
        kind="resize",
        status="accepted",
        source_host=cast.ELSEWHERE,
        source_node=cast.ELSEWHERE,
        old_type_id=cast.SMALL.id,
        new_type_id=cast.LARGE.id,
    )


def _second_host_as_it_was(cloud: DemoCloud) -> None:
    """Create the second host's provider with its earlier, larger inventory, and with allocations that fit into it.

    Story 5 (negative free capacity) needs the larger inventory first. Placement rejects allocations above the capacity,
    but the agent may later reduce the inventory below the existing allocations.
    """
    host = cast.SECOND
    _placement(cloud, "POST", "/resource_providers", {"uuid": host.root_uuid, "name": host.name})
    before = {
        "VCPU": {"total": cast.BEFORE_CPUS, "allocation_ratio": cast.BEFORE_RATIO},
        "MEMORY_MB": {"total": host.memory_mib},
        "DISK_GB": {"total": cast.BEFORE_DISK_GIB},
    }
    body = {"resource_provider_generation": 0, "inventories": before}
    _placement(cloud, "PUT", f"/resource_providers/{host.root_uuid}/inventories", body)
    for guest in (*host.guests, *host.leaked):
        if guest is not cast.EVACUATED:
            allocate(cloud, guest.uuid, {host.root_uuid: _amounts(guest)})
    resized = Guest(name=cast.RESIZED.name, flavor=cast.LARGE)
    allocate(cloud, resized.uuid, {host.root_uuid: _amounts(resized)})


def schedule_first_host(cloud: DemoCloud) -> None:
    """Make the scheduler's allocations on the first host, whose inventory must already be in Placement.

    The evacuated instance gets allocations on both hosts.
    """
    for guest in cast.FIRST.guests:
        allocate(cloud, guest.uuid, {cast.FIRST.root_uuid: _amounts(guest)})
    amounts = _amounts(cast.EVACUATED)
    allocate(cloud, cast.EVACUATED.uuid, {cast.FIRST.root_uuid: amounts, cast.SECOND.root_uuid: amounts})


def _amounts(guest: Guest) -> dict[str, int]:
    flavor = guest.flavor
    return {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mib, "DISK_GB": flavor.root_gib}


def allocate(cloud: DemoCloud, consumer: str, holdings: Mapping[str, Mapping[str, int]]) -> None:
    """Create the allocations of a new consumer, as the scheduler does."""
    body = {
        "allocations": {provider: {"resources": dict(held)} for provider, held in holdings.items()},
        "project_id": cast.PROJECT,
        "user_id": cast.USER,
        "consumer_generation": None,
    }
    _placement(cloud, "PUT", f"/allocations/{consumer}", body)


def candidates(cloud: DemoCloud, vcpus: int) -> tuple[str, ...]:
    """Return the providers that Placement offers for a request of ``vcpus`` vCPUs (GET /allocation_candidates)."""
    answer = _placement(cloud, "GET", f"/allocation_candidates?resources=VCPU:{vcpus}&limit=100", None)
    return tuple(sorted(answer["provider_summaries"]))


def _placement(cloud: DemoCloud, method: str, path: str, body: object) -> dict[str, dict[str, object]]:
    headers = {"X-Auth-Token": TOKEN, "OpenStack-API-Version": "placement 1.36"}
    answer = requests.request(method, cloud.placement.url + path, json=body, headers=headers, timeout=30)
    if not answer.ok:
        raise PlacementRejected(f"{method} {path}: {answer.text}", status=answer.status_code)
    return dict(answer.json()) if answer.content else {}
