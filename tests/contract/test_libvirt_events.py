"""The event source against libvirt itself: reasons, reconnects, and a stop after which it reports nothing."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE

import libvirt
import pytest

from agent.deadlines.reader_thread import ReaderThread
from agent.ports import Deadline
from agent.sources.libvirt import events
from agent.sources.libvirt.events import CONNECTED, DEVICE, DISCONNECTED, Backoff, LibvirtEvents, LinkState
from agent.sources.libvirt.host import HostPlace, LibvirtHost
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.libvirtd import libvirtd_program, private_libvirtd, system_libvirtd
from tests.rigs.wait import until

needs_libvirtd = pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: qemu:///system")

LIFECYCLE = "libvirt-event:lifecycle"
QUICK = Backoff(first_s=0.02, cap_s=0.1)
LONG_S = 30.0

# The only kind of device that the test driver can create: a virtual host bus adapter.
ADAPTER = """<device><parent>scsi_host1</parent><capability type='scsi_host'><capability type='fc_host'>
<wwnn>2000000012341299</wwnn><wwpn>1000000012341299</wwpn></capability></capability></device>"""


class Listener:
    """A listener that records the event source's calls."""

    def __init__(self):
        self.told = []

    def domain_changed(self, domain_uuid):
        self.told.append(domain_uuid)

    def device_changed(self, name):
        self.told.append(name)

    def events_up(self):
        self.told.append("up")

    def events_down(self):
        self.told.append("down")


@pytest.fixture
def watch():
    """Return a function that starts an event source and returns (source, reasons, listener)."""
    started = []

    def start(uri, listener=None):
        reasons, listener = [], listener or Listener()
        source = LibvirtEvents(uri, listener, QUICK)
        started.append(source)
        source.start(reasons.append)
        return source, reasons, listener

    yield start
    for source in started:
        source.stop()


def up(source):
    until(lambda: source.state is LinkState.UP, LONG_S, "events up")


def seen(reasons, reason, times=1):
    return until(lambda: reasons.count(reason) >= times, LONG_S, f"{times} × {reason} in {reasons}")


def stop_takes_s(source):
    started = time.monotonic()
    source.stop()
    return time.monotonic() - started


