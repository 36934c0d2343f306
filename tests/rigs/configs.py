"""Configuration files in a test's own folder, with a nova.conf such as a compute host has."""

import pathlib

from agent.config.load import load
from agent.config.loaded import Loaded

#: An operator's nova.conf: many options that Stocktake does not read, references, credentials, a debug switch.
NOVA_CONF = """\
[DEFAULT]
my_ip = 192.0.2.17
host = compute-17
state_path = /srv/nova
lock_path = $state_path/locks
transport_url = rabbit://nova:hunter2@192.0.2.5:5672/
debug = true
log_file = /var/log/nova/nova-compute.log
graceful_shutdown_timeout = 180
compute_driver = libvirt.LibvirtDriver
reserved_host_memory_mb = 4096
cpu_allocation_ratio = 4
enabled_apis = osapi_compute

[api]
auth_strategy = keystone

[compute]
cpu_shared_set = 4-47

[glance]
api_servers = http://192.0.2.5:9292

[libvirt]
virt_type = qemu
images_type = lvm
images_volume_group = guests
cpu_mode = host-model

[neutron]
auth_type = password
password = neutron-secret

[placement]
auth_type = password
auth_url = http://192.0.2.5/identity
username = placement
password = pla$$cement
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = RegionOne
"""

#: The smallest configuration that works on a host without nova.
ALONE = """\
[agent]
nova_conf =

[compute]
provider_config_location = /nonexistent

[state]
source = none

[placement]
auth_type = none
endpoint_override = http://127.0.0.1:8778
"""


def write(folder: pathlib.Path, name: str, text: str) -> str:
    """Write a file with that text; return its path."""
    path = folder / name
    path.write_text(text)
    return str(path)


def load_ours(folder: pathlib.Path, text: str) -> Loaded:
    """Load one Stocktake file; the machine's own nova.conf is not read unless the text names it."""
    return load([write(folder, "stocktake.conf", text)])


def load_beside_nova(folder: pathlib.Path, text: str, nova: str = NOVA_CONF) -> Loaded:
    """Load one Stocktake file that names a nova.conf with that text."""
    path = write(folder, "nova.conf", nova)
    return load_ours(folder, f"[agent]\nnova_conf = {path}\n{text}")
