"""The role companion against a real Placement: what Placement offers the scheduler while other clients write as well.

The installed program runs once for each audit, so each audit is a restart too. A gateway in front of Placement
arranges moments (another client writes just before the agent does) and changes nothing else.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.audit.run import run_audit
from agent.cmd.wiring import wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.demo import cell
from agent.model.audit import AuditMemory, AuditRequest
from agent.model.claim import Cause
from agent.model.own_consumers import OWN_TYPE, own_consumer_uuid
from agent.model.settings import UnmanagedPolicy
from agent.model.units import GIB
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import service, uuid
from tests.rigs.gateway import Answer, Asked, Gateway, gateway
from tests.rigs.host import AgentHost, Options, host_on
from tests.rigs.lvm import make_group
from tests.rigs.placement import Rest
from tests.rigs.wait import until

# The inventory that a nova-compute with 8 CPUs and 4096 MiB publishes.
NOVAS = {
    "VCPU": {"total": 8, "max_unit": 8, "allocation_ratio": 4.0},
    "MEMORY_MB": {"total": 4096, "reserved": 512, "max_unit": 4096},
    "DISK_GB": {"total": 19, "max_unit": 19},
}
# An agent that takes over first waits until nova-compute was silent for service_down_time.
OWNER: Options = {"DEFAULT": {"service_down_time": 1}, "agent": {"role": "owner", "takeover": True}}
GUESTS, VOLUMES = Cause.FOREIGN_GUEST, Cause.FOREIGN_VOLUME


@pytest.fixture
def door(placement: Rest) -> Iterator[Gateway]:
    """The gateway that the agent uses as Placement."""
    with gateway(placement.server.url) as made:
        yield made


@pytest.fixture
def host(tmp_path: Path, placement: Rest, door: Gateway) -> AgentHost:
    """A host without guests; its nova-compute is alive, and the agent is its companion."""
    made = host_on(tmp_path, door.url, options={"agent": {"role": "companion"}})
    made.configure()
    made.make_cell().dispose()
    nova_compute_is_alive(made)
    placement.make_provider(made.name, uuid=made.provider_uuid)
    placement.set_inventories(made.provider_uuid, NOVAS)
    placement.set_traits(made.provider_uuid, "OWNER_NOVA", "COMPUTE_NODE")
    guests(made)
    return made


def nova_compute_is_alive(host: AgentHost) -> None:
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    with host.rows() as connection:
        cell.add_service(connection, host.name, service(last_seen_up=now))


def nova_compute_is_dead(host: AgentHost) -> None:
    with host.rows() as connection:
        cell.remove_rows(connection, "services", {"host": host.name})


def guests(host: AgentHost, **sizes: tuple[int, int]) -> None:
    """Define these guests and no others: name to (vCPUs, MiB). The cell database has no row for them."""
    domains = [
        domain_xml(name, domain_uuid=uuid(name), vcpus=vcpus, memory_mib=memory)
        for name, (vcpus, memory) in sizes.items()
    ]
    (host.folder / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096, domains=domains))


def own(host: AgentHost, cause: Cause = GUESTS) -> str:
    return own_consumer_uuid(host.provider_uuid, cause)


def held(placement: Rest, host: AgentHost, cause: Cause = GUESTS) -> dict[str, int]:
    """Return the allocation of the agent's own consumer on the host's provider."""
    record = placement.done("GET", f"/allocations/{own(host, cause)}", version="1.38")
    return dict(record["allocations"].get(host.provider_uuid, {}).get("resources", {}))


def is_offered(placement: Rest, host: AgentHost, resource_class: str, amount: int) -> bool:
    """Return whether Placement would offer the scheduler this host for that amount."""
    path = f"/allocation_candidates?resources={resource_class}:{amount}&in_tree={host.provider_uuid}"
    return bool(placement.done("GET", path)["allocation_requests"])


def offered(placement: Rest, host: AgentHost, resource_class: str) -> int:
    """Return the largest amount for which Placement would offer the scheduler this host."""
    low, high = 0, 5000
    while low < high:
        middle = (low + high + 1) // 2
        if is_offered(placement, host, resource_class, middle):
            low = middle
        else:
            high = middle - 1
    return low


def told(host: AgentHost, code: str) -> dict[str, dict]:
    """Return the last audit's findings with that code, by resource class."""
    return {f["resource_class"]: f for f in host.report()["audit"]["findings"] if f["code"] == code}


