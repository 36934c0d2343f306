"""Build the demo's cloud from real parts, and register each part for removal as soon as the part exists.

The parts: a cell database on SQLite, a Placement process, volume groups on loop devices (or simulated lvm2 reports if
loop devices are not available), and libvirt's test driver. Each host is configured like a real compute host: nova.conf
sets almost everything, and stocktake.conf very little. This module also writes what nova and the scheduler would write:
rows and allocations. A Script says which hosts the cloud has (story_world.py, practice_cast.py).
"""

from __future__ import annotations

import contextlib
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import sqlalchemy

from agent.demo import cast, cell
from agent.demo.cast import Guest, HostCast
from agent.demo.interruptions import Interruptions
from agent.demo.node_xml import node_xml
from agent.demo.placement import TOKEN, Lifetime, PlacementServer, start_placement
from agent.demo.volume_group import DemoGroup, VolumeGroupRig, lvm_conf, open_group
from agent.errors import PlacementRejected
from agent.model.nova import ComputeNode, Instance
from agent.model.units import GIB, MIB

# A volume group's file is larger than the group by this many bytes, because lvm2 stores its metadata in the file too.
_LVM_METADATA_BYTES = 64 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a cloud of the demo consists of.

    ``rows`` writes further rows of nova's database, in addition to the rows of the hosts and their guests. ``place``
    writes to Placement before the first audit. ``nova_conf`` are further lines for [DEFAULT] of each host's nova.conf.
    """

    hosts: tuple[HostCast, ...]
    rows: Callable[[sqlalchemy.Connection], None]
    place: Callable[[DemoCloud], None]
    nova_conf: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCloud:
    """The demo's cloud. All its files are in one folder; it also has loop devices and a Placement process."""

    folder: Path
    hosts: tuple[HostCast, ...]
    placement: PlacementServer
    groups: tuple[DemoGroup, ...]
    lvm_folder: Path

    def config_file(self, host: HostCast) -> Path:
        """Return the path of the configuration file of that host's agent."""
        return self.folder / host.name / "stocktake.conf"

    @property
    def cell_file(self) -> Path:
        """The SQLite file of the cell database."""
        return self.folder / "cell.sqlite"

    @property
    def has_real_groups(self) -> bool:
        """Whether at least one volume group is real, so that lvm2's own commands can show it."""
        return any(isinstance(group, VolumeGroupRig) for group in self.groups)


def build(
    folder: Path,
    lifetime: Lifetime,
    progress: Callable[[str], None],
    standing: contextlib.ExitStack,
    interruptions: Interruptions,
    *,
    script: Script,
) -> DemoCloud:
    """Build and return the cloud in its state before the first audit.

    ``progress`` is called with one line of text for each part. As soon as a part exists, the function that removes the
    part is added to ``standing``. So the caller can remove all parts even if the build ends with an error.
    """
    progress("starting Placement on SQLite, in its own process")
    placement = start_placement(
        folder / "placement", lifetime=lifetime, waiting=interruptions.allowed, cell=folder / "cell.sqlite"
    )
    standing.callback(placement.stop)
    groups = tuple(_group(folder, host, progress, standing) for host in script.hosts)
    cloud = DemoCloud(folder=folder, hosts=script.hosts, placement=placement, groups=groups, lvm_folder=folder / "lvm")
    _see_only(cloud)
    progress("creating a cell database on SQLite with nova's tables, and two hypervisors of libvirt's test driver")
    with interruptions.allowed():
        _fill_cell(cloud, script)
        for host in script.hosts:
            _configure(cloud, host, script.nova_conf)
        script.place(cloud)
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


def _configure(cloud: DemoCloud, host: HostCast, nova_conf: str) -> None:
    folder = cloud.folder / host.name
    folder.mkdir()
    (folder / "node.xml").write_text(node_xml(host), encoding="utf-8")
    (folder / "nova.conf").write_text(
        f"""# The configuration of nova-compute on this compute host.
[DEFAULT]
host = {host.name}
state_path = {folder}
cpu_allocation_ratio = {host.cpu_ratio}
{nova_conf}[compute]
provider_config_location = {folder}/provider_config
[libvirt]
connection_uri = test://{urllib.parse.quote(str(folder))}/node.xml
images_type = lvm
images_volume_group = {host.group}
[database]
connection = sqlite:///{cloud.cell_file}
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


def _fill_cell(cloud: DemoCloud, script: Script) -> None:
    with cell.writing(cloud.cell_file) as connection:
        cell.create_tables(connection)  # type: ignore[arg-type]
        cell.add_heartbeat(connection)
        for number, host in enumerate(script.hosts, start=1):
            cell.add_compute_node(connection, node_row(number, host.root_uuid, host, host.name))
            for guest in host.guests:
                cell.add_instance(connection, instance_row(guest, host.name))
        script.rows(connection)


def node_row(number: int, uuid: str, host: HostCast, hostname: str) -> ComputeNode:
    """Return a compute node row of the host."""
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


def instance_row(guest: Guest, host: str) -> Instance:
    """Return nova's row for the guest: an active instance on the host."""
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


def amounts(guest: Guest) -> dict[str, int]:
    """Return what the scheduler allocates for the guest's flavor."""
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
    placement_answer(cloud, "PUT", f"/allocations/{consumer}", body)


def candidates(cloud: DemoCloud, vcpus: int) -> tuple[str, ...]:
    """Return the providers that Placement offers for a request of ``vcpus`` vCPUs (GET /allocation_candidates)."""
    answer = placement_answer(cloud, "GET", f"/allocation_candidates?resources=VCPU:{vcpus}&limit=100", None)
    return tuple(sorted(answer["provider_summaries"]))


def placement_answer(cloud: DemoCloud, method: str, path: str, body: object) -> dict[str, Any]:
    """Send a request to Placement and return the JSON body of the response. Raises PlacementRejected."""
    headers = {"X-Auth-Token": TOKEN, "OpenStack-API-Version": "placement 1.36"}
    answer = requests.request(method, cloud.placement.url + path, json=body, headers=headers, timeout=30)
    if not answer.ok:
        raise PlacementRejected(f"{method} {path}: {answer.text}", status=answer.status_code)
    return dict(answer.json()) if answer.content else {}
