"""The installed agent on this machine's own qemu:///system: real QEMU guests, a real Placement, the daemon's signals.

Other tests may run guests of their own there, so here the agent only reports unknown guests; they change no figure.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.model.nova import Flavor
from tests.rigs import placement as placements
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, Daemon
from tests.rigs.libvirtd import SystemLibvirtd, libvirtd_program, system_libvirtd
from tests.rigs.placement import Rest
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.root,
    pytest.mark.xdist_group("qemu-system"),
    pytest.mark.skipif(os.geteuid() != 0, reason="qemu:///system is root's"),
    pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed"),
    pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="QEMU is not installed"),
]
# The log has the reasons of each audit: a report may be replaced before a test has read it.
TELLING = {"debug": True, "use_json": True}
FLAVOR = Flavor(id=1, name="tiny", vcpus=1, memory_mib=64, root_gib=0, ephemeral_gib=0, swap_mib=0)
BIG = Flavor(id=2, name="big", vcpus=2, memory_mib=96, root_gib=0, ephemeral_gib=0, swap_mib=0)


@pytest.fixture(scope="module")
def system() -> Iterator[SystemLibvirtd]:
    with system_libvirtd() as made:
        yield made


@pytest.fixture
def host(tmp_path: Path, placement: Rest, system: SystemLibvirtd) -> Iterator[AgentHost]:
    made = AgentHost(
        folder=tmp_path,
        name=system.connection.getHostname(),
        placement_url=placement.server.url,
        libvirt_uri=system.uri,
        provider_uuid=placements.new_uuid(),
        options={"agent": {"unknown_guests": "report"}},
    )
    made.configure()
    yield made
    for consumer in placement.done("GET", f"/resource_providers/{made.provider_uuid}/allocations")["allocations"]:
        placement.release(consumer)
    placement.delete_provider(made.provider_uuid)  # its name is this machine's, which the next test needs


def held(report: dict, consumer: str) -> dict[str, int]:
    """Return what the host holds for this consumer by resource class, from the report."""
    return {row["resource_class"]: row["held"] for row in report["ledger"] if row["consumer_uuid"] == consumer}


def own_findings(report: dict, *consumers: str) -> list[str]:
    return [f["code"] for f in report["audit"]["findings"] if f["consumer_uuid"] in consumers]


def printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def test_the_published_inventory_equals_the_hardware(placement, host, system):
    """The totals that the agent publishes equal what `getconf`, libvirt and `df` print on the host."""
    one_cpu = system.started(vcpus=1, max_vcpus=1, memory_mib=64)
    with one_cpu as small, system.started(vcpus=2, memory_mib=96) as big:
        guests = [
            host.instance("small", uuid=small.UUIDString(), flavor=FLAVOR, vm_state="paused"),
            host.instance("big", uuid=big.UUIDString(), flavor=BIG, flavor_id=2, vm_state="paused"),
        ]
        host.make_cell(*guests).dispose()
        assert host.agent("--once").code == 3  # Placement has no allocation of the guests
        inventories = placement.inventories(host.provider_uuid)
        nodeinfo_mib = int(system.connection.getInfo()[1])
        for guest in guests:
            amounts = {"VCPU": guest.flavor.vcpus, "MEMORY_MB": guest.flavor.memory_mib}
            placement.allocate({host.provider_uuid: amounts}, guest.uuid)
        with placement.watched() as seen:
            host.agent("--once")
    report = host.report()
    assert inventories["VCPU"]["total"] == int(printed("getconf", "_NPROCESSORS_ONLN"))
    assert inventories["VCPU"]["max_unit"] == inventories["VCPU"]["total"]
    assert inventories["MEMORY_MB"]["total"] == nodeinfo_mib
    size_bytes = int(printed("df", "-B1", "--output=size", str(host.folder / "instances")).split()[-1])
    assert inventories["DISK_GB"]["total"] == size_bytes // 2**30
    assert held(report, guests[0].uuid) == {"VCPU": 1, "MEMORY_MB": 64}
    assert held(report, guests[1].uuid) == {"VCPU": 2, "MEMORY_MB": 96}
    assert own_findings(report, *(guest.uuid for guest in guests)) == []
    assert {line.split()[0] for line in seen} == {"GET"}


def test_the_memory_total_equals_virsh_nodeinfo(placement, host):
    """The agent publishes as total of MEMORY_MB the memory size that `virsh nodeinfo` prints."""
    host.make_cell().dispose()
    host.agent("--once")
    (line,) = [x for x in printed("virsh", "-r", "-c", "qemu:///system", "nodeinfo").splitlines() if "Memory" in x]
    assert placement.inventories(host.provider_uuid)["MEMORY_MB"]["total"] == int(line.split()[-2]) // 1024


@pytest.fixture
def daemon(host: AgentHost) -> Iterator[Daemon]:
    """A daemon that audits at start and on events only."""
    host.configure({"DEFAULT": {"update_resources_interval": -1, **TELLING}})
    host.make_cell().dispose()
    with host.daemon() as running:
        running.first_audit()
        until(lambda: "libvirt events connected" in running.text(), PATIENCE_S, "events")
        yield running


def test_a_libvirt_event_puts_a_new_guest_into_the_report(host, daemon, system, tmp_path):
    """A guest is started with `virsh`; without periodic audits, libvirt's event makes the daemon report the guest."""
    (tmp_path / "guest.xml").write_text(system.guest_xml(vcpus=2, memory_mib=80))
    virsh = ("virsh", "-c", system.uri)
    name = printed(*virsh, "create", "--paused", str(tmp_path / "guest.xml")).split("'")[1]
    try:
        guest = system.connection.lookupByName(name).UUIDString()
        until(lambda: held(host.report(), guest), PATIENCE_S, "the guest is in the report")
        assert held(host.report(), guest) == {"VCPU": 2, "MEMORY_MB": 80}
    finally:
        printed(*virsh, "destroy", name)
    until(lambda: not held(host.report(), guest), PATIENCE_S, "the guest is gone")
    assert daemon.process.poll() is None


def test_sighup_applies_a_new_audit_interval(host, daemon):
    """The operator changes update_resources_interval; after SIGHUP the daemon audits at the new interval."""
    host.configure({"DEFAULT": {"update_resources_interval": 1, **TELLING}})
    daemon.send(signal.SIGHUP)
    until(lambda: reasons(daemon).count("interval") >= 3, PATIENCE_S, "three audits of the new interval")
    assert "reload" in reasons(daemon)
    assert daemon.process.poll() is None
    assert "configuration reloaded" in daemon.text()


def reasons(daemon: Daemon) -> list[str]:
    """Return the reasons of all audits of the daemon so far."""
    done = [record for record in daemon.records() if record["message"] == "audit done"]
    return [reason for record in done for reason in record["extra"]["reasons"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_sigterm_or_sigint_ends_the_daemon_with_exit_code_0(daemon, number):
    daemon.send(number)
    assert daemon.ended(STOP_S) == 0
    assert "Traceback" not in daemon.text()


def test_sigterm_ends_the_daemon_after_other_signals(daemon):
    """SIGTERM directly after SIGUSR1, SIGUSR2 and SIGHUP still ends the daemon in time with exit code 0."""
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGTERM):
        daemon.send(number)
    assert daemon.ended(STOP_S) == 0
