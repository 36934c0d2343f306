"""Children of the root in a real Placement: mediated devices and memory encryption contexts.

The tests of mediated devices run the installed program: libvirt's test driver lists the node devices of its file. The
tests of memory encryption start from host facts and use the real reader and writer, because the test driver has no
domain capabilities and the kernel is the machine's own.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from agent.audit.decide import Decision, decide
from agent.model.compared import Subject
from agent.model.host.facts import HostFacts
from agent.model.settings import Settings
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from tests.rigs import placement as placements
from tests.rigs.domains import node_xml
from tests.rigs.facts import host, settings, snapshot, state
from tests.rigs.host import AgentHost, host_on
from tests.rigs.nested import GPU_06, GPU_07, SEV, encrypting, kernel, machine, passing_through, with_tdx, x86
from tests.rigs.node_devices import card_xml, mdev_xml
from tests.rigs.placement import Rest, client_of, looking_at

OURS = "CUSTOM_OWNER_STOCKTAKE"
CONTEXT = "MEM_ENCRYPTION_CONTEXT"


MDEV = "4b20d080-1b54-4048-85b3-a6a62d16500{}"


class Cards:
    """A host with the cards of scenarios 100 to 102, and its part of Placement."""

    def __init__(self, agent: AgentHost, node: Path, placement: Rest) -> None:
        self.agent = agent
        self.node = node
        self.placement = placement

    def has(self, *devices: str) -> None:
        self.node.write_text(node_xml(cpus=4, memory_mib=4096, domains=devices))

    def enables(self, **types: dict[str, Any]) -> None:
        """Enable these types, as in ``nvidia_11={"device_addresses": ...}``; no type disables mediated devices."""
        named = {key.replace("_", "-"): options for key, options in types.items()}
        groups = {f"mdev_{type_id}": options for type_id, options in named.items() if options}
        self.agent.configure(
            {
                "state": {"source": "none", "connection": None},
                "devices": {"enabled_mdev_types": ",".join(named) or None},
                **groups,
            }
        )

    def audit(self) -> dict[str, Any]:
        """Run one audit; return its report."""
        ended = self.agent.agent("--once")
        assert ended.code in (0, 3), ended.stderr
        return self.agent.report()["audit"]

    @property
    def children(self) -> dict[str, str]:
        """Provider uuids of the children, by the part of the provider's name after the node's name."""
        found = self.placement.done("GET", f"/resource_providers?in_tree={self.agent.provider_uuid}")
        return {
            p["name"].removeprefix(f"{self.agent.name}_"): p["uuid"]
            for p in found["resource_providers"]
            if p["parent_provider_uuid"] == self.agent.provider_uuid
        }

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        return {
            name: {c: record["total"] for c, record in self.placement.inventories(uuid).items()}
            for name, uuid in self.children.items()
        }


ALL = (
    card_xml(GPU_06, nvidia_11=15, nvidia_12=9),
    card_xml(GPU_07, nvidia_11=7, nvidia_12=10),
    mdev_xml(MDEV.format(1), GPU_06, "nvidia-11"),
    mdev_xml(MDEV.format(2), GPU_07, "nvidia-11"),
)
AT_06 = {"device_addresses": "0000:06:00.0"}
AT_07 = {"device_addresses": "0000:07:00.0"}


@pytest.fixture
def cards(tmp_path: Path, placement: Rest) -> Cards:
    node = tmp_path / "node.xml"
    agent = host_on(tmp_path, placement.server.url)
    made = Cards(agent, node, placement)
    made.has(*ALL)
    made.enables(nvidia_11={})
    return made


def test_s100_each_gpu_becomes_a_provider(cards, placement):
    """For each GPU, the agent creates a provider with VGPU inventory in Placement. A second audit writes nothing."""
    cards.audit()
    assert cards.totals == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 8}}
    children = cards.children
    assert placement.traits(children[GPU_06]) == {OURS}
    assert placement.inventories(children[GPU_06])["VGPU"] == {
        "total": 16,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 16,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    with placement.watched() as seen:
        cards.audit()
    assert [line for line in seen if not line.startswith("GET")] == []
    assert cards.children == children


def test_s101_s102_a_gpu_above_max_instances_has_no_provider(cards):
    """If a GPU offers more vGPUs than option max_instances allows, the agent removes the GPU's provider."""
    cards.enables(nvidia_11=AT_06, nvidia_12=AT_07)
    cards.audit()
    assert cards.totals == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 10}}
    cards.enables(nvidia_11={**AT_06, "max_instances": 2}, nvidia_12=AT_07)
    cards.audit()
    assert cards.totals == {GPU_07: {"VGPU": 10}}


