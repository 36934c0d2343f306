"""provider.yaml through the installed program, on a real Placement: added, kept, and removed together with the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rigs.domains import node_xml
from tests.rigs.facts import uuid
from tests.rigs.host import AgentHost
from tests.rigs.placement import Rest

FILE = """\
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    inventories:
      additional:
        - CUSTOM_LICENSE:
            total: 20
            reserved: 2
    traits:
      additional: [CUSTOM_LICENSED]
"""


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    (tmp_path / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096))
    made = AgentHost(
        folder=tmp_path,
        name=f"yaml-{tmp_path.name}",
        placement_url=placement.server.url,
        libvirt_uri=f"test://{tmp_path}/node.xml",
        provider_uuid=uuid(tmp_path),
    )
    made.configure({"state": {"source": "none", "connection": None}})
    (tmp_path / "provider_config").mkdir()
    return made


def audited(host: AgentHost) -> int:
    ended = host.agent("--once")
    assert ended.code in (0, 3), ended.stderr
    writes: int = host.report()["audit"]["writes_done"]
    return writes


def test_deleting_provider_yaml_removes_its_inventory(host, placement):
    """The operator deletes a provider.yaml; the agent then removes the file's inventory and trait from Placement."""
    path = host.folder / "provider_config" / "site.yaml"
    path.write_text(FILE)
    audited(host)
    inventories = placement.inventories(host.provider_uuid)
    assert inventories["CUSTOM_LICENSE"] == {
        "total": 20,
        "reserved": 2,
        "min_unit": 1,
        "max_unit": 2147483647,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    assert "CUSTOM_LICENSED" in placement.traits(host.provider_uuid)
    assert audited(host) == 0

    placement.set_traits(host.provider_uuid, *placement.traits(host.provider_uuid), "CUSTOM_BY_HAND")
    path.unlink()
    audited(host)
    assert placement.inventories(host.provider_uuid).keys() == inventories.keys() - {"CUSTOM_LICENSE"}
    traits = placement.traits(host.provider_uuid)
    assert "CUSTOM_LICENSED" not in traits
    assert "CUSTOM_BY_HAND" in traits
    assert audited(host) == 0


def test_an_invalid_provider_yaml_prevents_the_start(host):
    """A provider.yaml has an unsupported schema_version; the agent prints the line number and exits with 78."""
    (host.folder / "provider_config" / "site.yaml").write_text(FILE.replace("'1.0'", "'2.0'"))
    ended = host.agent("--once")
    assert ended.code == 78
    assert f"{host.folder}/provider_config/site.yaml:2: schema_version 2.0 is not supported" in ended.stderr