def writes(host: AgentHost, door: Gateway) -> list[str]:
    """Run one audit of the daemon's program; return what the audit writes."""
    before = len(door.writes)
    host.agent("--once")
    return door.writes[before:]


def test_the_agent_allocates_for_guests_unknown_to_nova(placement, host, door):
    """An agent that runs beside nova-compute allocates vCPUs and memory for guests unknown to nova."""
    before = placement.inventories(host.provider_uuid), placement.traits(host.provider_uuid)
    guests(host, ghost=(2, 512), other=(1, 256))
    assert host.agent("--once").code == 3
    assert {f["code"] for f in host.report()["audit"]["findings"]} == {"guest-unknown"}
    assert held(placement, host) == {"VCPU": 3, "MEMORY_MB": 768}
    assert offered(placement, host, "MEMORY_MB") == 4096 - 512 - 768
    record = placement.done("GET", f"/allocations/{own(host)}", version="1.38")
    assert record["consumer_type"] == OWN_TYPE == "STOCKTAKE_UNMANAGED"
    assert (placement.inventories(host.provider_uuid), placement.traits(host.provider_uuid)) == before
    assert door.writes == [f"PUT /allocations/{own(host)}"]


def test_the_agents_allocation_follows_guests_unknown_to_nova(placement, host, door):
    """The agent updates its allocation in Placement whenever a guest unknown to nova comes or goes."""
    steps = [
        ({"a": (1, 128)}, {"VCPU": 1, "MEMORY_MB": 128}),
        ({"a": (1, 128), "b": (4, 1024)}, {"VCPU": 5, "MEMORY_MB": 1152}),
        ({"b": (4, 1024)}, {"VCPU": 4, "MEMORY_MB": 1024}),
        ({}, {}),
        ({"a": (2, 64)}, {"VCPU": 2, "MEMORY_MB": 64}),
    ]
    for there, expected in steps:
        guests(host, **there)
        assert writes(host, door) == [f"PUT /allocations/{own(host)}"]
        assert held(placement, host) == expected
        assert writes(host, door) == []
    # The consumer was deleted and made again: it has the same uuid and the same type.
    record = placement.done("GET", f"/allocations/{own(host)}", version="1.38")
    assert record["consumer_type"] == OWN_TYPE


def test_the_agent_restores_its_deleted_allocation(placement, host, door):
    """Somebody deletes the agent's allocation for guests unknown to nova, and the next audit makes it again."""
    guests(host, ghost=(2, 512))
    host.agent("--once")
    placement.release(own(host))
    assert writes(host, door) == [f"PUT /allocations/{own(host)}"]
    assert held(placement, host) == {"VCPU": 2, "MEMORY_MB": 512}


def at_our_first_put(door: Gateway, host: AgentHost, act) -> None:
    """Run ``act`` just before the agent's first write of its consumer reaches Placement."""
    due = [act]

    def before(asked: Asked) -> None:
        if asked.method == "PUT" and asked.path == f"/allocations/{own(host)}" and due:
            due.pop()()

    door.before = before


def test_the_agent_allocates_only_the_free_capacity(placement, host, door):
    """A guest unknown to nova has 3 VCPU, but only 2 are free. The agent allocates 2 and reports that 1 is missing."""
    guests(host, ghost=(3, 512))
    at_our_first_put(door, host, lambda: _schedule(placement, host, VCPU=6, times=5))
    host.agent("--once")
    report = host.report()["audit"]["placement"]
    assert (report["attempts"], report["conflicts"]) == (2, 1)
    assert report["conflict_kinds"] == {"no-room": 1}
    assert held(placement, host) == {"VCPU": 2, "MEMORY_MB": 512}
    assert "1 VCPU could not be allocated" in told(host, "unmanaged-use-unplaced")["VCPU"]["actual"]


