"""The listing of devices against libvirt itself: the test driver's devices of many kinds, and this machine's own."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import libvirt
import pytest

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.model.host.devices import PciKind
from agent.ports import Deadline
from agent.sources.libvirt.devices import TURNS, DeviceListing
from agent.sources.libvirt.host import HostPlace, LibvirtHost
from agent.sources.libvirt.node_device_xml import parse_node_device
from agent.sources.libvirt.node_devices import devices_from
from tests.rigs.domains import node_xml
from tests.rigs.libvirt_documents import documents
from tests.rigs.libvirtd import libvirtd_program, private_libvirtd, system_libvirtd
from tests.rigs.wait import until

needs_libvirtd = pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: qemu:///system")
needs_virsh = pytest.mark.skipif(shutil.which("virsh") is None, reason="virsh is not installed")

LONG_S = 30.0
# The devices that the test driver of libvirt 9.0 can read.
TEXTS = {name: text for name, text in documents("node_devices").items() if not name.startswith(("css", "mtty", "vdpa"))}
# The test driver does not keep the address of a mediated device's parent.
MDEV = next(name for name in TEXTS if name.startswith("mdev_"))
TEXTS[MDEV] = TEXTS[MDEV].replace("<parent>computer<", "<parent>pci_0000_06_00_0<")
PF = "pci_0000_81_00_0"
VF = "pci_0000_81_00_2"
GPU = "pci_0000_06_00_0"


class Counting:
    """A connection that records whose XML was asked for; a test may replace ``connection``.

    ``instead``: texts to return for a device instead of the driver's own, for XML that the driver would not accept.
    """

    def __init__(self, connection):
        self.connection = connection
        self.read = []
        self.instead = {}

    def listAllDevices(self, flags):  # noqa: N802
        return [_Handle(handle, self) for handle in self.connection.listAllDevices(flags)]


class _Handle:
    def __init__(self, handle, counting):
        self._handle = handle
        self._counting = counting

    def name(self):
        return self._handle.name()

    def XMLDesc(self, flags):  # noqa: N802
        self._counting.read.append(self.name())
        return self._counting.instead.get(self.name()) or self._handle.XMLDesc(flags)


@pytest.fixture
def node(tmp_path):
    """Return a function that connects to a test driver with the given devices."""
    opened = []

    def make(texts):
        path = tmp_path / f"node-{len(opened)}.xml"
        path.write_text(node_with(texts))
        opened.append(libvirt.open(f"test://{path}"))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


def node_with(texts):
    """Return the XML of the test driver's node with these devices."""
    return node_xml(cpus=2, memory_mib=1024).replace("</node>", "".join(texts) + "</node>")


def without(*names):
    return [text for name, text in TEXTS.items() if name not in names]


def settled(connection):
    """Return a listing that has read every device once, and a connection that counts from now on."""
    listing, counting = DeviceListing(), Counting(connection)
    listing.read(counting)
    counting.read.clear()
    return listing, counting


def test_physical_and_virtual_functions_are_told_apart(node):
    """The agent recognizes from libvirt's list whether a PCI device is a physical or a virtual function, or neither."""
    expected = devices_from(map(parse_node_device, TEXTS.values()), ())
    found = DeviceListing().read(node(TEXTS.values()))
    assert [device.name for device in found.pci] == [device.name for device in expected.pci]
    assert {device.kind for device in found.pci} == {PciKind.PCI, PciKind.PF, PciKind.VF}
    assert found == expected


def test_an_unchanged_device_is_read_once_in_64_reads(node):
    """In 64 reads of libvirt, the agent reads an unchanged device's XML only once.

    A GPU that can create mediated devices is read each time.
    """
    listing, counting = settled(node(TEXTS.values()))
    first = listing.read(counting)
    for _ in range(TURNS - 1):
        assert listing.read(counting) is first
    # Each device is read once, when its turn comes; a device that can make mediated devices is read every time.
    assert counting.read.count(GPU) == TURNS
    assert {name: counting.read.count(name) for name in TEXTS if name != GPU} == dict.fromkeys(TEXTS.keys() - {GPU}, 1)


def test_a_new_vf_causes_a_read_of_its_physical_function(node):
    """After a new virtual function (VF) appears in libvirt's list, the agent reads its physical function again."""
    fewer = [
        text.replace("<address domain='0x0000' bus='0x81' slot='0x00' function='0x2'/>", "") for text in without(VF)
    ]
    listing, counting = settled(node(fewer))
    # The device's turn has just passed: only the arrival of a new name makes the listing read it again.
    until(lambda: (counting.read.clear(), listing.read(counting), PF in counting.read)[-1], LONG_S, "its turn")
    counting.read.clear()
    counting.connection = node(TEXTS.values())
    found = listing.read(counting)
    assert {PF, VF, GPU} <= set(counting.read)
    assert len(counting.read) < len(TEXTS)
    assert [device.vf_number for device in found.pci if device.name == VF] == [0]