def test_a_configured_resource_class_replaces_vgpu(cards):
    """After mdev_class is set for a vGPU type, the GPU's provider has that resource class in place of VGPU."""
    cards.audit()
    before = cards.children
    cards.enables(nvidia_11={**AT_06, "mdev_class": "CUSTOM_BIG"}, nvidia_12=AT_07)
    cards.audit()
    assert cards.totals == {GPU_06: {"CUSTOM_BIG": 16}, GPU_07: {"VGPU": 10}}
    assert cards.children == before


def test_the_provider_of_a_vanished_or_disabled_gpu_is_kept(cards):
    """A GPU is gone from the host, or its vGPU type is no longer enabled; its provider stays in Placement."""
    cards.audit()
    cards.has(ALL[1], ALL[3])
    cards.audit()
    assert cards.totals == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 8}}
    cards.enables()
    cards.audit()
    assert cards.totals == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 8}}


def test_a_gpu_provider_in_use_is_not_removed(cards, placement):
    """A GPU no longer offers vGPUs; the agent removes the GPU's provider only after its last allocation has ended."""
    cards.audit()
    consumer = placement.allocate({cards.children[GPU_06]: {"VGPU": 1}})
    cards.has(card_xml(GPU_06, nvidia_11=0), ALL[1])
    report = cards.audit()
    assert cards.totals == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 7}}
    assert "the provider must be deleted, but has allocations of VGPU" in {
        held["why"] for held in report["plan"]["held_back"]
    }
    placement.release(consumer)
    cards.audit()
    assert cards.totals == {GPU_07: {"VGPU": 7}}


def test_s106_vgpu_moves_to_child_providers_once_unused(cards, placement):
    """The agent moves VGPU from the root provider to a child for each GPU after the last VGPU allocation has ended."""
    root = placement.make_provider(cards.agent.name, uuid=cards.agent.provider_uuid)
    placement.set_inventories(root, {"VGPU": {"total": 24}})
    placement.set_traits(root, OURS, "COMPUTE_NODE")
    consumer = placement.allocate({root: {"VGPU": 1}})
    report = cards.audit()
    (found,) = [f for f in report["findings"] if f["code"] == "reshape-needed"]
    assert consumer in found["actual"]
    assert cards.totals == {}
    assert {"VGPU", "VCPU", "MEMORY_MB"} <= placement.inventories(root).keys(), "everything else goes out"
    placement.release(consumer)
    report = cards.audit()
    assert [f for f in report["findings"] if f["code"] == "reshape-needed"] == []
    assert cards.totals == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 8}}
    assert "VGPU" not in placement.inventories(root)


def test_an_unknown_mdev_type_is_reported(cards):
    """If no device offers a type of enabled_mdev_types, the agent reports a finding with the types that exist."""
    cards.enables(nvidia_99={})
    (found,) = [f for f in cards.audit()["findings"] if f["code"] == "mdev-type-unknown"]
    assert found["actual"] == "devices offer only these types: nvidia-11, nvidia-12"
    assert cards.totals == {}


class Platform:
    """A host with given facts; the real reader and writer read and write its providers."""

    def __init__(self, folder: Path, placement: Rest) -> None:
        self.uuid = placements.new_uuid()
        self.name = f"host-{self.uuid}"
        client = client_of(folder, placement.server.url)
        self.reader, self.writer = TreeReader(client), TreeWriter(client)
        self.placement = placement

    def audit(self, facts: HostFacts, chosen: Settings | None = None) -> Decision:
        view = self.reader.view(looking_at(self.uuid, fresh_allocations=True))
        named = dataclasses.replace(facts, hostname=self.name)
        world = snapshot(placement=view, libvirt=named, nova=state(nodes=()))
        decision = decide(world, chosen or settings(), Subject(root_uuid=self.uuid, node=self.name), None)
        self.writer.apply(decision.plan, lambda: False)
        return decision

    @property
    def children(self) -> dict[str, str]:
        found = self.placement.done("GET", f"/resource_providers?in_tree={self.uuid}")["resource_providers"]
        return {p["name"].removeprefix(f"{self.name}_"): p["uuid"] for p in found if p["uuid"] != self.uuid}


@pytest.fixture
def platform(tmp_path, placement) -> Platform:
    return Platform(tmp_path, placement)


SNP = x86(machine(sev=SEV, launch_security=frozenset({"sev", "sev-snp"})))
ES = encrypting(sev="Y", sev_es="Y")


