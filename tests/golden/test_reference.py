"""The agent and a real nova-compute compute the same tree from the same inputs, except for rows of docs/differences.md.

There is one test per recorded configuration (tests/golden/reference). It compares inventories and traits of every
provider, field by field, and the figures of the compute node record.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest

from agent.audit.decide import decide
from agent.model.books import DesiredTree
from agent.model.compared import Subject
from agent.model.occupancy import Occupied
from agent.model.placement import Inventory, PlacementView
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.model.units import GIB
from agent.node_record.resource_view import resource_view
from agent.node_record.usage import uptime_text, usage
from agent.render.view_document import view_document
from tests.rigs.reference import CONFIGURATIONS, Recording, host_of, settings_of, snapshot_of

# Scenario 115: each agent marks its provider with its own owner trait.
OWNERS = {"OWNER_NOVA": "CUSTOM_OWNER_STOCKTAKE"}
# libvirt calls SSE3 "pni". nova-compute looks for "sse3", which libvirt never reports, and clears the trait.
SSE3 = "HW_CPU_X86_SSE3"
# Scenario 112: a flag with a minus sign is removed from the guest's CPU, so the host cannot promise it.
TAKEN_AWAY = {
    "cpu_mode_custom_unchecked": {"HW_CPU_X86_SSE41"},
    "cpu_mode_host_model_flags": {"HW_CPU_X86_AESNI"},
    "cpu_mode_host_passthrough_flags": {"HW_CPU_X86_AESNI"},
}

Tree = dict[str, dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Played:
    """One recording, as the agent's code reads it."""

    recording: Recording
    settings: Settings
    snapshot: Snapshot

    @property
    def tree(self) -> DesiredTree:
        """The tree that the agent wants in an empty Placement."""
        subject = Subject(root_uuid=self.recording.placement["root"], node=self.recording.node)
        tree = decide(self.snapshot, self.settings, subject, None).tree
        assert tree is not None
        return tree


def played(name: str, folder, monkeypatch, **options: str) -> Played:
    """Return the recording of that name, read against an empty Placement."""
    recording = Recording(name)
    chosen = settings_of(recording, folder, **options)
    view = PlacementView(root_uuid=recording.placement["root"], providers=(), allocations=(), allocations_fresh=True)
    host = host_of(recording, folder, monkeypatch)
    return Played(recording, chosen, snapshot_of(recording, chosen, host, view))


def theirs(recording: Recording) -> Tree:
    """Return the recorded tree, by provider name."""
    names = {p["uuid"]: p["name"] for p in recording.placement["providers"]}
    return {
        p["name"]: {
            "parent": names.get(p["parent_provider_uuid"]),
            "inventories": p["inventories"],
            "traits": sorted({OWNERS.get(t, t) for t in p["traits"]} - TAKEN_AWAY.get(recording.name, set())),
        }
        for p in recording.placement["providers"]
    }


def ours(tree: DesiredTree) -> Tree:
    """Return the agent's tree in the same form, without SSE3, which nova-compute never sets."""
    names = {p.uuid: p.name for p in tree.providers}
    return {
        p.name: {
            "parent": names.get(p.parent_uuid or ""),
            "inventories": {i.resource_class: fields(i) for i in p.inventories},
            "traits": sorted(p.traits_wanted - {SSE3}),
        }
        for p in tree.providers
    }


def fields(inventory: Inventory) -> dict[str, float]:
    """Return the six fields of an inventory."""
    found = dataclasses.asdict(inventory)
    del found["resource_class"]
    return found


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_agent_and_nova_compute_have_equal_provider_trees(name, tmp_path, monkeypatch):
    """From a recorded host, the agent computes the inventories and traits that a real nova-compute published."""
    world = played(name, tmp_path, monkeypatch, lvm__foreign_volumes="ignore")
    assert ours(world.tree) == theirs(world.recording)
    assert [frozen for provider in world.tree.providers for frozen in provider.frozen] == []
    assert world.tree.frozen_families == ()
    # The agent only reports a provider that does not exist yet (scenario 136); nova-compute logs a warning.
    assert [problem for problem in world.tree.entry_problems if not problem.is_absent] == []


def test_the_flag_pni_gives_the_sse3_trait(tmp_path, monkeypatch):
    """libvirt's CPU flag pni means SSE3, so the agent sets trait HW_CPU_X86_SSE3, unlike nova-compute."""
    world = played("default", tmp_path, monkeypatch)
    assert '<feature policy="require" name="pni"/>' in world.recording.text("expanded_cpu.xml").replace("'", '"')
    assert SSE3 not in world.recording.placement["providers"][0]["traits"]
    assert SSE3 in world.tree.root.traits_wanted


@pytest.mark.parametrize(("name", "taken"), TAKEN_AWAY.items(), ids=TAKEN_AWAY.keys())
def test_s112_a_disabled_cpu_flag_gets_no_trait(name, taken, tmp_path, monkeypatch):
    """nova.conf disables a CPU flag for guests; the agent removes the flag's trait, unlike nova-compute."""
    world = played(name, tmp_path, monkeypatch)
    assert taken <= set(Recording(name).placement["providers"][0]["traits"])
    assert taken <= world.tree.root.traits_unwanted


