"""The host source against libvirt itself: the test driver, a libvirtd to kill and freeze, and real QEMU guests."""

import os
import re
import signal
import uuid
from pathlib import Path
from urllib.parse import quote

import libvirt
import pytest

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.model.host.facts import Disk, DomainState
from agent.model.nova import Flavor
from agent.ports import Deadline
from agent.sources.libvirt.domain_cache import TURNS
from agent.sources.libvirt.host import HostPlace, LibvirtHost
from agent.sources.libvirt.late_capabilities import LateAnswers
from tests.rigs.domains import block_disk, domain_xml, node_xml, nova_metadata
from tests.rigs.libvirtd import libvirtd_program, private_libvirtd, system_libvirtd
from tests.rigs.wait import until

needs_libvirtd = pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: qemu:///system")

LONG_S = 30.0


@pytest.fixture
def host_at():
    """Return a function that makes host sources; close them after the test."""
    made = []

    def make(uri, late=None, **place):
        readers = ReaderThread("libvirt"), ReaderThread("libvirt-capabilities")
        source = LibvirtHost(HostPlace(uri=uri, host="node-a", **place), *readers, late)
        made.append((source, readers))
        return source

    yield make
    for source, readers in made:
        source.close()
        for reader in readers:
            reader.stop()


def read(source, within_s=LONG_S):
    return source.read(Deadline.after(within_s))


GUESTS = [
    domain_xml(
        f"guest-{n}",
        vcpus=4,
        memory_mib=4096,
        disks=[block_disk(f"/dev/vg0/guest-{n}")],
        metadata=nova_metadata(4, 4096, 10),
    )
    for n in range(4)
]


@pytest.fixture
def node_file(tmp_path):
    path = tmp_path / "node.xml"
    path.write_text(node_xml(cpus=48, memory_mib=196608, domains=GUESTS))
    return path


