"""One evacuated instance that Placement still counts: three findings, one cause, one change, one end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract import test_heal
from tests.contract.test_heal import HELD, Host
from tests.rigs import facts
from tests.rigs.facts import FLAVOR_B, uuid
from tests.rigs.placement import Rest

STALE, SEVERAL, COUNTED = (
    "allocation-stale-move",
    "consumer-on-several-providers",
    "migration-finished-but-counted",
)


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> Host:
    return test_heal.host_in(tmp_path, placement)


def test_one_repair_of_an_evacuated_instance_ends_three_findings(host):
    """An evacuated instance's old allocation causes three findings; one action of `stocktake heal` ends all of them."""
    host.allocate("away", here=HELD, there=HELD, kind="INSTANCE")
    host.allocate("i1", here={"VCPU": FLAVOR_B.vcpus, "MEMORY_MB": FLAVOR_B.memory_mib, "DISK_GB": FLAVOR_B.root_gib})
    evacuation = facts.migration(
        1, "away", kind="evacuation", status="done", source_host=host.agent.name, source_node=host.agent.name
    )
    with host.cell(host.moved("away"), host.resting(), migrations=(evacuation,)):
        seen = host.told("audit").document
        by_code = {finding["code"]: finding for finding in seen["findings"]}
        assert set(by_code) == {STALE, SEVERAL, COUNTED}
        root = by_code[STALE]["id"]
        symptoms = {by_code[SEVERAL]["id"], by_code[COUNTED]["id"]}
        assert (seen["causes"], set(by_code[STALE]["symptoms"])) == (1, symptoms)
        assert by_code[SEVERAL]["caused_by"] == by_code[COUNTED]["caused_by"] == [root]
        plan = host.told("heal").document
        (action,) = plan["actions"]
        assert (action["finding_id"], set(action["also_ends"])) == (root, symptoms)
        assert plan["refusals"] == []
        named = host.told("heal", "--finding", by_code[COUNTED]["id"]).document
        assert [each["finding_id"] for each in named["actions"]] == [root]
        assert host.healed().code == 4
        after = host.told("audit").document
    assert after["findings"] == []
    assert {(gone["id"], gone["reason"]) for gone in after["gone"]} == {(each, "healed") for each in (root, *symptoms)}
    (entry,) = {gone["entry_id"] for gone in after["gone"]}
    assert entry in [each["id"] for each in host.told("journal").document]
    assert all("stocktake heal" in gone["actor"] for gone in after["gone"])
    assert host.allocations(uuid("away"))["allocations"] == {host.other: {"resources": HELD}}
