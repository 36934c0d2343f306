"""A compute host to measure on: a private libvirtd, a real Placement, a cell database, and N guests in all three books.

On request the host also has volumes in volume groups on loop devices (which requires root), and PCI functions: virtual
functions on as few physical functions as possible.

Guests look like nova's: metadata, a CPU model with its features, disk, interface and the usual devices, so that their
XML has the usual size (5 KB). libvirt's test driver keeps them behind a real libvirtd and its socket, and no software
runs in them.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.demo import cell as rows
from agent.demo.volume_group import VolumeGroupRig
from agent.model.nova import Flavor, Instance
from tests.rigs import placement as placements
from tests.rigs.conductor import Cell
from tests.rigs.domains import domain_xml, file_disk, node_xml, nova_metadata
from tests.rigs.facts import uuid as uuid_of
from tests.rigs.host import AgentHost
from tests.rigs.libvirtd import PrivateLibvirtd, private_libvirtd
from tests.rigs.lvm import lay_out, view
from tests.rigs.lvm_layouts import Volumes, linear
from tests.rigs.node_devices import functions_xml
from tests.rigs.placement import Rest
from tests.rigs.programs import INSTALLED
from tests.rigs.source_tree import ROOT

FLAVOR = Flavor(id=1, name="m1.small", vcpus=2, memory_mib=2048, root_gib=1, ephemeral_gib=0, swap_mib=0)
HELD = {"VCPU": FLAVOR.vcpus, "MEMORY_MB": FLAVOR.memory_mib, "DISK_GB": FLAVOR.root_gib}
LONG_AGO = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - nova's columns have no zone
CPUS_PER_GUEST = 1
MEMORY_MIB_PER_GUEST = 4096
#: The disk of a build machine is small, and its size is not measured.
DISK_RATIO = 1000
ALLOCATIONS_PER_REQUEST = 100
#: lvm2 keeps a group's metadata in 1 MiB, which must hold two copies.
VOLUMES_PER_GROUP = 500
GROUP_BYTES = 4 << 30
FUNCTIONS_PER_PF = 63
GUEST_DISKS = ("disk", "disk.swap", "disk.eph0", "disk.config")
VF_IDS = "8086:1515"

CPU = (
    "<features><acpi/><apic/><pae/></features>"
    "<cpu mode='custom' match='exact' check='partial'><model fallback='allow'>Skylake-Server-IBRS</model>"
    + "".join(f"<feature policy='require' name='feature-{number}'/>" for number in range(50))
    + "</cpu><clock offset='utc'><timer name='pit' tickpolicy='delay'/><timer name='rtc' tickpolicy='catchup'/></clock>"
)
DEVICES = (
    "<controller type='usb' index='0' model='piix3-uhci'/>",
    *(f"<controller type='pci' index='{number}' model='pcie-root-port'/>" for number in range(1, 9)),
    "<serial type='pty'><target port='0'/></serial>",
    "<input type='tablet' bus='usb'/>",
    "<graphics type='vnc' autoport='yes' listen='0.0.0.0'/>",
    "<video><model type='virtio'/></video>",
    "<memballoon model='virtio'/>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The host's load. ``functions`` counts physical and virtual functions."""

    guests: int
    volumes: int = 0
    functions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The measured agent's host, its Placement and its libvirtd."""

    host: AgentHost
    placement: Rest
    libvirtd: PrivateLibvirtd

    def requests(self) -> list[str]:
        """Return the agents' requests to Placement so far: ``METHOD path status``."""
        lines = (line.split() for line in self.placement.log())
        return [" ".join(words[:3]) for words in lines if words[4] != "-"]


def guest_name(number: int) -> str:
    """Return the name of the n-th guest; the guest's uuid is derived from it."""
    return f"instance-{number:08x}"


def guest_xml(name: str) -> str:
    """Return a guest of FLAVOR as nova defines it."""
    interface = (
        "<interface type='bridge'><source bridge='br-int'/><target dev='tap0'/><model type='virtio'/></interface>"
    )
    return domain_xml(
        name,
        domain_uuid=uuid_of(name),
        vcpus=FLAVOR.vcpus,
        memory_mib=FLAVOR.memory_mib,
        metadata=nova_metadata(FLAVOR.vcpus, FLAVOR.memory_mib, FLAVOR.root_gib, flavor=FLAVOR.name),
        more=CPU,
        disks=(file_disk(f"/var/lib/nova/instances/{uuid_of(name)}/disk"), interface, *DEVICES),
    )


@contextlib.contextmanager
def world(load: Load, source: str = "sql", cell: Cell | None = None) -> Iterator[World]:
    """Yield a host with that load, known to the cloud and recorded; its inventory is published.

    ``cell`` is the running cell with this host's rows; None: the cell database is a SQLite file.
    """
    names = [guest_name(number) for number in range(load.guests)]
    node = node_xml(
        cpus=max(8, load.guests * CPUS_PER_GUEST),
        memory_mib=max(8192, load.guests * MEMORY_MIB_PER_GUEST),
        domains=[*(guest_xml(name) for name in names), *function_xmls(load.functions)],
    )
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stocktake-bench-lvm-")))
        groups = _groups(stack, folder, load.volumes, names)
        made = stack.enter_context(_around(node, source, cell))
        made.host.environment.update(view(folder, *groups).environment if groups else {})
        made.host.configure(_options(groups, load.functions))
        instances = [
            made.host.instance(name, flavor=FLAVOR, created_at=LONG_AGO, updated_at=LONG_AGO) for name in names
        ]
        if cell is None:
            made.host.make_cell(*instances).dispose()
        else:
            _fill(cell, made.host, instances)
        made.host.agent("--once", timeout_s=300)
        _allocate(made, names)
        yield made