def test_s91_volumes_unknown_to_nova_raise_reserved_disk(tmp_path, monkeypatch):
    """LVM volumes unknown to nova raise the reserved amount of DISK_GB and change no other value."""
    world = played("lvm_images", tmp_path, monkeypatch)
    known, seen = theirs(world.recording), ours(world.tree)
    (node,) = known
    foreign = sum(volume.extent_bytes for volume in world.snapshot.stored.volumes)
    assert foreign > 0
    assert seen[node]["inventories"]["DISK_GB"].pop("reserved") == -(-foreign // GIB)
    assert known[node]["inventories"]["DISK_GB"].pop("reserved") == 0
    assert seen == known


# nova computes the figures of use from its own accounting, not from its driver. The uptime changes all the time.
NOT_THE_DRIVER_S = {"vcpus_used", "memory_mb_used", "local_gb_used"}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_agent_and_nova_compute_agree_on_the_compute_node(name, tmp_path, monkeypatch):
    """The agent computes the same compute node record as a real nova-compute, apart from the used amounts."""
    world = played(name, tmp_path, monkeypatch)
    row = world.recording.compute_node
    chosen = dataclasses.replace(world.settings, my_ip=row["host_ip"])
    view = resource_view(world.snapshot, chosen, world.recording.node, world.tree)
    assert view is not None
    document = view_document(view)
    # /proc/meminfo of the recorded machine has more free memory than libvirt's total.
    assert [reason for reason in document["unknown"] if not reason.startswith("memory_mb_used")] == []
    shared = (document.keys() & row.keys()) - NOT_THE_DRIVER_S
    assert len(shared) == 12
    seen, recorded = ({key: by_provider_name(some[key], world) for key in shared} for some in (document, row))
    for some in (seen, recorded):  # the order of these lists has no meaning
        some["supported_instances"].sort()
        some["pci_stats"]["nova_object.data"]["objects"].sort(key=json.dumps)
    assert seen == recorded


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_agent_and_nova_compute_agree_on_an_empty_node(name, tmp_path, monkeypatch):
    """For a host without guests, the agent computes the same used amounts as a real nova-compute."""
    world = played(name, tmp_path, monkeypatch)
    row = world.recording.compute_node
    view = resource_view(world.snapshot, world.settings, world.recording.node, world.tree)
    assert view is not None
    found = usage(Occupied(occupancies=()), view, world.settings, (("failed_builds", "0"),))
    # Scenario 91: the agent also counts a volume group's own use, which nova's accounting does not know.
    on_disk = -(-(view.disk_used_bytes or 0) // GIB) if world.settings.disk_group else 0
    assert {
        "vcpus_used": found.vcpus_used,
        "memory_mb_used": found.memory_mib_used,
        "local_gb_used": found.local_gib_used,
        "free_ram_mb": found.free_ram_mib,
        "free_disk_gb": found.free_disk_gib,
        "current_workload": found.current_workload,
        "running_vms": found.running_vms,
        "stats": dict(found.stats),
    } == {
        **{name: row[name] for name in ("vcpus_used", "memory_mb_used", "current_workload", "running_vms")},
        "free_ram_mb": row["free_ram_mb"],
        "local_gb_used": max(row["local_gb_used"], on_disk),
        "free_disk_gb": min(row["free_disk_gb"], row["local_gb"] - on_disk),
        "stats": {**row["stats"], "uptime": None},
    }


def test_the_uptime_text_has_the_format_that_nova_writes(tmp_path, monkeypatch):
    """The agent writes a host's uptime as nova-compute does, so that the openstack client can parse it."""
    world = played("default", tmp_path, monkeypatch)
    recorded = world.recording.compute_node["stats"]["uptime"]
    clock, hours, minutes, *load = re.findall(r"[0-9]+:[0-9]+:[0-9]+|[0-9.]+", recorded.replace("0 user", ""))
    view = resource_view(world.snapshot, world.settings, world.recording.node, world.tree)
    assert view is not None
    seconds = int(hours) * 3600 + int(minutes) * 60 + 7.5
    read = dataclasses.replace(view, uptime_s=seconds, load=tuple(map(float, load)))
    text = uptime_text(read, f"2026-11-21T{clock}Z")
    assert text == recorded.replace("0 user,", "0 users,")
    # The expression that python-openstackclient splits the text with (compute/v2/hypervisor.py).
    assert re.match(r"\s*(.+)\sup\s+(.+),\s+(.+) users?,\s+load average:\s(.+)", text)


def by_provider_name(value: Any, world: Played) -> Any:
    """Return the value with provider names in the place of uuids: the agent's uuids differ from nova-compute's."""
    uuids = {p["uuid"]: p["name"] for p in world.recording.placement["providers"]}
    uuids |= {p.uuid: p.name for p in world.tree.providers}
    text = json.dumps(value, sort_keys=True)
    for uuid, provider in uuids.items():
        text = text.replace(uuid, provider)
    return json.loads(text)
