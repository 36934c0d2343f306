"""The capabilities of the host and its emulators, from libvirt itself and compared with virsh on the same host."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import libvirt
import pytest

from agent.cmd.wiring import wire
from agent.deadlines.reader_thread import ReaderThread
from agent.model.host.capabilities import Capabilities, HostCpu, MissingPart, Part
from agent.ports import Deadline
from agent.sources.libvirt.capabilities import Asker, read_capabilities
from agent.sources.libvirt.capabilities_xml import capabilities_document
from agent.sources.libvirt.capability_questions import GuestChoice
from agent.sources.libvirt.connection_info import Nature
from agent.sources.libvirt.host import HostPlace, LibvirtHost
from agent.sources.libvirt.topology_xml import HostTopology
from agent.sources.probe.capabilities import ProbeDomainAsker
from tests.rigs.configs import ALONE, load_ours
from tests.rigs.domains import node_xml
from tests.rigs.libvirt_documents import document
from tests.rigs.libvirtd import libvirtd_program, system_libvirtd
from tests.rigs.probe_socket import probe_socket

needs_libvirtd = pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: qemu:///system")
needs_virsh = pytest.mark.skipif(shutil.which("virsh") is None, reason="virsh is not installed")

READ_ONLY_SOCKET = Path("/var/run/libvirt/libvirt-sock-ro")
LONG_S = 60.0


def capabilities_of(uri, domain_asker=None, **choice):
    """Return the capabilities that a host source reads from that libvirt."""
    readers = ReaderThread("libvirt"), ReaderThread("libvirt-capabilities")
    place = HostPlace(
        uri=uri,
        host="node-a",
        guests=GuestChoice(**choice),
        capabilities_wait_s=LONG_S,
        domain_asker=domain_asker,
    )
    source = LibvirtHost(place, *readers)
    try:
        return source.read(Deadline.after(LONG_S)).capabilities
    finally:
        source.close()
        for reader in readers:
            reader.stop()


def virsh(*arguments, uri, may_fail=False):
    """Return what virsh prints, or None if libvirt refuses the command."""
    done = subprocess.run(
        ["virsh", "-q", "-c", uri, *arguments], capture_output=True, text=True, timeout=LONG_S, check=not may_fail
    )
    return done.stdout if done.returncode == 0 else None


class TestTestDriver:
    """The test driver has no CPU model, no CPU feature and no domain capabilities."""

    def test_unsupported_domain_capabilities_are_unknown(self):
        """If the libvirt driver has no domain capabilities, the agent treats them as unknown."""
        found = capabilities_of("test:///default")
        assert (found.domain, found.missing) == (None, ())
        assert found.host_cpu == HostCpu(arch="i686")
        assert [(guest.arch, guest.os_type, guest.domain_types) for guest in found.guests] == [
            ("i686", "hvm", ("test",)),
            ("i686", "xen", ("test",)),
        ]

    def test_features_of_an_unknown_cpu_model_are_reported_missing(self):
        """If libvirt does not know a configured CPU model, the agent reports the model's features as missing."""
        found = capabilities_of("test:///default", cpu_mode="custom", cpu_models=("qemu32", "PENTIUM3", "no-such"))
        features = dict(found.model_features)
        assert features.keys() == {"qemu32", "PENTIUM3"}
        assert {"sse", "mmx"} <= features["PENTIUM3"]
        assert "sse2" in features["qemu32"] - features["PENTIUM3"]
        (part,) = found.missing
        assert part.name == "features of CPU model no-such"
        assert "no-such" in part.why

    def test_cpu_mode_none_means_qemu32_on_an_i686_host(self, tmp_path):
        """With cpu_mode = none on an i686 host, the agent reads the features of CPU model qemu32."""
        path = tmp_path / "node.xml"
        path.write_text(node_xml(cpus=2, memory_mib=1024))
        found = capabilities_of(f"test://{path}", cpu_mode="none")
        assert [model for model, _ in found.model_features] == ["qemu32"]

    def test_a_missing_hypervisor_version_does_not_stop_the_read(self, monkeypatch):
        """If libvirt refuses to tell the hypervisor version, the agent still reads the other capabilities."""
        # A call that a read-only connection refuses stands in for a call that this driver lacks.
        monkeypatch.setattr(libvirt.virConnect, "getVersion", lambda self: self.getDomainCapabilities())
        found = capabilities_of("test:///default")
        assert [part.part for part in found.missing] == [Part.VERSION]
        assert found.host_cpu.arch == "i686"

    def test_the_agent_reads_features_of_configured_cpu_models(self, tmp_path):
        """The agent asks libvirt for the features of each CPU model in [libvirt] cpu_models."""
        chosen = (
            "[libvirt]\nvirt_type = qemu\nconnection_uri = test:///default\ncpu_mode = custom\ncpu_models = qemu32\n"
        )
        loaded = load_ours(tmp_path, ALONE + chosen)
        with wire(loaded) as wired:
            found = wired.host.read(Deadline.after(LONG_S)).capabilities
        assert [model for model, _ in found.model_features] == ["qemu32"]

    @pytest.mark.parametrize(
        ("old", "new", "part", "why"),
        [
            ("<arch>x86_64</arch>", "", Part.HOST_CPU, "no <arch>"),
            ("cores='2'", "cores='two'", Part.HOST_CPU, "'two'"),
            ("<os_type>hvm</os_type>", "", Part.GUESTS, "no <os_type>"),
            ("<model>EPYC-Milan</model>", "<model>no-such</model>", Part.HOST_FEATURES, "no-such"),
        ],
    )
    def test_an_invalid_capability_does_not_hide_the_rest(self, old, new, part, why):
        """If one part of libvirt's capabilities XML is invalid, the agent reports it and reads the rest."""
        text = document("capabilities", "x86_64_two_sockets")
        assert old in text
        found = asked(text.replace(old, new))
        assert [missing.part for missing in found.missing] == [part]
        assert why in found.missing[0].why
        assert (found.guests == ()) == (part == Part.GUESTS)
        assert (found.host_cpu.features is None) == (part != Part.GUESTS)

    def test_host_cpu_features_include_those_of_the_cpu_model(self):
        """The agent adds the features that libvirt's CPU model implies to the features that the host's XML lists."""
        found = asked(document("capabilities", "x86_64_two_sockets"))
        assert found.missing == ()
        assert {"ht", "svm", "avx2", "sha-ni"} <= found.host_cpu.features

    def test_cpu_features_of_an_arm_host_are_read(self):
        """The agent takes the CPU features of an ARM host from libvirt's capabilities XML."""
        assert asked(document("capabilities", "aarch64")).host_cpu.features == {"fp", "asimd", "aes"}


