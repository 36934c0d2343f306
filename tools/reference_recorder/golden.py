"""Recordings as normalised files: each raw text once in ``host/``, or with the configuration if it differs."""

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_recorder import options
from reference_recorder.configurations import NODE_UUID, Configuration
from reference_recorder.session import PROVIDER_PATH, STATE_PATH, Recording
from reference_recorder.stack import HOST

_SHARED = "host"
# These texts differ at each moment, so they are not shared even if two happen to be equal.
_OF_A_MOMENT = ("host.json", "lvs.json", "meminfo.txt", "vgs.json", "vgs_of_nova.txt")
_HOST_UUID = "c0de0000-0000-4000-8000-00000000aaaa"
_MAC = re.compile(r"\b[0-9a-f]{2}(?P<gap>[:_])(?:[0-9a-f]{2}(?P=gap)){4}[0-9a-f]{2}\b")
_NO_MACS = {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"}
# Columns of compute_nodes that contain JSON texts.
_JSON_COLUMNS = ("cpu_info", "extra_resources", "numa_topology", "pci_stats", "stats", "supported_instances")
_LEFT_OUT = {"created_at", "updated_at", "deleted_at", "deleted", "id", "service_id", "compute_node_id", "uuid"}
# Bookkeeping of nova's versioned objects, in no fixed order.
_CHANGES = "nova_object.changes"
NORMALISED = (
    f"the name that libvirt gives the machine (hypervisor_hostname, provider names) is {HOST}; [DEFAULT]host is {HOST}",
    f"the node's uuid is {NODE_UUID}, given to nova-compute as state_path/compute_id; its children's count on",
    f"state_path is {STATE_PATH}, provider_config_location is {PROVIDER_PATH}: temporary folders when it was recorded",
    "the machine's own uuid in capabilities.xml, the MAC addresses and the loop device's number are made up",
    "compute_node.json: JSON texts are decoded, the features of cpu_info and the PCI pools sorted; without ids, times,"
    " uuids and nova_object.changes",
    "nova.conf: of the stack's own file only what an audit depends on; no credentials, no addresses",
)


@dataclass(frozen=True, slots=True)
class Golden:
    """The folder of all recordings."""

    folder: Path

    def write(self, configuration: Configuration, recording: Recording) -> None:
        """Replace the configuration's folder; a text that ``host/`` lacks is written there."""
        ours = self.folder / configuration.name
        _remove(ours)
        clean = _Clean.of(recording)
        providers = clean.providers(recording.providers)
        inputs = {}
        for name, text in sorted(recording.texts.items()):
            inputs[clean.text(name)] = self._place(configuration.name, clean.text(name), clean.text(text))
        _write(ours / "nova.conf", clean.text(options.text(recording.conf)))
        for name, text in configuration.provider_files.items():
            _write(ours / "provider_config" / name, text)
        _write(ours / "placement.json", _json({"root": NODE_UUID, "providers": providers}))
        _write(ours / "compute_node.json", _json(clean.compute_node(recording)))
        _write(ours / "meta.json", _json(_meta(configuration, recording, inputs)))

    def drop_unused(self) -> None:
        """Remove the shared texts that no configuration names any more."""
        used = {
            path
            for meta in self.folder.glob("*/meta.json")
            for path in json.loads(meta.read_text(encoding="utf-8"))["inputs"].values()
        }
        for path in sorted((self.folder / _SHARED).rglob("*"), reverse=True):
            if path.is_file() and str(path.relative_to(self.folder)) not in used:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()

    def _place(self, configuration: str, name: str, text: str) -> str:
        """Write the text; return its path below the folder, in ``host/`` unless another text has that name there."""
        shared, own = Path(_SHARED) / name, Path(configuration) / name
        if name not in _OF_A_MOMENT:
            if not (self.folder / shared).exists():
                _write(self.folder / shared, text)
            if (self.folder / shared).read_text(encoding="utf-8") == text:
                return str(shared)
        _write(self.folder / own, text)
        return str(own)


@dataclass(frozen=True, slots=True)
class _Clean:
    """Replaces data that identifies the machine."""

    node: str
    pairs: tuple[tuple[str, str], ...]
    uuids: Mapping[str, str]

    @classmethod
    def of(cls, recording: Recording) -> "_Clean":
        scratch = recording.scratch
        pairs = [(str(scratch.provider_files), PROVIDER_PATH), (str(scratch.state), STATE_PATH)]
        if found := re.search(r"<uuid>([^<]+)</uuid>", recording.texts["capabilities.xml"]):
            pairs.append((found[1], _HOST_UUID))
        macs = {
            match[0].replace("_", ":")
            for name, text in sorted(recording.texts.items())
            if name.startswith("node_devices/")
            for match in _MAC.finditer(text)
        }
        for number, mac in enumerate(sorted(macs - _NO_MACS), start=1):
            made_up = f"52:54:00:00:00:{number:02x}"
            pairs += [(mac, made_up), (mac.replace(":", "_"), made_up.replace(":", "_"))]
        children = [provider["uuid"] for provider in recording.providers if provider["uuid"] != NODE_UUID]
        uuids = {uuid: f"{NODE_UUID[:-2]}{number:02x}" for number, uuid in enumerate(children, start=2)}
        return cls(node=recording.node, pairs=tuple(pairs), uuids=uuids)

    def text(self, text: str) -> str:
        for found, made_up in self.pairs:
            text = text.replace(found, made_up)
        return re.sub(r"/dev/loop\d+", "/dev/loop0", text)

    def name(self, name: str) -> str:
        return re.sub(rf"^{re.escape(self.node)}(?=_|$)", HOST, name)

    def value(self, value: Any) -> Any:
        """Return a decoded JSON value with the children's uuids and the machine's name and addresses replaced."""
        if isinstance(value, dict):
            return {key: self.value(inner) for key, inner in value.items() if key != _CHANGES}
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        if isinstance(value, str):
            return self.text(self.uuids.get(value, self.name(value)))
        return value

    def providers(self, providers: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return self.value(providers)

    def compute_node(self, recording: Recording) -> dict[str, Any]:
        row = _columns(recording.compute_node)
        for column in _JSON_COLUMNS:
            if isinstance(row.get(column), str) and row[column]:
                row[column] = json.loads(row[column])
        devices = [_columns(device) for device in recording.pci_devices]
        devices = [{**device, "extra_info": json.loads(device["extra_info"] or "{}")} for device in devices]
        row = self.value({**row, "pci_devices": devices})
        row["cpu_info"]["features"].sort()
        row["pci_stats"]["nova_object.data"]["objects"].sort(key=json.dumps)
        return row


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without columns that differ at each run; the database's own number types become plain ones."""
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else float(value)
        for name, value in row.items()
        if name not in _LEFT_OUT
    }


def _meta(configuration: Configuration, recording: Recording, inputs: Mapping[str, str]) -> dict[str, Any]:
    host = json.loads(recording.texts["host.json"])
    return {
        "configuration": configuration.name,
        "told": configuration.told,
        "recorded": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "versions": {
            **recording.versions,
            "libvirt": _dotted(host["lib_version"]),
            "qemu": _dotted(host["version"]),
        },
        "normalised": list(NORMALISED),
        "inputs": dict(inputs),
    }


def _dotted(version: int) -> str:
    return f"{version // 1_000_000}.{version // 1000 % 1000}.{version % 1000}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