def function_xmls(count: int) -> list[str]:
    """Return ``count`` PCI functions."""
    devices: list[str] = []
    bus = 0x20
    while len(devices) < count:
        virtual = min(FUNCTIONS_PER_PF, count - len(devices) - 1)
        addresses = [f"0000:{bus:02x}:{1 + number // 8:02x}.{number % 8}" for number in range(virtual)]
        devices += functions_xml(f"0000:{bus:02x}:00.0", addresses, vf_ids=VF_IDS)
        bus += 1
    return devices


def _options(groups: list[VolumeGroupRig], functions: int) -> dict[str, dict[str, object]]:
    options: dict[str, dict[str, object]] = {}
    if groups:
        options["libvirt"] = {"images_type": "lvm", "images_volume_group": groups[0].name}
        options["lvm"] = {"volume_groups": ",".join(group.name for group in groups)}
    if functions:
        vendor, product = VF_IDS.split(":")
        spec = {"vendor_id": vendor, "product_id": product}
        options["pci"] = {"device_spec": json.dumps(spec), "report_in_placement": True}
    return options


def _groups(stack: contextlib.ExitStack, folder: Path, volumes: int, names: list[str]) -> list[VolumeGroupRig]:
    """Make groups with ``volumes`` volumes of one extent: guests' disks, and one foreign volume in a hundred."""
    disks = [f"{uuid_of(name)}_{disk}" for disk in GUEST_DISKS for name in names]
    by_hand = max(volumes // 100, volumes - len(disks))
    wanted = [*disks[: volumes - by_hand], *(f"by-hand-{number}" for number in range(by_hand))]
    groups = []
    for first in range(0, volumes, VOLUMES_PER_GROUP):
        rig = VolumeGroupRig(folder=folder, name=f"bench{first // VOLUMES_PER_GROUP}", size_bytes=GROUP_BYTES)
        stack.callback(rig.close)
        rig.create()
        laid = Volumes()
        for number, name in enumerate(wanted[first : first + VOLUMES_PER_GROUP]):
            laid.add(name, *linear((number, 1)))
        lay_out(rig, laid)
        groups.append(rig)
    return groups


@contextlib.contextmanager
def shared_node(source: str = "none") -> Iterator[World]:
    """Yield a host on the test driver's default node, which all connections share, so that others can define guests."""
    with _around(None, source) as made:
        yield made


def _fill(cell: Cell, host: AgentHost, instances: Iterable[Instance]) -> None:
    cell.empty()
    with cell.engine.begin() as connection:
        rows.add_compute_node(connection, host.node_row())
        for instance in instances:
            rows.add_instance(connection, instance)


def _state_options(source: str, cell: Cell | None) -> dict[str, dict[str, object]]:
    if cell is None:
        return {"state": {"source": source}}
    if source == "sql":
        return {"state": {"source": source, "connection": cell.url}}
    return {"DEFAULT": {"transport_url": cell.broker.url}, "state": {"source": source, "connection": None}}


@contextlib.contextmanager
def _around(node: str | None, source: str, cell: Cell | None = None) -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stocktake-bench-")))
        placement = stack.enter_context(placements.running(folder / "placement"))
        libvirtd = stack.enter_context(private_libvirtd(node))
        options = _state_options(source, cell)
        options.setdefault("DEFAULT", {})["disk_allocation_ratio"] = DISK_RATIO
        host = AgentHost(
            folder=folder,
            name="bench",
            placement_url=placement.server.url,
            libvirt_uri=libvirtd.uri,
            provider_uuid=str(uuid.uuid4()),
            options=options,
            environment=with_bytecode(folder) | of_the_unit(),
            # A forked program would share its memory with other tests' programs, and start sooner than installed.
            launcher=INSTALLED,
        )
        host.configure()
        yield World(host=host, placement=placement, libvirtd=libvirtd)


def with_bytecode(folder: Path) -> dict[str, str]:
    """Return an environment in which programs keep the bytecode of what they import, as pip does for an installation.

    A program that compiles its modules at each start takes up to 11 MiB more, and starts later.
    """
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def of_the_unit() -> dict[str, str]:
    """Return the environment that the systemd unit gives the daemon."""
    lines = (ROOT / "systemd" / "stocktake-agent.service").read_text().splitlines()
    settings = (line.removeprefix("Environment=") for line in lines if line.startswith("Environment="))
    return dict(setting.split("=", 1) for setting in settings)


def _allocate(made: World, names: list[str]) -> None:
    """Allocate as the scheduler does, but for many consumers per request."""
    for start in range(0, len(names), ALLOCATIONS_PER_REQUEST):
        body = {
            uuid_of(name): {
                "allocations": {made.host.provider_uuid: {"resources": HELD}},
                "project_id": placements.PROJECT,
                "user_id": placements.USER,
                "consumer_generation": None,
            }
            for name in names[start : start + ALLOCATIONS_PER_REQUEST]
        }
        made.placement.done("POST", "/allocations", body, version="1.28")
