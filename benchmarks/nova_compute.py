"""Measure the audits of the real nova-compute in the cell of benchmarks.control_plane, on the machine's own libvirt."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from agent.demo.placement import TOKEN
from benchmarks.audit import Cost
from benchmarks.world import World
from tests.rigs.conductor import Cell
from tests.rigs.libvirtd import system_libvirtd
from tests.rigs.nova_env import nova_python, with_libvirt

SIDE = Path(__file__).parent / "nova_audits.py"
TIMEOUT_S = 1800
# nova-compute logs an exception in an audit and goes on (ComputeManager._update_available_resource_for_node).
FAILED = "Error updating resources for node"
CONF = """\
[DEFAULT]
host = {host}
my_ip = 127.0.0.1
state_path = {folder}
transport_url = {broker}
compute_driver = libvirt.LibvirtDriver
log_file = {folder}/nova-compute.log
periodic_enable = false
report_interval = 86400
[libvirt]
virt_type = qemu
[vnc]
enabled = false
[oslo_concurrency]
lock_path = {folder}/lock
[placement]
auth_type = admin_token
token = {token}
endpoint_override = {placement}
"""


def nova_costs(cell: Cell, made: World, servers: list[str], audits: int) -> list[Cost]:
    """Return the costs of that many audits of nova-compute (nova_audits.py).

    The host's rows get the name of the machine's libvirt, so the host is of no use to the agent afterwards.
    """
    folder = made.host.folder / "nova-compute"
    (folder / "instances").mkdir(parents=True)
    (folder / "compute_id").write_text(made.host.provider_uuid)
    text = CONF.format(
        folder=folder, host=made.host.name, broker=cell.broker.url, token=TOKEN, placement=made.host.placement_url
    )
    (folder / "nova.conf").write_text(text)
    command = [str(nova_python()), str(SIDE), "--config-file", str(folder / "nova.conf"), "--audits", str(audits)]
    environment = {**os.environ, "PYTHONPATH": str(with_libvirt(folder)), "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1"}
    with system_libvirtd() as libvirtd:
        _name_node(cell, made, libvirtd.connection.getHostname())
        done = subprocess.run(
            [*command, *servers, "--database", cell.url, "--access-log", str(made.placement.server.access_log)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    log = (folder / "nova-compute.log").read_text()
    if FAILED in log:
        raise SystemExit(f"an audit of nova-compute failed:{log.partition(FAILED)[2][:3000]}")
    costs: list[Cost] = json.loads(done.stdout)
    return costs


def _name_node(cell: Cell, made: World, name: str) -> None:
    made.placement.done("PUT", f"/resource_providers/{made.host.provider_uuid}", {"name": name})
    with cell.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE compute_nodes SET hypervisor_hostname = %s", (name,))
        connection.exec_driver_sql("UPDATE instances SET node = %s", (name,))