class TestInProcess:
    """The test driver, which runs inside this process: it has no daemon, no keep-alive and no close event."""

    def test_a_guest_event_requests_an_audit(self, watch):
        """After a libvirt event about a guest, the agent requests an audit and remembers the guest's UUID."""
        _source, reasons, listener = watch("test:///default")
        seen(reasons, CONNECTED)
        connection = libvirt.open("test:///default")
        domain = connection.createXML(domain_xml("short"))
        domain.destroy()
        seen(reasons, LIFECYCLE, times=2)
        assert listener.told[0] == "up"
        assert set(listener.told[1:]) == {domain.UUIDString()}
        connection.close()

    def test_a_missing_test_driver_file_is_logged_once(self, watch, tmp_path, capfd, caplog):
        """While the XML file of libvirt's test driver is missing, the agent logs one warning with its path."""
        path = tmp_path / "node.xml"
        source, _reasons, listener = watch(f"test://{path}")
        until(lambda: source.state is LinkState.DOWN and caplog.records, LONG_S, "the first failure")
        path.write_text(node_xml(cpus=1, memory_mib=1024))
        up(source)
        assert listener.told == ["up"]
        assert capfd.readouterr().err == ""
        (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
        assert str(path) in warning.error

    def test_only_events_about_relevant_devices_request_an_audit(self, watch, monkeypatch):
        """The agent has a list of relevant kinds of devices; libvirt's events about other devices request no audit."""
        _source, reasons, listener = watch("test:///default")
        seen(reasons, CONNECTED)
        connection = libvirt.open("test:///default")

        def plug():
            device = connection.nodeDeviceCreateXML(ADAPTER)
            name = device.name()
            device.destroy()
            until(lambda: listener.told[-2:] == [name, name], LONG_S, f"{name} came and went: {listener.told}")

        plug()
        assert DEVICE not in reasons
        monkeypatch.setattr(events, "COUNTED_DEVICES", ("scsi_host",))
        plug()
        seen(reasons, DEVICE, times=2)
        connection.close()

    def test_a_stopped_event_source_reports_no_events(self, watch):
        source, reasons, _listener = watch("test:///default")
        seen(reasons, CONNECTED)
        assert stop_takes_s(source) < 1.0
        before = list(reasons)
        connection = libvirt.open("test:///default")
        connection.createXML(domain_xml("later")).destroy()
        connection.close()
        assert reasons == before
        assert [t.name for t in threading.enumerate() if t.name.startswith("libvirt-events")] == []

    def test_events_still_reach_a_callback_that_failed_once(self, watch):
        """A callback fails on one libvirt event. The next event still reaches the callback."""
        calls = []

        def fails_once(reason):
            calls.append(reason)
            if calls == [CONNECTED, LIFECYCLE]:
                raise RuntimeError("a bug of the receiver")

        source = LibvirtEvents("test:///default", Listener(), QUICK)
        source.start(fails_once)
        seen(calls, CONNECTED)
        connection = libvirt.open("test:///default")
        connection.createXML(domain_xml("twice")).destroy()
        seen(calls, LIFECYCLE, times=2)
        connection.close()
        source.stop()


@needs_libvirtd
class TestPrivateLibvirtd:
    def test_the_agent_reconnects_after_libvirtd_was_killed(self, watch):
        """If libvirtd is killed, the agent notices this within two seconds, and reconnects once libvirtd is back."""
        with private_libvirtd() as daemon:
            source, reasons, listener = watch(daemon.uri)
            seen(reasons, CONNECTED)
            daemon.kill()
            until(lambda: DISCONNECTED in reasons, 2.0, "noticed at once, and not by asking now and then")
            until(lambda: source.state is not LinkState.UP, LONG_S, "not up")
            daemon.start()
            seen(reasons, CONNECTED, times=2)
            assert listener.told == ["up", "down", "up"]

    def test_guest_events_arrive_after_a_reconnect(self, watch):
        """After libvirtd was killed and started again, the agent receives its events about guests again."""
        with private_libvirtd() as daemon:
            _source, reasons, listener = watch(daemon.uri)
            seen(reasons, CONNECTED)
            daemon.kill()
            daemon.start()
            seen(reasons, CONNECTED, times=2)
            connection = libvirt.open(daemon.uri)
            domain = connection.createXML(domain_xml("again"))
            seen(reasons, LIFECYCLE)
            assert domain.UUIDString() in listener.told
            connection.close()

    def test_the_event_source_waits_for_libvirtd_to_start(self, watch, caplog):
        """If libvirtd is down, the agent's event source connects as soon as libvirtd runs."""
        with private_libvirtd() as daemon:
            daemon.kill()
            _source, reasons, _ = watch(daemon.uri)
            until(lambda: "libvirt events unavailable" in caplog.text, LONG_S, "a failed attempt to connect")
            assert reasons == []
            daemon.start()
            seen(reasons, CONNECTED)

    def test_a_hanging_connection_does_not_delay_start_or_stop(self, watch):
        """While a connection to libvirtd hangs, the agent's event source still starts and stops within a second."""
        with private_libvirtd() as daemon:
            daemon.freeze()
            started = time.monotonic()
            source, reasons, _ = watch(daemon.uri)
            assert time.monotonic() - started < 0.5
            until(lambda: source.state is LinkState.CONNECTING, LONG_S, "connecting")
            assert stop_takes_s(source) < 1.0
            daemon.thaw()
            until(lambda: not threads("libvirt-events-link"), LONG_S, "the hanging thread ends by itself")
            assert reasons == []

    def test_the_event_source_can_stop_while_libvirtd_is_frozen(self, watch):
        """While libvirtd is frozen, the agent's source of libvirt events still stops within a second."""
        with private_libvirtd() as daemon:
            source, reasons, _ = watch(daemon.uri)
            seen(reasons, CONNECTED)
            daemon.freeze()
            assert stop_takes_s(source) < 1.0
            assert reasons == [CONNECTED]
            daemon.thaw()
            until(lambda: not threads("libvirt-events-link"), LONG_S, "the hanging thread ends by itself")

    @pytest.mark.slow
    def test_keep_alive_messages_detect_a_frozen_libvirtd(self, watch):
        """The agent notices by keep-alive messages that libvirtd is frozen, and reconnects once it answers again."""
        with private_libvirtd() as daemon:
            _source, reasons, _ = watch(daemon.uri)
            seen(reasons, CONNECTED)
            daemon.freeze()
            seen(reasons, DISCONNECTED)
            daemon.thaw()
            seen(reasons, CONNECTED, times=2)


def threads(name):
    return [thread for thread in threading.enumerate() if thread.name == name]


@pytest.mark.root
@needs_root
@needs_libvirtd
@pytest.mark.xdist_group("qemu-system")
class TestSystemLibvirtd:
    def test_a_read_after_each_event_shows_the_current_guest(self, watch):
        """After each libvirt event, the agent's next read shows the guest's current state, vCPUs and memory."""
        reader, slow_reader = ReaderThread("libvirt"), ReaderThread("libvirt-capabilities")
        with system_libvirtd() as system:
            host = LibvirtHost(HostPlace(uri=system.uri, host="unused"), reader, slow_reader)
            _, reasons, _ = watch(system.uri, host)
            seen(reasons, CONNECTED)
            host.read(Deadline.after(LONG_S))
            with system.defined(vcpus=1, max_vcpus=2, memory_mib=64) as guest:
                assert figures_after(reasons, LIFECYCLE, host, guest) == ("shutoff", 1, 64)
                guest.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
                assert figures_after(reasons, LIFECYCLE, host, guest) == ("paused", 1, 64)
                guest.pinVcpu(0, (True,))
                assert figures_after(reasons, "libvirt-event:tunable", host, guest) == ("paused", 1, 64)
                guest.setMetadata(libvirt.VIR_DOMAIN_METADATA_TITLE, "t", None, None, libvirt.VIR_DOMAIN_AFFECT_LIVE)
                assert figures_after(reasons, "libvirt-event:metadata-change", host, guest) == ("paused", 1, 64)
                # A live setvcpus raises no event: the source reads the guest again within ten reads.
                guest.setVcpusFlags(2, libvirt.VIR_DOMAIN_AFFECT_LIVE)
                until(lambda: figures(host, guest)[1] == 2, LONG_S, "the new vCPU")
                guest.destroy()
                assert figures_after(reasons, LIFECYCLE, host, guest) == ("shutoff", 1, 64)
                guest.undefine()
                until(lambda: figures(host, guest) is None, LONG_S, "the guest is gone")
            host.close()
        reader.stop()
        slow_reader.stop()


def figures_after(reasons, reason, host, guest):
    """Return the guest's figures after ``reason`` has come; ignore late reasons of earlier steps."""
    seen(reasons, reason)
    reasons.clear()
    return figures(host, guest)


def figures(host, guest):
    domains = host.read(Deadline.after(LONG_S)).domains
    return next(((d.state.value, d.vcpus, d.memory_mib) for d in domains if d.uuid == guest.UUIDString()), None)


PROGRAM = """
import sys
sys.modules["eventlet"] = None
from agent.ports import Deadline
from agent.sources.libvirt.events import Backoff, LibvirtEvents
from agent.sources.libvirt.host import HostPlace, LibvirtHost
from agent.deadlines.reader_thread import ReaderThread

reader, slow_reader = ReaderThread("libvirt"), ReaderThread("libvirt-capabilities")
host = LibvirtHost(HostPlace(uri=sys.argv[1], host="a"), reader, slow_reader)
events = LibvirtEvents(sys.argv[1], host, Backoff())
if "events" in sys.argv:
    events.start(lambda reason: None)
host.read(Deadline.after(20))
print("read", flush=True)
sys.stdin.readline()
if "reading" in sys.argv:
    try:
        host.read(Deadline.after(0.2))
    except Exception as error:
        print(error, file=sys.stderr)
events.stop()
host.close()
reader.stop()
slow_reader.stop()
"""


@needs_libvirtd
@pytest.mark.parametrize("also", [(), ("events",), ("reading",), ("events", "reading")], ids="-".join)
def test_a_process_can_exit_while_libvirtd_is_frozen(also):
    """A process with an open libvirt connection exits with 0 while libvirtd is frozen."""
    with private_libvirtd() as daemon:
        command = [sys.executable, "-W", "error", "-c", PROGRAM, daemon.uri, *also]
        root = Path(__file__).parents[2]
        with subprocess.Popen(command, cwd=root, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
            try:
                assert process.stdout.readline() == "read\n"
                daemon.freeze()
                _, complaints = process.communicate("go\n", timeout=4.0)
            finally:
                process.kill()
        assert process.returncode == 0, complaints
        assert ("no answer within 0.2 s" in complaints) == ("reading" in also)
        assert "Traceback" not in complaints
