"""Persistent memory through the installed program, from ndctl's list to a real Placement.

This machine has no such memory: a fake ndctl, which prints the report of ndctl's manual, comes first in PATH.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rigs.domains import node_xml
from tests.rigs.host import AgentHost, host_on
from tests.rigs.lvm import script
from tests.rigs.ndctl import DEVDAX
from tests.rigs.placement import Rest

BIG, SMALL = "CUSTOM_PMEM_NAMESPACE_4GB", "CUSTOM_PMEM_NAMESPACE_SMALL"


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    node = tmp_path / "node.xml"
    node.write_text(node_xml(cpus=4, memory_mib=4096))
    made = host_on(
        tmp_path,
        placement.server.url,
        options={
            "state": {"source": "none", "connection": None},
            "libvirt": {"connection_uri": f"test://{node}", "pmem_namespaces": "4GB:ns_0,SMALL:ns_1|ns_2"},
        },
        environment={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"},
    )
    made.configure()
    return made


def lists(host: AgentHost, *names: str) -> None:
    report = json.dumps([{**DEVDAX, "name": name} for name in names])
    script(host.folder / "bin", "ndctl", f"cat <<'END'\n{report}\nEND")


def totals(placement: Rest, host: AgentHost) -> dict[str, int]:
    found = placement.inventories(host.provider_uuid)
    return {name: record["total"] for name, record in found.items() if "PMEM" in name}


def why(host: AgentHost) -> set[str]:
    return {held["why"] for held in host.report()["audit"]["plan"]["held_back"]}


def test_s95_a_missing_pmem_namespace_keeps_the_inventory(host, placement):
    """If `ndctl` no longer lists a configured namespace, the agent reports it and keeps the inventory in Placement."""
    lists(host, "ns_0", "ns_1", "ns_2", "ns_9")
    assert host.agent("--once").code == 0
    assert totals(placement, host) == {BIG: 1, SMALL: 2}
    lists(host, "ns_0", "ns_1")
    assert host.agent("--once").code == 3
    assert [f["subject"] for f in host.report()["audit"]["findings"]] == ["ns_2"]
    assert totals(placement, host) == {BIG: 1, SMALL: 2}
    assert "[libvirt] pmem_namespaces: ndctl lists no devdax namespace of this name: ns_2" in why(host)


def test_a_failed_ndctl_keeps_the_pmem_inventory(host, placement):
    """If `ndctl` fails, the agent reports a finding and keeps the inventory of persistent memory in Placement."""
    lists(host, "ns_0", "ns_1", "ns_2")
    host.agent("--once")
    script(host.folder / "bin", "ndctl", "echo 'failed to initialize' >&2; exit 1")
    assert host.agent("--once").code == 2
    assert totals(placement, host) == {BIG: 1, SMALL: 2}
    (found,) = [f for f in host.report()["audit"]["findings"] if f["code"] == "source-unavailable"]
    assert "ndctl list ended with code 1: failed to initialize" in found["actual"]


def test_ndctl_does_not_run_without_pmem_namespaces(host, placement):
    """The agent does not run `ndctl` if [libvirt] pmem_namespaces is not set."""
    script(host.folder / "bin", "ndctl", f"touch {host.folder}/was-run")
    host.configure({"libvirt": {"pmem_namespaces": None}})
    assert host.agent("--once").code == 0
    assert totals(placement, host) == {}
    assert not (host.folder / "was-run").exists()