class TestTestDriver:
    @pytest.mark.parametrize("made", [lambda path: None, Path.mkdir], ids=["missing", "a folder"])
    def test_the_error_shows_the_unreadable_test_driver_file(self, tmp_path, host_at, capfd, made):
        """If the agent cannot open the XML file of libvirt's test driver, its error shows the file's path."""
        path = tmp_path / "no node.xml"
        made(path)
        source = host_at(f"test://{quote(str(path))}")
        for _ in range(2):
            with pytest.raises(SourceUnavailable, match=f"the agent cannot open {path}"):
                read(source)
        assert capfd.readouterr().err == ""

    def test_host_facts_match_the_test_driver_file(self, node_file, tmp_path, host_at):
        """The agent reads the CPUs and memory that the XML file of libvirt's test driver describes."""
        (tmp_path / "meminfo").write_text("MemFree: 1048576 kB\nBuffers: 0 kB\nCached: 1048576 kB\n")
        facts = read(host_at(f"test://{node_file}", proc_root=tmp_path))
        assert facts.online_cpus == tuple(range(48))
        assert (facts.memory_mib, facts.memory_used_mib) == (196608, 196608 - 2048)
        assert (facts.hostname, facts.driver) == ("node-a", "TEST")
        assert facts.libvirt_version >= 8_000_000

    def test_uptime_load_and_kernel_parameters_are_read(self, node_file, tmp_path, host_at):
        """The agent reads the host's uptime and load from /proc and its kernel parameters from /sys."""
        parameters = tmp_path / "sys" / "module" / "kvm_amd" / "parameters"
        parameters.mkdir(parents=True)
        (parameters / "sev").write_text("Y\n")
        (tmp_path / "sys" / "fs" / "cgroup").mkdir(parents=True)
        (tmp_path / "sys" / "fs" / "cgroup" / "misc.capacity").write_text("tdx 31\n")
        (tmp_path / "uptime").write_text("86400.25 1.0\n")
        (tmp_path / "loadavg").write_text("0.5 1.5 2.5 1/2 3\n")
        facts = read(host_at(f"test://{node_file}", proc_root=tmp_path, sys_root=tmp_path / "sys"))
        assert facts.kernel_parameters == (("kvm_amd/sev", "Y"), ("kvm_amd/sev_es", None), ("kvm_amd/sev_snp", None))
        assert (facts.kernel_flag("kvm_amd/sev"), facts.kernel_flag("kvm_amd/sev_es")) == (True, False)
        assert facts.tdx_capacity == 31
        assert (facts.uptime_s, facts.load) == (86400.25, (0.5, 1.5, 2.5))

    def test_guests_are_read_with_disks_and_flavor(self, node_file, host_at):
        """The agent reads from libvirt each guest's vCPUs, memory, disks and the flavor in nova's metadata."""
        facts = read(host_at(f"test://{node_file}"))
        assert sorted(domain.name for domain in facts.domains) == ["guest-0", "guest-1", "guest-2", "guest-3"]
        assert {(d.vcpus, d.memory_mib, d.state) for d in facts.domains} == {(4, 4096, DomainState.RUNNING)}
        [first] = [domain for domain in facts.domains if domain.name == "guest-0"]
        assert first.disks == (Disk(target="vda", kind="block", source="/dev/vg0/guest-0", format="raw"),)
        assert first.nova_flavor == Flavor(
            id=0, name="m1", vcpus=4, memory_mib=4096, root_gib=10, ephemeral_gib=0, swap_mib=0
        )

    def test_data_of_the_test_driver_is_marked_as_simulated(self, node_file, host_at):
        """With libvirt's test driver, the agent reports the CPUs, the node name and the guests as simulated."""
        simulated = read(host_at(f"test://{node_file}")).simulated
        assert [sentence.split(":")[0] for sentence in simulated] == ["CPUs", "node name", "guests"]

    def test_numa_cells_and_cpu_topology_are_read(self, host_at):
        """The agent reads the host's NUMA cells and its CPU sockets and cores from libvirt's capabilities."""
        facts = read(host_at("test:///default"))
        assert [(cell.id, cell.memory_mib, len(cell.cpu_ids)) for cell in facts.cells] == [(0, 2048, 8), (1, 4096, 8)]
        assert [(cpu.cell, cpu.socket, cpu.core) for cpu in facts.cpus[7:10]] == [(0, 0, 7), (1, 1, 0), (1, 1, 1)]
        assert facts.capabilities is not None
        assert facts.cells[0].siblings == tuple((n,) for n in range(8))

    def test_capabilities_are_cached_until_the_cache_is_cleared(self, host_at):
        """The agent asks libvirt for the host's capabilities again only after its cache was cleared."""
        source = host_at("test:///default")
        first = read(source).capabilities
        assert read(source).capabilities is first
        source.forget()
        again = read(source).capabilities
        assert again == first
        assert again is not first

    def test_an_invalid_guest_does_not_hide_the_others(self, tmp_path, host_at):
        """If libvirt's XML of one guest is invalid, the agent lists it with the reason and reads the other guests."""
        bad = domain_xml("bad", metadata=nova_metadata(1, 64, 1).replace("<nova:disk>1<", "<nova:disk>?<"))
        (tmp_path / "n.xml").write_text(node_xml(cpus=2, memory_mib=1024, domains=[bad, *GUESTS[:1]]))
        facts = read(host_at(f"test://{tmp_path}/n.xml"))
        assert [domain.name for domain in facts.domains] == ["guest-0"]
        [odd] = facts.odd_domains
        assert (odd.uuid, odd.name) == (str(uuid.uuid5(uuid.NAMESPACE_DNS, "bad")), "bad")
        assert "disk: '?' is not a whole number" in odd.reason

    def test_a_failed_libvirt_connection_reports_uri_and_reason(self, host_at):
        with pytest.raises(SourceUnavailable) as raised:
            read(host_at("test:///nowhere/node.xml"))
        assert str(raised.value).startswith("libvirt: test:///nowhere/node.xml: ")
        assert "/nowhere/node.xml" in raised.value.message.split(": ", 1)[1]

    def test_libvirt_errors_are_not_printed_to_stderr(self, host_at, capfd):
        with pytest.raises(SourceUnavailable):
            read(host_at("test+unix:///default?socket=/nowhere/sock"))
        assert capfd.readouterr() == ("", "")


