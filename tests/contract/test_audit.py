"""run_audit through the installed program against a real Placement: what it publishes, repairs and leaves alone."""

from __future__ import annotations

import contextlib
import datetime
import signal
from pathlib import Path

import pytest

from agent.demo import cell
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_A, FLAVOR_B, uuid
from tests.rigs.host import AgentHost, host_on
from tests.rigs.placement import Rest
from tests.rigs.wait import until

# A test counts audits and requests each of them: no interval triggers an audit.
NO_INTERVAL: dict[str, dict[str, object]] = {"DEFAULT": {"update_resources_interval": -1}}


def domain_of(name: str, flavor=FLAVOR_A) -> str:
    return domain_xml(name, domain_uuid=uuid(name), vcpus=flavor.vcpus, memory_mib=flavor.memory_mib)


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    """A host of 8 CPUs and 4096 MiB with guests i1 (flavor A) and i2 (flavor B)."""
    node = tmp_path / "node.xml"
    node.write_text(node_xml(cpus=8, memory_mib=4096, domains=[domain_of("i1"), domain_of("i2", FLAVOR_B)]))
    made = host_on(tmp_path, placement.server.url, options=NO_INTERVAL)
    made.configure()
    return made


@contextlib.contextmanager
def cell_of(host: AgentHost, *instances):
    engine = host.make_cell(*instances)
    try:
        yield engine
    finally:
        engine.dispose()


def both(host: AgentHost):
    return host.instance("i1"), host.instance("i2", flavor=FLAVOR_B, flavor_id=2)


def schedule(placement: Rest, host: AgentHost, name: str, flavor=FLAVOR_A) -> str:
    held = {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mib, "DISK_GB": flavor.root_gib}
    return placement.allocate({host.provider_uuid: held}, uuid(name))


def codes(ended) -> list[str]:
    return sorted(f["code"] for f in ended.document["findings"])


def test_the_first_audit_publishes_the_inventory(placement, host):
    """The agent's first audit writes the host's inventory and traits to Placement."""
    with cell_of(host):
        assert host.agent("--once").code == 3  # two guests that this cloud does not know
        inventories = placement.inventories(host.provider_uuid)
        assert {name: inventories["VCPU"][name] for name in ("total", "max_unit", "step_size", "reserved")} == {
            "total": 8,
            "max_unit": 8,
            "step_size": 1,
            "reserved": 1,  # ceil(3 vCPUs of unknown guests / 4.0)
        }
        assert inventories["MEMORY_MB"]["total"] == 4096
        assert inventories["MEMORY_MB"]["reserved"] == 512 + 384
        assert {"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"} <= placement.traits(host.provider_uuid)
        generation = placement.generation(host.provider_uuid)
        with placement.watched() as seen:
            host.agent("--once")
    assert [line for line in seen if not line.startswith("GET")] == []
    assert placement.generation(host.provider_uuid) == generation


def test_a_cached_copy_of_a_deleted_allocation_is_no_leak(placement, host):
    """If nova has deleted an allocation, the agent does not report the allocation's cached copy as leaked."""
    with cell_of(host, *both(host)) as engine:
        host.agent("--once")
        for name, flavor in (("i1", FLAVOR_A), ("i2", FLAVOR_B)):
            schedule(placement, host, name, flavor)
        with host.daemon() as daemon:
            before = daemon.first_audit()
            assert before["audit"]["outcome"] == "clean"
            generation = placement.generation(host.provider_uuid)
            placement.release(uuid("i1"))
            with engine.begin() as connection:
                cell.delete_instance(connection, uuid("i1"), datetime.datetime(2026, 11, 21))  # noqa: DTZ001
            assert placement.generation(host.provider_uuid) == generation
            seen = set()
            for _ in range(4):
                report = daemon.audit_now()
                seen |= {f["code"] for f in report["audit"]["findings"]}
    # The agent reports that the guest still runs, and no leak.
    assert seen == {"guest-running-deleted"}


def test_the_second_audit_confirms_a_leaked_allocation(placement, host):
    """Placement has an allocation for a deleted instance. The first audit finds it, and the second confirms it."""
    with cell_of(host, *both(host)) as engine:
        host.agent("--once")
        schedule(placement, host, "i1")
        schedule(placement, host, "gone")
        with engine.begin() as connection:
            cell.add_instance(connection, host.instance("gone", deleted=True, vm_state="deleted"))
        confirmed = []
        for _ in range(2):
            host.agent("--once")
            leaks = [f for f in host.report()["audit"]["findings"] if f["code"] == "allocation-leaked"]
            confirmed.extend((f["consumer_uuid"], f["confirmed"]) for f in leaks)
    assert confirmed == [(uuid("gone"), False), (uuid("gone"), True)]


@pytest.mark.parametrize("change", ["inventory", "provider"])
def test_the_next_audit_restores_what_others_changed(placement, host, change):
    """Another client changed the provider's inventory in Placement, or deleted the provider.

    The agent restores the inventory.
    """
    with cell_of(host, *both(host)), host.daemon() as daemon:
        daemon.first_audit()
        before = placement.inventories(host.provider_uuid)
        assert before["VCPU"]["total"] == 8
        if change == "inventory":
            placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 99}})
        else:
            placement.delete_provider(host.provider_uuid)
        daemon.audit_now()
    assert placement.inventories(host.provider_uuid) == before
    assert "CUSTOM_OWNER_STOCKTAKE" in placement.traits(host.provider_uuid)


