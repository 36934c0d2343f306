"""One configuration from an empty provider tree to its recording.

Two readings belong together only if nothing moved between them, and a virtual
machine's memory and a disk's free space move: then the configuration is recorded
again.
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
# Of the stack's own nova.conf only what an audit depends on; of other sections only what a configuration sets.
_KEPT = {"DEFAULT": ("compute_driver",), "libvirt": ("connection_uri", "virt_type", "images_type")}
# nova-compute's start names the architectures and machine types that it asks libvirt about.
_ASKED = re.compile(r"Getting domain capabilities for (?P<arch>\S+) via machine types: \{(?P<machines>[^}]*)\}")
STATE_PATH = "/var/lib/nova"
PROVIDER_PATH = "/etc/nova/provider_config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What was found, before anything is normalised: ``node`` is the name that libvirt gives this machine."""

    node: str
    scratch: Scratch
    conf: Options
    texts: Mapping[str, str]
    providers: list[dict[str, Any]]
    compute_node: dict[str, Any]
    pci_devices: list[dict[str, Any]]
    versions: Mapping[str, str]

    def told(self) -> str:
        """One line for people."""
        root = self.providers[0]
        amounts = " ".join(f"{name}={record['total']}" for name, record in sorted(root["inventories"].items()))
        return f"{len(self.providers)} providers, {len(root['traits'])} traits, {amounts}"


def record(stack: Stack, configuration: Configuration) -> Recording:
    """SystemExit when nova-compute does not come so far, or memory never stands still."""
    # A read-only connection is refused domain capabilities.
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
    """What every run needs; the second audit is put off so that it cannot come between two readings.

    Provider files call the node by its recorded name, nova-compute knows the real one only.
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
    """We ask libvirt for the domain capabilities that nova-compute says it asked for, no more and no fewer."""
    asked = set()
    for found in _ASKED.finditer(log.read_text(errors="replace")):
        asked |= {f"{found['arch']}-{name.strip().strip(chr(39))}" for name in found["machines"].split(",")}
    ours = {Path(name).stem.rpartition("-")[0] for name in texts if name.startswith("domain_capabilities/")}
    if asked != ours:
        raise SystemExit(f"nova-compute asked for domain capabilities of {sorted(asked)}, the recorder {sorted(ours)}")


def _same_moment(recording: Recording) -> bool:
    """nova-compute saw the memory and the free disk that the recorder saw, in whole MiB and GiB."""
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
    """Without instances nothing is over-committed."""
    if (group := recording.texts.get("vgs_of_nova.txt")) is not None:
        return int(group.split("|")[1]) // _GIB
    return statvfs["f_bavail"] * statvfs["f_frsize"] // _GIB