def test_a_vf_without_its_network_device_has_no_interface(node):
    """After the network device of a virtual function is gone from libvirt, the agent shows no interface for it."""
    net = "net_enp129s0f0v0_0c_42_a1_00_00_30"
    listing, counting = settled(node(TEXTS.values()))
    counting.connection = node(without(net))
    (vf,) = [device for device in listing.read(counting).pci if device.name == VF]
    assert (vf.interface, vf.parent_interface) == (None, None)


def test_a_device_event_triggers_a_read_of_the_device(node):
    listing, counting = settled(node(TEXTS.values()))
    counting.connection = node(text.replace("0x101e", "0x101f") for text in TEXTS.values())
    before = {device.name: device.product_id for device in listing.read(counting).pci}
    others = set(counting.read)
    listing.changed("pci_0000_81_00_4")
    after = {device.name: device.product_id for device in listing.read(counting).pci}
    assert before["pci_0000_81_00_4"] == "101e" or "pci_0000_81_00_4" in others
    assert after["pci_0000_81_00_4"] == "101f"


def test_changed_devices_are_read_after_a_failed_read(node):
    """Libvirt reports changed devices and the next read fails; the agent reads these devices in the following read."""
    listing, counting = settled(node(TEXTS.values()))
    working, dead = counting.connection, libvirt.open("test:///default")
    dead.close()
    for name in TEXTS:
        listing.changed(name)
    counting.connection = dead
    with pytest.raises(libvirt.libvirtError):
        listing.read(counting)
    counting.connection = working
    listing.read(counting)
    assert sorted(counting.read) == sorted(TEXTS)


def test_a_cleared_device_cache_causes_a_read_of_every_device(node):
    """After the agent's cache of devices is cleared, the agent reads every device from libvirt again."""
    listing, counting = settled(node(TEXTS.values()))
    listing.forget()
    listing.read(counting)
    assert sorted(counting.read) == sorted(TEXTS)


def test_every_read_updates_the_free_instances_of_mdev_types(node):
    """At each read, the agent asks libvirt how many mediated devices a GPU can still create."""
    listing, counting = settled(node(TEXTS.values()))
    counting.connection = node(text.replace(">15<", ">14<") for text in TEXTS.values())
    (gpu,) = [parent for parent in listing.read(counting).mdev_parents if parent.name == GPU]
    assert [kind.available_instances for kind in gpu.types] == [14, 0]


def test_an_invalid_device_is_listed_with_a_reason(node):
    """While libvirt's XML of a device is invalid, the agent lists the device with the reason and reads the others."""
    listing, counting = settled(node(TEXTS.values()))
    listing.changed(VF)
    counting.instead[VF] = TEXTS[VF].replace("<slot>0</slot>", "")
    found = listing.read(counting)
    (odd,) = found.odd
    assert (odd.name, odd.reason) == (VF, f"device {VF}: slot: None is not a whole number")
    assert len(found.pci) == 7
    del counting.instead[VF]
    found = listing.read(counting)
    assert (len(found.pci), found.odd) == (8, ())


def test_a_read_of_512_unchanged_devices_takes_under_10_ms(node):
    listing, counting = settled(node(many(512)))
    assert len(listing.read(counting).pci) == 512
    started = time.process_time()
    for _ in range(20):
        listing.read(counting)
    assert (time.process_time() - started) / 20 < 0.01


def many(count):
    """Return ``count`` PCI functions of one kind, spread over the buses."""
    text = TEXTS["pci_0000_00_03_0"]
    return [
        text.replace("pci_0000_00_03_0", f"pci_0000_{bus:02x}_{slot:02x}_0")
        .replace("<bus>0<", f"<bus>{bus}<")
        .replace("<slot>3<", f"<slot>{slot}<")
        for bus, slot in (divmod(number, 32) for number in range(count))
    ]