def test_an_audit_of_an_unchanged_host_sends_one_request(placement, host):
    """The agent asks Placement for the provider's tree, sees the same generation, and asks nothing else."""
    with cell_of(host, *both(host)):
        host.agent("--once")
        for name, flavor in (("i1", FLAVOR_A), ("i2", FLAVOR_B)):
            schedule(placement, host, name, flavor)
        with host.daemon() as daemon:
            daemon.settled()
            daemon.audit_now()  # an audit that fills the caches
            with placement.watched() as seen:
                report = daemon.audit_now()
    assert seen == [f"GET /resource_providers?in_tree={host.provider_uuid} 200"]
    assert report["audit"]["placement"]["requests"] == 1


def test_a_rival_that_changes_a_value_twice_is_reported(placement, host):
    """Another client changes the agent's inventory twice. The agent reports this and no longer overwrites the value."""
    with cell_of(host, *both(host)), host.daemon() as daemon:
        daemon.settled()
        for _ in range(2):
            placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 99}})
            report = daemon.audit_now()
        assert [f["code"] for f in report["audit"]["findings"] if f["code"] == "rival-writer"] == ["rival-writer"]
        assert report["audit"]["outcome"] == "refused"
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 99


def test_the_agent_writes_again_after_sighup(placement, host):
    """The agent stopped its writes because another client kept changing its inventory. SIGHUP makes it write again."""
    with cell_of(host, *both(host)), host.daemon() as daemon:
        daemon.settled()
        for _ in range(2):
            placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 99}})
            report = daemon.audit_now()
        assert report["audit"]["outcome"] == "refused"
        assert daemon.audit_now()["audit"]["outcome"] == "refused", "it stays so by itself"
        daemon.send(signal.SIGHUP)
        until(lambda: "reload" in host.report()["audit"]["reasons"], 120, "the audit of the reload")
    assert "rival-writer" not in {f["code"] for f in host.report()["audit"]["findings"]}
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8


def test_the_agent_takes_over_a_dead_nova_computes_provider(placement, host):
    """With [agent] takeover = true, the agent takes over the provider of a nova-compute without heartbeats."""
    placement.make_provider(host.name, uuid=host.provider_uuid)
    placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 3}})
    placement.set_traits(host.provider_uuid, "OWNER_NOVA", "COMPUTE_NODE")
    with cell_of(host, *both(host)):
        ended = host.agent("--once")
        assert (ended.code, set(placement.inventories(host.provider_uuid))) == (5, {"VCPU"})
        host.configure({"agent": {"takeover": True}})
        for _ in range(2):
            # nova-compute's silence is not proven before the minute of service_down_time is over.
            ended = host.agent("--once")
            assert (ended.code, set(placement.inventories(host.provider_uuid))) == (5, {"VCPU"})
        host.configure({"agent": {"takeover": True}, "DEFAULT": {"service_down_time": 1}})
        assert host.not_refused(60).code == 3
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8
    assert placement.traits(host.provider_uuid) >= {"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"}
    assert "OWNER_NOVA" not in placement.traits(host.provider_uuid)


def test_an_observer_does_not_report_nova_compute_as_a_rival(placement, host):
    """An agent in role observer writes nothing, so it does not report nova-compute as a rival writer."""
    placement.make_provider(host.name, uuid=host.provider_uuid)
    placement.set_traits(host.provider_uuid, "OWNER_NOVA", "COMPUTE_NODE")
    host.configure({"agent": {"role": "observer"}})
    with cell_of(host, *both(host)):
        ended = host.agent("--once")
    report = host.report()
    assert (ended.code, report["audit"]["outcome"]) == (3, "findings")
    assert "rival-writer" not in {finding["code"] for finding in report["audit"]["findings"]}
    assert placement.traits(host.provider_uuid) == {"OWNER_NOVA", "COMPUTE_NODE"}


def test_a_provider_name_conflict_stops_every_write(placement, host):
    """Another provider in Placement has the host's name, so the agent reports a finding and writes nothing."""
    other = placement.make_provider(host.name)
    with cell_of(host, *both(host)):
        host.agent("--once")
    report = host.report()
    assert [f["provider_uuid"] for f in report["audit"]["findings"] if f["code"] == "provider-name-conflict"] == [other]
    assert placement.request("GET", f"/resource_providers/{host.provider_uuid}").status_code == 404
    assert placement.inventories(other) == {}


def test_an_observer_does_not_write_to_placement(placement, host):
    """An agent in role observer only reads. It reports the writes that it would make, and makes none."""
    with cell_of(host, *both(host)):
        host.agent("--once", "--no-publish")
        host.configure({"agent": {"role": "observer"}})
        ended = host.agent("--once")
    assert ended.code == 3
    assert [w["kind"] for w in host.report()["audit"]["plan"]["writes"]] == [
        "create-provider",
        "put-inventories",
        "put-traits",
    ]
    assert placement.request("GET", f"/resource_providers/{host.provider_uuid}").status_code == 404