def asked(text) -> Capabilities:
    """Return the capabilities in a document of another host; the test driver answers all further questions."""
    connection = libvirt.openReadOnly("test:///default")
    try:
        asker = Asker(connection=connection, driver="TEST", uri="test:///default", choice=GuestChoice())
        return read_capabilities(capabilities_document(text), asker)
    finally:
        connection.close()


@pytest.fixture(scope="module")
def system():
    with system_libvirtd() as running:
        yield running


@pytest.mark.root
@needs_root
@needs_libvirtd
@needs_virsh
@pytest.mark.xdist_group("qemu-system")
class TestSystemLibvirtd:
    def test_host_cpu_features_equal_those_of_virsh(self, system, tmp_path):
        """The agent reads the same host CPU features as `virsh cpu-baseline --features` prints."""
        cpu = capabilities_of(system.uri).host_cpu
        path = tmp_path / "capabilities.xml"
        path.write_text(virsh("capabilities", uri=system.uri))
        expanded = ET.fromstring(virsh("cpu-baseline", str(path), "--features", uri=system.uri))
        assert cpu.features == {feature.get("name") for feature in expanded.findall("feature[@policy='require']")}
        assert cpu.arch == os.uname().machine
        assert f"<model>{cpu.model}</model>" in path.read_text()

    @pytest.mark.parametrize("virt_type", ["qemu", "kvm"])
    def test_disk_buses_and_video_models_equal_those_of_virsh(self, system, virt_type):
        """The agent reads the same disk buses and video models as `virsh domcapabilities` prints."""
        found = capabilities_of(system.uri, virt_type=virt_type)
        assert found.missing == ()
        listed = ET.fromstring(virsh("capabilities", uri=system.uri))
        expected = {}
        for arch in listed.findall("guest/arch"):
            name = arch.get("name")
            for machine in {element.text for element in arch.iter("machine") if element.get("canonical")}:
                asked_for = ("--virttype", virt_type, "--arch", name, "--machine", machine)
                text = virsh("domcapabilities", *asked_for, uri=system.uri, may_fail=True)
                if text is not None:
                    expected[name, machine] = ET.fromstring(text)
        assert expected or virt_type == "kvm"
        assert {(one.arch, name) for one in found.domain for name in one.machines} >= expected.keys()
        for (arch, machine), text in expected.items():
            (one,) = [one for one in found.of_arch(arch) if machine in one.machines]
            assert one.domain_type == virt_type
            assert one.buses == {value.text for value in text.findall(".//enum[@name='bus']/value")}
            assert one.video_models == {value.text for value in text.findall(".//enum[@name='modelType']/value")}
            assert text.findtext("machine") in one.machines

    def test_an_unsupported_virt_type_is_reported_once(self, system):
        """If QEMU does not support the configured virt_type, the agent reports this exactly once."""
        found = capabilities_of(system.uri, virt_type="xen")
        arch = os.uname().machine
        why = f"invalid argument: Emulator '/usr/bin/qemu-system-{arch}' does not support virt type 'xen'"
        assert (found.domain, found.missing) == ((), (MissingPart(part=Part.MACHINE, detail=arch, why=why),))

    def test_an_unknown_machine_type_does_not_hide_the_others(self, system):
        """If the operator configures a machine type that QEMU does not know, the agent still reads the other types."""
        found = capabilities_of(system.uri, virt_type="qemu", machine_types=(("x86_64", "no-such"),))
        assert {name for one in found.of_arch("x86_64") for name in one.machines} >= {"pc", "q35"}
        assert found.missing == ()

    def test_a_read_only_socket_lacks_domain_capabilities(self, system):
        """On libvirt's read-only socket, the agent gets no domain capabilities and reports them as missing."""
        found = capabilities_of(f"qemu+unix:///system?socket={READ_ONLY_SOCKET}", virt_type="qemu")
        assert found.domain is None
        (part,) = found.missing
        assert (part.part, part.detail) == (Part.DOMAIN, "")
        assert "read only" in part.why
        assert found.host_cpu == capabilities_of(system.uri, virt_type="qemu").host_cpu

    def test_the_probe_returns_the_capabilities_of_libvirt(self, system):
        """The privileged helper `stocktake-probe` gives the agent the same domain capabilities as libvirt itself."""
        with probe_socket() as rig:
            rig.configure(uri=system.uri)
            rig.serve()
            over_probe = capabilities_of(
                f"qemu+unix:///system?socket={READ_ONLY_SOCKET}", ProbeDomainAsker(rig.path), virt_type="qemu"
            )
        assert over_probe.missing == ()
        assert over_probe == capabilities_of(system.uri, virt_type="qemu")

    def test_the_agent_asks_again_for_missing_domain_capabilities(self, system):
        """The agent asks again for domain capabilities that are missing because stocktake-probe was unreachable."""
        over_probe = capabilities_of(system.uri, ProbeDomainAsker("/nowhere/probe.sock"), virt_type="qemu")
        (part,) = over_probe.missing
        assert (part.part, part.passing) == (Part.DOMAIN, True)
        assert "stocktake-probe (/nowhere/probe.sock) cannot be reached" in part.why
        nature = Nature(
            topology=HostTopology(), online=(True,), hypervisor_version=1, capabilities=over_probe, asked_at=1e12
        )
        assert not nature.still_holds((True,), 0.0)

    def test_domain_capabilities_need_a_read_write_connection(self, system):
        """If the agent gets no read-write connection to libvirt, it reports the domain capabilities as missing."""
        connection = libvirt.openReadOnly(system.uri)
        uri = "qemu+unix:///system?socket=/nowhere/sock"
        asker = Asker(connection=connection, driver="QEMU", uri=uri, choice=GuestChoice())
        found = read_capabilities(capabilities_document(connection.getCapabilities()), asker)
        connection.close()
        assert found.domain is None
        (part,) = found.missing
        assert re.match(r"the call needs a read-write connection, but the agent got none: .*/nowhere/sock", part.why)

    def test_machine_types_of_an_absent_qemu_are_reported_missing(self, system):
        """If a QEMU program is absent, the agent reports the machine types of that program as missing."""
        text = re.sub(
            r"<emulator>.*?</emulator>", "<emulator>/nowhere/qemu</emulator>", virsh("capabilities", uri=system.uri)
        )
        connection = libvirt.openReadOnly(system.uri)
        asker = Asker(connection=connection, driver="QEMU", uri=system.uri, choice=GuestChoice(virt_type="qemu"))
        found = read_capabilities(capabilities_document(text), asker)
        connection.close()
        assert found.domain == ()
        assert (
            MissingPart(
                part=Part.MACHINE,
                detail="x86_64 pc",
                why="Cannot check QEMU binary /nowhere/qemu: No such file or directory",
            )
            in found.missing
        )

    def test_cpu_mode_none_means_the_default_cpu_model_of_qemu(self, system):
        """With cpu_mode = none, the agent reads the features of CPU model qemu64, which is QEMU's default."""
        found = capabilities_of(system.uri, virt_type="qemu", cpu_mode="none")
        ((model, features),) = found.model_features
        assert model == "qemu64"
        assert {"sse2", "cx16"} <= features
        assert "avx" not in features

    def test_cpu_model_names_in_lower_case_are_accepted(self, system):
        """The agent accepts "epyc" and "haswell" in cpu_models, although libvirt spells them "EPYC" and "Haswell"."""
        found = capabilities_of(system.uri, virt_type="qemu", cpu_mode="custom", cpu_models=("epyc", "haswell"))
        features = dict(found.model_features)
        assert "sse4a" in features["epyc"] - features["haswell"]
        assert found.missing == ()