class TestHostSource:
    """The listing of devices, read through the host source."""

    @pytest.fixture
    def source_at(self):
        made = []

        def make(uri, **place):
            readers = ReaderThread("libvirt"), ReaderThread("libvirt-capabilities")
            source = LibvirtHost(HostPlace(uri=uri, host="node-a", **place), *readers)
            made.append((source, readers))
            return source

        yield make
        for source, readers in made:
            source.close()
            for reader in readers:
                reader.stop()

    def test_a_read_of_libvirt_returns_the_pci_devices(self, source_at, tmp_path):
        path = tmp_path / "node.xml"
        path.write_text(node_with(TEXTS.values()))
        facts = source_at(f"test://{path}").read(Deadline.after(LONG_S))
        assert (len(facts.devices.pci), facts.devices_unknown_because) == (8, "")

    def test_the_next_read_includes_a_changed_device(self, source_at, tmp_path, monkeypatch):
        """If libvirt reports that a device has changed, the agent reads the device's XML at the next read."""
        path = tmp_path / "node.xml"
        path.write_text(node_with(TEXTS.values()))
        source = source_at(f"test://{path}")
        source.read(Deadline.after(LONG_S))
        asked = []
        original = libvirt.virNodeDevice.XMLDesc
        monkeypatch.setattr(
            libvirt.virNodeDevice, "XMLDesc", lambda self, flags: asked.append(self.name()) or original(self, flags)
        )
        source.read(Deadline.after(LONG_S))
        assert VF not in asked
        source.device_changed(VF)
        source.read(Deadline.after(LONG_S))
        assert VF in asked

    def test_an_empty_device_list_means_no_pci_devices(self, source_at):
        """If libvirt lists no devices, the agent concludes that the host has no PCI devices."""
        facts = source_at("test:///default").read(Deadline.after(LONG_S))
        assert facts.devices.pci == ()

    def test_a_refused_device_list_does_not_stop_the_read(self, source_at, monkeypatch):
        """If libvirt refuses to list the devices, the agent treats them as unknown and still reads the guests."""
        # A call that a read-only connection refuses stands in for a call that this driver lacks.
        monkeypatch.setattr(libvirt.virConnect, "listAllDevices", lambda self, _flags: self.getDomainCapabilities())
        facts = source_at("test:///default").read(Deadline.after(LONG_S))
        assert facts.devices is None
        assert "read only access" in facts.devices_unknown_because
        assert [domain.name for domain in facts.domains] == ["test"]

    @needs_libvirtd
    def test_a_connection_lost_during_the_device_list_fails_the_read(self, source_at, monkeypatch):
        """If libvirtd stops while the agent lists the devices, the agent's whole read of libvirt fails."""
        with private_libvirtd() as daemon:
            source = source_at(daemon.uri)
            original = libvirt.virConnect.listAllDevices

            def die_first(connection, flags):
                daemon.stop()
                return original(connection, flags)

            monkeypatch.setattr(libvirt.virConnect, "listAllDevices", die_first)
            with pytest.raises(SourceUnavailable, match="socket"):
                source.read(Deadline.after(LONG_S))

    @needs_libvirtd
    def test_a_libvirtd_restart_triggers_a_read_of_every_device(self, source_at):
        with private_libvirtd(node_with(TEXTS.values())) as daemon:
            source = source_at(daemon.uri)
            before = source.read(Deadline.after(LONG_S)).devices
            daemon.kill()
            daemon.node_xml = node_with(text.replace("0x101e", "0x101f") for text in TEXTS.values())
            daemon.start()
            after = source.read(Deadline.after(LONG_S)).devices
        assert [device.name for device in before.pci] == [device.name for device in after.pci]
        assert [device.product_id for device in before.pci if device.kind is PciKind.VF] == ["101e"] * 3
        assert [device.product_id for device in after.pci if device.kind is PciKind.VF] == ["101f"] * 3


@pytest.fixture(scope="module")
def system():
    with system_libvirtd() as running:
        yield running


def virsh_devices(kind):
    listed = subprocess.run(
        ["virsh", "-q", "-c", "qemu:///system", "nodedev-list", "--cap", kind],
        check=True,
        capture_output=True,
        text=True,
        timeout=LONG_S,
    )
    return sorted(listed.stdout.split())


@pytest.mark.root
@needs_root
@needs_libvirtd
@needs_virsh
@pytest.mark.xdist_group("qemu-system")
class TestSystemLibvirtd:
    def test_the_pci_devices_match_virsh_and_sysfs(self, system):
        """The agent reads the same PCI devices as `virsh nodedev-list` prints, with the details of sysfs."""
        found = DeviceListing().read(system.connection)
        assert [device.name for device in found.pci] == virsh_devices("pci")
        kernel = Path("/sys/bus/pci/devices")
        for device in found.pci:
            folder = kernel / device.address
            assert device.vendor_id == (folder / "vendor").read_text().strip().removeprefix("0x")
            assert device.product_id == (folder / "device").read_text().strip().removeprefix("0x")
            node = int((folder / "numa_node").read_text())
            assert device.numa_node == (None if node < 0 else node)
            virtual = (folder / "physfn").exists()
            assert (device.kind in (PciKind.VF, PciKind.VDPA)) == virtual
        assert found.odd == ()

    def test_the_interface_of_a_pci_device_matches_sysfs(self, system):
        """The agent reads the same network interface for a PCI device as the kernel shows in sysfs."""
        found = DeviceListing().read(system.connection)
        for device in found.pci:
            nets = [path.name for path in Path("/sys/bus/pci/devices", device.address).glob("**/net/*")]
            assert device.interface in (nets or [None])

    def test_the_mediated_devices_match_virsh(self, system):
        """The agent reads the same mediated devices as `virsh nodedev-list` prints."""
        found = DeviceListing().read(system.connection)
        assert [parent.name for parent in found.mdev_parents] == virsh_devices("mdev_types")
        assert [mdev.name for mdev in found.mdevs] == virsh_devices("mdev")
