"""A host played back from a recording of the real nova-compute (tests/golden/reference/README.md).

libvirt's answers, /proc, /sys, lvm2's reports and nova.conf are those that nova-compute read. The agent's own code
reads them, so a call that the recording does not contain fails the test instead of returning an invented answer.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import libvirt

from agent.cmd.wiring import host_place
from agent.config import build
from agent.config.load import load
from agent.deadlines.reader_thread import ReaderThread
from agent.model.host.facts import HostFacts
from agent.model.host.storage import FileSystem, ImageStore, StorageFacts
from agent.model.placement import PlacementView
from agent.model.settings import Settings
from agent.model.snapshot import FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, STATE, Snapshot
from agent.ports import Deadline
from agent.sources.libvirt import connection as libvirt_connection
from agent.sources.libvirt.host import LibvirtHost
from agent.sources.storage.lvm import Completed, Lvm
from tests.rigs.facts import good, service, state

FOLDER = Path(__file__).parents[1] / "golden" / "reference"
CONFIGURATIONS = tuple(sorted(path.parent.name for path in FOLDER.glob("*/placement.json")))


@dataclass(frozen=True)
class Recording:
    """One recorded configuration."""

    name: str

    @property
    def folder(self) -> Path:
        """The configuration's own files."""
        return FOLDER / self.name

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The configuration's description and the paths of its inputs."""
        return self._json(self.folder / "meta.json")

    @cached_property
    def host(self) -> dict[str, Any]:
        """The figures of libvirt and the kernel."""
        return self._json(self.path("host.json"))

    @cached_property
    def placement(self) -> dict[str, Any]:
        """The providers that nova-compute wrote to Placement."""
        return self._json(self.folder / "placement.json")

    @cached_property
    def compute_node(self) -> dict[str, Any]:
        """The compute node record that nova-compute wrote."""
        return self._json(self.folder / "compute_node.json")

    @property
    def node(self) -> str:
        """The node's name."""
        name: str = self.compute_node["hypervisor_hostname"]
        return name

    def has(self, name: str) -> bool:
        """Return whether the recording has that input."""
        return name in self.meta["inputs"]

    def path(self, name: str) -> Path:
        """Return the path of an input. Raise KeyError if it was not recorded."""
        return FOLDER / self.meta["inputs"][name]

    def text(self, name: str) -> str:
        """Return an input's text."""
        return self.path(name).read_text(encoding="utf-8")

    def all_of(self, folder: str) -> dict[str, str]:
        """Return the texts of all inputs below a folder, by name."""
        names = [name for name in self.meta["inputs"] if name.startswith(f"{folder}/")]
        return {name.removeprefix(f"{folder}/").removesuffix(".xml"): self.text(name) for name in names}

    def _json(self, path: Path) -> Any:
        return json.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class _Device:
    """A virNodeDevice."""

    key: str
    xml: str

    def name(self) -> str:
        return self.key

    def XMLDesc(self, _flags: int) -> str:  # noqa: N802 - libvirt's name
        return self.xml


class PlayedConnection:
    """A virConnect that returns the recorded answers and fails on a call that was not recorded."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def getType(self) -> str:  # noqa: N802
        return str(self._recording.host["type"])

    def getLibVersion(self) -> int:  # noqa: N802
        return int(self._recording.host["lib_version"])

    def getVersion(self) -> int:  # noqa: N802
        return int(self._recording.host["version"])

    def getInfo(self) -> list[Any]:  # noqa: N802
        return list(self._recording.host["info"])

    def getCPUMap(self) -> tuple[Any, ...]:  # noqa: N802
        return tuple(self._recording.host["cpu_map"])

    def getHostname(self) -> str:  # noqa: N802
        return self._recording.node

    def isAlive(self) -> int:  # noqa: N802
        return 1

    def close(self) -> int:
        return 0

    def listAllDomains(self) -> list[Any]:  # noqa: N802
        return []

    def getAllDomainStats(self, _stats: int) -> list[Any]:  # noqa: N802
        return []

    def listAllDevices(self, _flags: int) -> list[_Device]:  # noqa: N802
        return [_Device(name, xml) for name, xml in self._recording.all_of("node_devices").items()]

    def getCapabilities(self) -> str:  # noqa: N802
        return self._recording.text("capabilities.xml")

    def getCPUModelNames(self, _arch: str, _flags: int) -> list[str]:  # noqa: N802
        names: list[str] = json.loads(self._recording.text("cpu_model_names.json"))
        return names

    def baselineCPU(self, questions: list[str], flags: int) -> str:  # noqa: N802
        assert flags == libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
        (question,) = (ET.fromstring(text) for text in questions)
        # The host's own <cpu> lists features; a <cpu> made for a model lists none.
        if question.find("feature") is not None:
            return self._recording.text("expanded_cpu.xml")
        model = question.findtext("model")
        if self._recording.has(f"baseline/{model}.error.txt"):
            raise libvirt.libvirtError(f"{model}: refused")
        return self._recording.text(f"baseline/{model}.xml")

    def getDomainCapabilities(  # noqa: N802
        self, _emulator: str | None, arch: str, machine: str | None, virt_type: str, _flags: int
    ) -> str:
        recorded = self._recording.all_of("domain_capabilities")
        asked = f"{arch}-{machine}-{virt_type}"
        if asked in recorded:
            return recorded[asked]
        same = [xml for xml in recorded.values() if _expanded(xml) == (arch, machine, virt_type)]
        assert same, f"nova-compute did not ask for the domain capabilities of {asked}"
        return same[0]


def _expanded(xml: str) -> tuple[str | None, ...]:
    document = ET.fromstring(xml)
    return tuple(document.findtext(tag) for tag in ("arch", "machine", "domain"))


@dataclass(frozen=True)
class _Reports:
    """lvm2's reports; a Runner."""

    recording: Recording

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:
        return Completed(self.recording.text(f"{argv[0]}.json"), "", 0)


