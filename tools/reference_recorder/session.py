"""One configuration from an empty provider tree to its recording.

nova-compute's reads and the recorder's belong together only if no value changed between them. A virtual machine's
memory and a disk's free space do change; then the configuration is recorded again.
"""

import json
import re
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libvirt

from reference_recorder import options, raw
from reference_recorder.configurations import NODE_UUID, Configuration
from reference_recorder.options import Options
from reference_recorder.stack import HOST, Stack
from reference_recorder.surroundings import Scratch

_TRIES = 5
_GIB = 1 << 30
# Options kept of the stack's own nova.conf: only those that affect an audit. Other sections come from a configuration.
_KEPT = {"DEFAULT": ("compute_driver",), "libvirt": ("connection_uri", "virt_type", "images_type")}
# At its start nova-compute logs the architectures and machine types for which it calls libvirt.
_ASKED = re.compile(r"Getting domain capabilities for (?P<arch>\S+) via machine types: \{(?P<machines>[^}]*)\}")
STATE_PATH = "/var/lib/nova"
PROVIDER_PATH = "/etc/nova/provider_config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The recorded data before normalisation: ``node`` is libvirt's name of this machine."""

    node: str
    scratch: Scratch
    conf: Options
    texts: Mapping[str, str]
    providers: list[dict[str, Any]]
    compute_node: dict[str, Any]
    pci_devices: list[dict[str, Any]]
    versions: Mapping[str, str]

    def told(self) -> str:
        """Return one line for people."""
        root = self.providers[0]
        amounts = " ".join(f"{name}={record['total']}" for name, record in sorted(root["inventories"].items()))
        return f"{len(self.providers)} providers, {len(root['traits'])} traits, {amounts}"


def record(stack: Stack, configuration: Configuration) -> Recording:
    """Record a configuration. Raise SystemExit if nova-compute does not finish an audit or if memory keeps changing."""
    # libvirt refuses domain capabilities on a read-only connection.
    connection = libvirt.open(options.value(stack.options, "libvirt", "connection_uri", "qemu:///system"))
    try:
        for _ in range(_TRIES):
            with tempfile.TemporaryDirectory(prefix="recording-") as folder:
                recording = _record_once(stack, configuration, Scratch(Path(folder)), connection)
            if _same_moment(recording):
                return recording
    finally:
        connection.close()
    raise SystemExit(f"{configuration.name}: memory or disk moved in each of {_TRIES} tries")


def _record_once(
    stack: Stack, configuration: Configuration, scratch: Scratch, connection: libvirt.virConnect
) -> Recording:
    node = connection.getHostname()
    scratch.instances.mkdir(parents=True)
    (scratch.state / "compute_id").write_text(NODE_UUID)
    extra = options.joined(_of_run(scratch, configuration, node), configuration.options)
    (scratch.folder / "extra.conf").write_text(options.text(extra))
    log = scratch.folder / "nova-compute.log"
    with configuration.surroundings(scratch) as environment:
        stack.forget_node(node)
        with stack.nova_compute(scratch.folder / "extra.conf", log, environment):
            conf = options.joined(_kept(stack.options), extra)
            texts = raw.read_texts(connection, conf, scratch, environment)
            _check_questions(log, texts)
            (compute_node,) = stack.rows("SELECT * FROM compute_nodes WHERE hypervisor_hostname = :node", node=node)
            recording = Recording(
                node=node,
                scratch=scratch,
                conf=conf,
                texts=texts,
                providers=[_with_contents(stack, provider) for provider in stack.tree(node)],
                compute_node=compute_node,
                pci_devices=stack.rows(
                    "SELECT * FROM pci_devices WHERE compute_node_id = :id AND deleted = 0 ORDER BY address",
                    id=compute_node["id"],
                ),
                versions={name: stack.version(name) for name in ("nova", "os-traits", "os-resource-classes")},
            )
        stack.forget_node(node)
    return recording


def _of_run(scratch: Scratch, configuration: Configuration, node: str) -> Options:
    """Return the options that every run needs; the second audit is delayed so that it cannot come between two reads.

    Provider files name the node by its recorded name, but nova-compute knows only the real one.
    """
    default = {"host": (HOST,), "state_path": (str(scratch.state),), "update_resources_interval": ("600",)}
    if not configuration.provider_files:
        return {"DEFAULT": default}
    scratch.provider_files.mkdir()
    for name, text in configuration.provider_files.items():
        (scratch.provider_files / name).write_text(text.replace(HOST, node))
    return {"DEFAULT": default, "compute": {"provider_config_location": (str(scratch.provider_files),)}}


def _kept(conf: Options) -> Options:
    return {
        section: {name: conf[section][name] for name in names if name in conf.get(section, {})}
        for section, names in _KEPT.items()
    }


def _with_contents(stack: Stack, provider: dict[str, Any]) -> dict[str, Any]:
    path = f"/resource_providers/{provider['uuid']}"
    inventories = stack.placement.get(f"{path}/inventories").json()["inventories"]
    return {
        "uuid": provider["uuid"],
        "name": provider["name"],
        "parent_provider_uuid": provider["parent_provider_uuid"],
        "root_provider_uuid": provider["root_provider_uuid"],
        "inventories": {name: inventories[name] for name in sorted(inventories)},
        "traits": sorted(stack.placement.get(f"{path}/traits").json()["traits"]),
        "aggregates": sorted(stack.placement.get(f"{path}/aggregates").json()["aggregates"]),
    }


def _check_questions(log: Path, texts: Mapping[str, str]) -> None:
    """Raise SystemExit unless the recorder requested exactly the domain capabilities that nova-compute logged."""
    asked = set()
    for found in _ASKED.finditer(log.read_text(errors="replace")):
        asked |= {f"{found['arch']}-{name.strip().strip(chr(39))}" for name in found["machines"].split(",")}
    ours = {Path(name).stem.rpartition("-")[0] for name in texts if name.startswith("domain_capabilities/")}
    if asked != ours:
        raise SystemExit(f"nova-compute asked for domain capabilities of {sorted(asked)}, the recorder {sorted(ours)}")


def _same_moment(recording: Recording) -> bool:
    """Return whether nova-compute read the same memory and free disk as the recorder, in whole MiB and GiB."""
    host = json.loads(recording.texts["host.json"])
    file_backed_mib = int(options.value(recording.conf, "libvirt", "file_backed_memory", "0"))
    return (
        recording.compute_node["memory_mb"] == (file_backed_mib or host["info"][1])
        and _cells_seen(recording.compute_node) == _cells_read(recording.texts["capabilities.xml"])
        and recording.compute_node["disk_available_least"] == _free_gib(recording, host["statvfs"])
    )


def _cells_seen(compute_node: Mapping[str, Any]) -> list[int]:
    topology = json.loads(compute_node["numa_topology"])
    return [cell["nova_object.data"]["memory"] for cell in topology["nova_object.data"]["cells"]]


def _cells_read(capabilities: str) -> list[int]:
    return [int(cell.findtext("memory", "")) // 1024 for cell in ET.fromstring(capabilities).iter("cell")]


def _free_gib(recording: Recording, statvfs: Mapping[str, int]) -> int:
    """Return the free space; without instances nothing is over-committed."""
    if (group := recording.texts.get("vgs_of_nova.txt")) is not None:
        return int(group.split("|")[1]) // _GIB
    return statvfs["f_bavail"] * statvfs["f_frsize"] // _GIB