def test_the_next_audit_retries_a_write_with_an_unknown_409(placement, host, door):
    """If Placement answers a write with an unknown 409 error, only the next audit retries the write."""
    guests(host, ghost=(3, 512))
    body = b'{"errors": [{"status": 409, "title": "x", "detail": "VCPU is full", "code": "placement.undefined_code"}]}'
    door.before = lambda asked: Answer(status=409, body=body) if asked.is_write else None
    host.agent("--once")
    report = host.report()["audit"]
    assert len([path for path in door.writes if "/allocations/" in path]) == 1
    assert "VCPU is full" in json.dumps(report)
    door.before = lambda _asked: None
    host.agent("--once")
    assert held(placement, host) == {"VCPU": 3, "MEMORY_MB": 512}


def _schedule(placement: Rest, host: AgentHost, times: int = 1, **amounts: int) -> list[str]:
    return [placement.allocate({host.provider_uuid: amounts}) for _ in range(times)]


def test_the_agent_repeats_a_write_after_a_conflict(placement, host, door):
    """If another client writes the allocation first, the agent reads the allocation and repeats its own write."""
    guests(host, ghost=(3, 512))

    def faster() -> None:
        body = {
            "allocations": {host.provider_uuid: {"resources": {"VCPU": 1}}},
            "project_id": uuid("p"),
            "user_id": uuid("u"),
            "consumer_generation": None,
            "consumer_type": OWN_TYPE,
        }
        placement.done("PUT", f"/allocations/{own(host)}", body, version="1.38")

    at_our_first_put(door, host, faster)
    assert host.agent("--once").code == 3
    assert host.report()["audit"]["placement"]["conflict_kinds"] == {"consumer-generation": 1}
    assert held(placement, host) == {"VCPU": 3, "MEMORY_MB": 512}


def test_an_audit_reads_placement_again_after_a_conflict(placement, host):
    """The agent's write meets a conflict, because another client deleted the agent's allocation.

    The audit then reads Placement again and ends without an error.
    """
    guests(host, ghost=(2, 512))
    # With a short cycle the fourth audit may be the host's turn to read the allocations anyway.
    host.configure({"placement": {"full_read_every": 1000}})
    loaded = load([str(host.config_file)])
    chosen, request = settings_from(loaded), AuditRequest(reasons=("test",))
    with wire(loaded) as wired:
        memory = AuditMemory()
        for _ in range(3):
            memory = run_audit(request, chosen, wired.parts, memory, lambda: False).memory
        placement.release(own(host))
        not_wanted = dataclasses.replace(chosen, unknown_guests=UnmanagedPolicy.REPORT)
        report = run_audit(request, not_wanted, wired.parts, memory, lambda: False).report
    assert (report.conflicts, report.error) == (1, None)
    assert held(placement, host) == {}


def test_the_agent_allocates_memory_even_if_no_vcpu_is_free(placement, host, door):
    """The agent allocates the memory of a guest unknown to nova, and reports the VCPU that did not fit."""
    for _ in range(4):
        _schedule(placement, host, VCPU=8)
    guests(host, ghost=(3, 512))
    host.agent("--once")
    assert held(placement, host) == {"MEMORY_MB": 512}
    found = told(host, "unmanaged-use-unplaced")
    assert found.keys() == {"VCPU"}
    assert "capacity 32, 32 used by other consumers" in found["VCPU"]["actual"]
    assert [claim["amount"] for claim in found["VCPU"]["evidence"]] == [3]
    assert writes(host, door) == []


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"max_unit": 4}, {"VCPU": 4}),
        ({"step_size": 4}, {"VCPU": 8}),
        ({"min_unit": 7}, {"VCPU": 7}),
        ({"min_unit": 6, "step_size": 5}, {"VCPU": 10}),
        ({"max_unit": 4, "step_size": 3}, {"VCPU": 3}),
        ({"reserved": 7}, {"VCPU": 4}),
        ({"max_unit": 3, "step_size": 4}, {}),
        ({"allocation_ratio": 0.5}, {"VCPU": 4}),
    ],
    ids=str,
)
def test_the_agents_allocation_respects_inventory_limits(placement, host, door, limits, expected):
    """The agent allocates an amount that min_unit, max_unit, step_size and the provider's capacity allow."""
    changed = NOVAS["VCPU"] | {"max_unit": 16} | limits
    placement.set_inventories(host.provider_uuid, NOVAS | {"VCPU": changed})
    guests(host, ghost=(5, 512))
    host.agent("--once")
    assert held(placement, host) == expected | {"MEMORY_MB": 512}
    assert host.report()["audit"]["placement"]["conflicts"] == 0
    assert ("VCPU" in told(host, "unmanaged-use-unplaced")) == (expected.get("VCPU", 0) < 5)