def settings_of(recording: Recording, folder: Path, **options: str) -> Settings:
    """Return the settings that Stocktake derives from the recorded nova.conf; ``options`` are ``group__option``."""
    return build.settings_from(_loaded(recording, folder, options))


def _loaded(recording: Recording, folder: Path, options: dict[str, str]) -> Any:
    lines = {
        "agent": [f"nova_conf = {recording.folder / 'nova.conf'}", f"state_dir = {folder}", f"run_dir = {folder}"],
        "state": ["source = none"],
        "placement": ["auth_type = none", "endpoint = http://127.0.0.1:9"],
        "compute": [f"provider_config_location = {recording.folder / 'provider_config'}"],
    }
    for name, value in options.items():
        group, _, option = name.partition("__")
        lines.setdefault(group, []).append(f"{option} = {value}")
    path = folder / "stocktake.conf"
    text = "\n".join(f"[{group}]\n" + "\n".join(found) for group, found in lines.items())
    path.write_text(text + "\n", encoding="utf-8")
    loaded = load([str(path)])
    build.require(loaded)
    return loaded


def host_of(recording: Recording, folder: Path, monkeypatch: Any) -> HostFacts:
    """Return what the agent's libvirt source reads of the recorded host."""
    connection = PlayedConnection(recording)
    for opener in ("open_read_only", "open_read_write"):
        monkeypatch.setattr(libvirt_connection, opener, lambda _uri: connection)
    loaded = _loaded(recording, folder, {})
    place = dataclasses.replace(
        host_place(build.libvirt_uri(loaded), build.settings_from(loaded)),
        proc_root=_proc(recording, folder),
        sys_root=_sys(recording, folder),
        capabilities_wait_s=30.0,
    )
    readers = ReaderThread("libvirt"), ReaderThread("libvirt-capabilities")
    source = LibvirtHost(place, *readers)
    try:
        return source.read(Deadline.after(30))
    finally:
        source.close()
        for reader in readers:
            reader.stop()


def _proc(recording: Recording, folder: Path) -> Path:
    proc = folder / "proc"
    proc.mkdir(exist_ok=True)
    (proc / "meminfo").write_text(recording.text("meminfo.txt"), encoding="utf-8")
    return proc


def _sys(recording: Recording, folder: Path) -> Path:
    sys_root = folder / "sys"
    for name, text in recording.host["module_parameters"].items():
        module, _, parameter = name.partition("/")
        if text is not None:
            path = sys_root / "module" / module / "parameters" / parameter
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return sys_root


def snapshot_of(recording: Recording, chosen: Settings, host: HostFacts, view: PlacementView) -> Snapshot:
    """Return the whole world of the recording, with this view of Placement."""
    storage = [good(FILESYSTEM, _filesystem(recording, chosen)), good(IMAGES, _images(recording, chosen))]
    if chosen.disk_group:
        source = Lvm((chosen.disk_group,), 30.0, _Reports(recording))
        storage.append(good(LVM, source.read(Deadline.after(30))))
    nova = dataclasses.replace(state(service=service()), host=chosen.host)
    return Snapshot(
        placement=good(PLACEMENT, view), nova=good(STATE, nova), host=good(LIBVIRT, host), storage=tuple(storage)
    )


def _filesystem(recording: Recording, chosen: Settings) -> StorageFacts:
    return StorageFacts(filesystems=(_measured(recording, chosen),))


def _measured(recording: Recording, chosen: Settings) -> FileSystem:
    raw = recording.host["statvfs"]
    size, free, available = (raw["f_frsize"] * raw[name] for name in ("f_blocks", "f_bfree", "f_bavail"))
    return FileSystem(path=chosen.instances_path, size_bytes=size, free_bytes=free, available_bytes=available)


def _images(recording: Recording, chosen: Settings) -> StorageFacts:
    cache = recording.host["image_cache"] or {"same_device": False, "files": []}
    plain = [file["st_blocks"] * 512 for file in cache["files"] if not file["directory"]]
    store = ImageStore(
        path=chosen.instances_path,
        files=(),
        cache_path=f"{chosen.instances_path}/_base",
        cache_bytes=sum(plain) if cache["same_device"] else 0,
        filesystem=_measured(recording, chosen),
    )
    return StorageFacts(image_stores=(store,))