def test_s103_s104_s105_each_amd_sev_variant_has_a_provider(platform, placement):
    """The agent creates a provider for each variant of AMD memory encryption that the host supports."""
    platform.audit(encrypting(sev="Y"))
    sev = platform.children["amd_sev"]
    assert placement.inventories(sev) == {
        CONTEXT: {
            "total": 16,
            "reserved": 0,
            "min_unit": 1,
            "max_unit": 1,
            "step_size": 1,
            "allocation_ratio": 1.0,
        }
    }
    assert placement.traits(sev) == {"HW_CPU_X86_AMD_SEV", OURS}
    platform.audit(ES)
    assert placement.inventories(platform.children["amd_sev_es"])[CONTEXT]["total"] == 17
    platform.audit(encrypting(SNP, sev="Y", sev_es="Y", sev_snp="Y"))
    assert set(platform.children) == {"amd_sev", "amd_sev_snp"}
    assert platform.children["amd_sev"] == sev
    assert platform.audit(encrypting(SNP, sev="Y", sev_es="Y", sev_snp="Y")).plan.writes == ()
    platform.audit(host(kernel_parameters=kernel(sev="N")))
    assert platform.children == {}


def test_the_intel_tdx_total_is_the_configured_limit(platform, placement):
    """The inventory of Intel TDX has the configured limit as its total, or the kernel's limit if none is configured."""
    platform.audit(with_tdx(31), passing_through())
    tdx = platform.children["intel_tdx"]
    assert set(platform.children) == {"intel_tdx"}
    assert placement.inventories(tdx) == {
        CONTEXT: {
            "total": 31,
            "reserved": 0,
            "min_unit": 1,
            "max_unit": 1,
            "step_size": 1,
            "allocation_ratio": 1.0,
        }
    }
    assert placement.traits(tdx) == {"HW_CPU_X86_INTEL_TDX", OURS}
    platform.audit(with_tdx(31), passing_through(8))
    assert placement.inventories(tdx)[CONTEXT]["total"] == 8
    decision = platform.audit(with_tdx(None), passing_through())
    assert [f.name for f in decision.tree.frozen_families] == ["memory-encryption"]
    assert placement.inventories(tdx)[CONTEXT]["total"] == 8, "unknown is not zero"
    platform.audit(with_tdx(31), passing_through(0))
    assert platform.children == {}


def test_providers_are_kept_if_memory_encryption_is_unknown(platform):
    """While the agent cannot read the host's support for memory encryption, it keeps the child providers."""
    platform.audit(ES)
    before = platform.children
    decision = platform.audit(host(kernel_parameters=kernel(sev="Y", sev_es="Y")))
    assert [f.name for f in decision.tree.frozen_families] == ["memory-encryption"]
    assert platform.children == before


def test_s107_amd_sev_moves_to_a_child_once_unused(platform, placement):
    """The agent moves AMD SEV from the root provider to a child provider once no allocation uses it."""
    root = placement.make_provider(platform.name, uuid=platform.uuid)
    placement.set_inventories(root, {CONTEXT: {"total": 16, "max_unit": 1}})
    placement.set_traits(root, OURS, "COMPUTE_NODE", "HW_CPU_X86_AMD_SEV")
    consumer = placement.allocate({root: {CONTEXT: 1}})
    decision = platform.audit(encrypting(sev="Y"))
    assert [f.resource_class for f in decision.findings if f.code == "reshape-needed"] == [CONTEXT]
    assert platform.children == {}
    assert CONTEXT in placement.inventories(root)
    assert "HW_CPU_X86_AMD_SEV" in placement.traits(root)
    placement.release(consumer)
    platform.audit(encrypting(sev="Y"))
    assert CONTEXT not in placement.inventories(root)
    assert "HW_CPU_X86_AMD_SEV" not in placement.traits(root)
    assert placement.traits(platform.children["amd_sev"]) == {"HW_CPU_X86_AMD_SEV", OURS}


def test_a_sev_es_provider_in_use_is_not_removed(platform, placement):
    """The host no longer supports SEV-ES; the agent removes the provider only after its last allocation has ended."""
    platform.audit(ES)
    consumer = placement.allocate({platform.children["amd_sev_es"]: {CONTEXT: 1}})
    decision = platform.audit(encrypting(sev="Y", sev_es="N"))
    assert f"the provider must be deleted, but has allocations of {CONTEXT}" in {
        held.why for held in decision.plan.held_back
    }
    assert set(platform.children) == {"amd_sev", "amd_sev_es"}
    placement.release(consumer)
    platform.audit(encrypting(sev="Y", sev_es="N"))
    assert set(platform.children) == {"amd_sev"}