def test_the_agent_keeps_its_allocation_without_a_database(placement, host, door):
    """The agent cannot read nova's database, so it keeps its allocation in Placement for guests unknown to nova."""
    guests(host, ghost=(2, 512))
    host.agent("--once")
    guests(host)
    host.configure({"state": {"connection": f"sqlite:///{host.folder}/nowhere/cell.sqlite"}})
    assert writes(host, door) == []
    assert held(placement, host) == {"VCPU": 2, "MEMORY_MB": 512}
    host.configure()
    assert writes(host, door) == [f"PUT /allocations/{own(host)}"]
    assert held(placement, host) == {}


def test_the_agent_keeps_its_allocation_without_libvirt(placement, host, door):
    """The agent cannot read libvirt, so it keeps its allocation in Placement for guests unknown to nova."""
    guests(host, ghost=(2, 512))
    host.agent("--once")
    (host.folder / "node.xml").write_text("<node>")
    assert writes(host, door) == []
    assert held(placement, host) == {"VCPU": 2, "MEMORY_MB": 512}


def test_the_agent_writes_nothing_below_microversion_1_38(placement, host, door):
    """An agent that runs beside nova-compute writes nothing if Placement offers at most microversion 1.37."""
    root = {"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.37", "status": "CURRENT"}]}
    door.before = lambda asked: Answer(status=200, body=json.dumps(root).encode()) if asked.path == "/" else None
    guests(host, ghost=(2, 512))
    host.agent("--once")
    assert door.writes == []
    found = told(host, "unmanaged-use-unplaced")
    assert found.keys() == {"VCPU", "MEMORY_MB"}
    assert all("1.38" in f["actual"] for f in found.values())


def test_the_agent_leaves_provider_creation_to_nova_compute(placement, host, door):
    """An agent that runs beside nova-compute does not create the host's provider in Placement."""
    placement.delete_provider(host.provider_uuid)
    guests(host, ghost=(2, 512))
    host.agent("--once")
    assert door.writes == []
    assert "nova-compute has not created" in host.report()["audit"]["plan"]["held_back"][0]["why"]


def test_the_report_and_the_ledger_show_the_agents_allocation(placement, host):
    """The audit report and `stocktake ledger` show the agent's own allocation for guests unknown to nova."""
    guests(host, ghost=(2, 512))
    host.agent("--once")
    (write,) = host.report()["audit"]["plan"]["writes"]
    assert (write["kind"], write["consumer_uuid"], write["consumer_type"]) == ("put-allocations", own(host), OWN_TYPE)
    rows = host.stocktake("ledger", "-f", "json", "--consumer", own(host)).document
    assert {(r["consumer_kind"], r["cause"], r["verdict"], r["resource_class"], r["recorded"]) for r in rows} == {
        ("stocktake", "foreign-guest", "agreed", "VCPU", 2),
        ("stocktake", "foreign-guest", "agreed", "MEMORY_MB", 512),
    }


# From companion to owner -----------------------------------------------------------------------------------------


def _owner(host: AgentHost) -> None:
    nova_compute_is_dead(host)
    host.configure(OWNER)