@needs_libvirtd
class TestPrivateLibvirtd:
    def test_a_read_succeeds_after_a_libvirtd_restart(self, host_at):
        with private_libvirtd() as daemon:
            source = host_at(daemon.uri)
            before = read(source)
            daemon.kill()
            daemon.start()
            assert read(source).domains == before.domains

    def test_reads_fail_while_libvirtd_is_stopped(self, host_at):
        with private_libvirtd() as daemon:
            source = host_at(daemon.uri)
            read(source)
            daemon.kill()
            for _ in range(2):
                with pytest.raises(SourceUnavailable, match=r"socket"):
                    read(source)
            daemon.start()
            assert [domain.name for domain in read(source).domains] == ["test"]

    def test_reads_of_a_frozen_libvirtd_fail_at_the_deadline(self, host_at):
        with private_libvirtd() as daemon:
            source = host_at(daemon.uri)
            read(source)
            daemon.freeze()
            for _ in range(2):
                with pytest.raises(SourceUnavailable, match=r"no answer within 0.2 s"):
                    read(source, 0.2)
            daemon.thaw()
            assert [domain.name for domain in until(lambda: answer(source), LONG_S, "an answer").domains] == ["test"]

    def test_each_hanging_connection_is_a_missed_deadline(self, host_at):
        """Each connection to a frozen libvirtd counts as a missed deadline; the next answer resets the count."""
        with private_libvirtd() as daemon:
            reader = ReaderThread("libvirt")
            source = LibvirtHost(HostPlace(uri=daemon.uri, host="a"), reader, ReaderThread("libvirt-capabilities"))
            daemon.freeze()
            for _ in range(3):
                with pytest.raises(SourceUnavailable):
                    read(source, 0.1)
            assert reader.misses == 3
            daemon.thaw()
            until(lambda: answer(source), LONG_S, "an answer")
            assert reader.misses == 0
            source.close()
            reader.stop()

    def test_the_next_read_sees_new_and_removed_guests(self, host_at):
        """Even without an event from libvirt, the agent's next read shows new guests and omits removed ones."""
        with private_libvirtd() as daemon:
            source = host_at(daemon.uri)
            connection = libvirt.open(daemon.uri)
            read(source)
            domain = connection.defineXML(domain_xml("late", vcpus=3))
            assert {d.name: d.state for d in read(source).domains} == {
                "test": DomainState.RUNNING,
                "late": DomainState.SHUTOFF,
            }
            domain.undefine()
            assert [d.name for d in read(source).domains] == ["test"]
            connection.close()

    def test_the_next_read_includes_a_changed_guest(self, host_at):
        """After a libvirt event about a guest, the agent's next read shows the guest's new number of vCPUs."""
        with private_libvirtd() as daemon:
            source = host_at(daemon.uri)
            connection = libvirt.open(daemon.uri)
            guest = connection.createXML(domain_xml("hot", vcpus=2))
            source.events_up()
            for _ in range(TURNS):
                read(source)
            in_turn = next(n for n in range(TURNS) if vcpus_after(source, guest, 1 + n % 2) == 1 + n % 2)
            # The guest's turn has just passed: without an event the next read does not read the guest.
            guest.setVcpus(2 - in_turn % 2)
            assert vcpus(source) == 1 + in_turn % 2
            source.domain_changed(guest.UUIDString())
            assert vcpus(source) == 2 - in_turn % 2
            guest.destroy()
            connection.close()


def answer(source):
    try:
        return read(source)
    except SourceUnavailable:
        return None


def vcpus(source):
    return next(domain.vcpus for domain in read(source).domains if domain.name == "hot")


def vcpus_after(source, guest, count):
    guest.setVcpus(count)
    return vcpus(source)


@pytest.fixture(scope="module")
def system():
    with system_libvirtd() as running:
        yield running