def writes_of_the_takeover(host: AgentHost, door: Gateway) -> list[str]:
    """Return the writes of the first audit that has seen no sign of nova-compute for ``service_down_time``."""
    return until(lambda: writes(host, door), 60, "the takeover")


def test_memory_is_reserved_before_the_allocation_is_deleted(placement, host, door):
    """On takeover from nova-compute, the agent reserves a guest's memory, then deletes the guest's allocation."""
    guests(host, ghost=(4, 512))
    host.agent("--once")
    left = offered(placement, host, "MEMORY_MB")
    assert left == 4096 - 512 - 512
    _owner(host)
    seen = []

    def looked(asked: Asked) -> None:
        if asked.is_write:
            seen.append((is_offered(placement, host, "MEMORY_MB", left + 1), asked.path.rsplit("/", 1)[1]))

    door.before = door.after = looked
    writes_of_the_takeover(host, door)
    assert [found for found in seen if found[0]] == []
    paths = [path for _, path in seen]
    assert paths.index("inventories") < paths.index(own(host))
    assert held(placement, host) == {}
    assert offered(placement, host, "MEMORY_MB") == left
    assert placement.inventories(host.provider_uuid)["VCPU"]["reserved"] == 1  # ceil(4 / 4.0)
    door.before = door.after = lambda _asked: None
    assert writes(host, door) == []


@pytest.mark.parametrize("answer", [400, 503])
def test_an_allocation_stays_if_the_inventory_write_fails(placement, host, door, answer):
    """The allocation for guests unknown to nova stays if the agent's inventory write to Placement fails."""
    guests(host, ghost=(4, 512))
    host.agent("--once")
    _owner(host)
    refusal = Answer(status=answer, body=b'{"errors": [{"status": 400, "title": "x", "detail": "no", "code": "x"}]}')
    door.before = lambda asked: refusal if asked.method == "PUT" and asked.path.endswith("/inventories") else None
    assert f"PUT /resource_providers/{host.provider_uuid}/inventories" in writes_of_the_takeover(host, door)
    assert held(placement, host) == {"VCPU": 4, "MEMORY_MB": 512}
    door.before = lambda _asked: None
    host.agent("--once")
    assert held(placement, host) == {}


def test_a_takeover_waits_while_the_nova_database_is_down(placement, host, door):
    """An agent that will replace nova-compute writes nothing to Placement while nova's database is down."""
    guests(host, ghost=(4, 512))
    host.agent("--once")
    _owner(host)
    assert writes(host, door) == []  # the first audit that sees nova-compute silent
    host.configure(OWNER | {"state": {"connection": "sqlite:////nowhere/cell.sqlite"}})
    for _ in range(2):
        assert writes(host, door) == []
    assert held(placement, host) == {"VCPU": 4, "MEMORY_MB": 512}


# Volumes ---------------------------------------------------------------------------------------------------------


@pytest.mark.root
def test_the_agent_allocates_disk_for_a_hand_made_volume(placement, host, door, tmp_path):
    """An agent that runs beside nova-compute allocates DISK_GB for an LVM volume that an operator made."""
    rig = make_group(tmp_path, f"vg{host.provider_uuid[:8]}", 6 * GIB)
    try:
        options = {"libvirt": {"images_type": "lvm", "images_volume_group": rig.name}}
        host.environment = dict(rig.environment)
        host.configure(options)
        assert writes(host, door) == []
        rig.add_volume("by-hand", 5 * GIB // 2)
        assert writes(host, door) == [f"PUT /allocations/{own(host, VOLUMES)}"]
        assert held(placement, host, VOLUMES) == {"DISK_GB": 3}
        assert offered(placement, host, "DISK_GB") == 16
        rig.remove_volume("by-hand")
        assert writes(host, door) == [f"PUT /allocations/{own(host, VOLUMES)}"]
        assert (held(placement, host, VOLUMES), offered(placement, host, "DISK_GB")) == ({}, 19)
    finally:
        rig.close()