@pytest.mark.root
@needs_root
@needs_libvirtd
@pytest.mark.xdist_group("qemu-system")
class TestSystemLibvirtd:
    def test_host_facts_match_the_local_machine(self, system, host_at):
        """The agent reads the CPUs, memory and hostname of the machine on which the test runs."""
        facts = read(host_at(system.uri))
        assert facts.driver == "QEMU"
        assert facts.online_cpus == tuple(sorted(os.sched_getaffinity(1)))
        assert facts.memory_mib == memory_of_all_nodes_kib() // 1024
        # The cells may lack memory that was plugged in later; free memory may then exceed the total.
        assert facts.memory_used_mib is None or 0 < facts.memory_used_mib < facts.memory_mib
        assert facts.hostname == system.connection.getHostname()
        assert facts.simulated == ()

    def test_late_capabilities_cause_another_audit(self, system, host_at):
        """If libvirt's capabilities arrive after an audit has read the host, the agent runs another audit at once."""
        late, reasons = LateAnswers(), []
        late.start(reasons.append)
        source = host_at(system.uri, late=late, capabilities_wait_s=0.0)
        read(source)
        # The late answer itself requests an audit: the daemon does not wait for the next interval to use it.
        until(lambda: reasons, LONG_S, "the word that the capabilities are there")
        assert reasons == ["libvirt-capabilities"]
        facts = until(lambda: known(read(source)), LONG_S, "capabilities")
        assert sum(len(cell.cpu_ids) for cell in facts.cells) == len(facts.online_cpus)
        assert all(cpu.cell is not None and cpu.core is not None for cpu in facts.cpus)
        assert facts.hypervisor_version == system.connection.getVersion()

    def test_each_read_shows_the_current_state_and_size_of_a_guest(self, system, host_at):
        source = host_at(system.uri)
        with system.defined(vcpus=1, max_vcpus=2, memory_mib=96, metadata=nova_metadata(1, 96, 3)) as guest:
            assert figures(source, guest) == (DomainState.SHUTOFF, 1, 96)
            guest.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
            assert figures(source, guest) == (DomainState.PAUSED, 1, 96)
            guest.setVcpusFlags(2, libvirt.VIR_DOMAIN_AFFECT_LIVE)
            assert figures(source, guest) == (DomainState.PAUSED, 2, 96)
            # The guest may get back the memory that the balloon takes: the guest still holds its maximum.
            guest.setMemoryFlags(64 * 1024, libvirt.VIR_DOMAIN_AFFECT_LIVE)
            assert figures(source, guest) == (DomainState.PAUSED, 2, 96)
            guest.pinVcpu(0, (True,))
            assert found(source, guest).pinned_cpus == (0,)
            assert found(source, guest).nova_flavor.root_gib == 3
            guest.destroy()
            assert figures(source, guest) == (DomainState.SHUTOFF, 1, 96)
            guest.undefine()
            assert found(source, guest) is None

    def test_a_frozen_qemu_does_not_delay_a_read(self, system, host_at):
        """While the QEMU process of a guest is frozen, the agent still reads the guest from libvirt in time."""
        source = host_at(system.uri)
        with system.started() as guest:
            pid = int(Path(f"/run/libvirt/qemu/{guest.name()}.pid").read_text())
            os.kill(pid, signal.SIGSTOP)
            try:
                assert found(source, guest, within_s=5.0).state is DomainState.PAUSED
            finally:
                os.kill(pid, signal.SIGCONT)


def memory_of_all_nodes_kib():
    """Return the sum of MemTotal over the kernel's NUMA nodes, which libvirt's getInfo reads as well."""
    texts = [path.read_text() for path in Path("/sys/devices/system/node").glob("node[0-9]*/meminfo")]
    return sum(int(re.search(r"MemTotal:\s+(\d+) kB", text)[1]) for text in texts)


def known(facts):
    return facts if facts.capabilities is not None else None


def found(source, guest, within_s=LONG_S):
    return next((d for d in read(source, within_s).domains if d.uuid == guest.UUIDString()), None)


def figures(source, guest):
    domain = found(source, guest)
    return (domain.state, domain.vcpus, domain.memory_mib)
