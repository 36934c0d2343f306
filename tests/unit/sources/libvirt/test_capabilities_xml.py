"""The host's CPU and guests, on hosts of several architectures and drivers, and the queries to baselineCPU."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.capabilities import GuestKind
from agent.sources.libvirt.capabilities_xml import (
    GuestDomain,
    capabilities_document,
    expanded_features,
    guests,
    host_cpu,
    host_question,
    model_question,
)
from tests.rigs.libvirt_documents import document, documents, expanded_cpu
from tests.rigs.xml_mutation import damaged, refusal

TWO_SOCKETS = document("capabilities", "x86_64_two_sockets")
RECORDED = document("capabilities", "x86_64_qemu_7_2")


def root(name):
    return capabilities_document(document("capabilities", name))


def test_the_host_cpu_is_read_from_capabilities_xml():
    """From the capabilities XML of a real libvirt, the agent reads the CPU's model, vendor, topology and features."""
    cpu = host_cpu(root("x86_64_qemu_7_2"))
    assert (cpu.arch, cpu.model, cpu.vendor) == ("x86_64", "kvm64", "AMD")
    assert (cpu.sockets, cpu.cores, cpu.threads) == (1, 2, 1)
    assert cpu.maxphysaddr == ("emulate", 48)
    assert len(cpu.features) == RECORDED.count("<feature name=")


def test_a_disabled_cpu_feature_is_not_listed():
    """If libvirt's capabilities XML shows a CPU feature as disabled, the agent does not list it for the host."""
    assert host_cpu(root("x86_64_two_sockets")).features == {"ht", "svm"}


def test_maxphysaddr_without_bits_is_accepted():
    """In libvirt's capabilities XML, the element maxphysaddr may lack the attribute bits."""
    assert host_cpu(root("x86_64_two_sockets")).maxphysaddr == ("passthrough", None)


@pytest.mark.parametrize(
    ("name", "arch", "model", "features"),
    [
        ("aarch64", "aarch64", "Neoverse-N1", {"fp", "asimd", "aes"}),
        ("ppc64le", "ppc64le", "POWER9", set()),
        ("s390x", "s390x", "gen16a-base", {"aen", "vxpdeh2"}),
        ("riscv64", "riscv64", None, None),
        ("xen", "x86_64", None, None),
        ("lxc", "x86_64", None, None),
        ("test_driver", "i686", None, None),
    ],
)
def test_the_host_cpu_is_read_on_many_architectures(name, arch, model, features):
    """The agent reads the host's CPU from libvirt on ARM, POWER, s390x and RISC-V, and with Xen and LXC."""
    cpu = host_cpu(root(name))
    assert (cpu.arch, cpu.model, cpu.features) == (arch, model, features)


@pytest.mark.parametrize(("written", "read"), [("amd64", "x86_64"), ("i386", "i686"), ("AArch64", "aarch64")])
def test_the_cpu_architecture_has_the_name_that_nova_uses(written, read):
    """If libvirt shows the architecture amd64, the agent uses nova's name x86_64."""
    xml = f"<capabilities><host><cpu><arch>{written}</arch></cpu></host></capabilities>"
    assert host_cpu(capabilities_document(xml)).arch == read


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("x86_64_qemu_7_2", [("i686", "hvm", ("qemu", "kvm")), ("x86_64", "hvm", ("qemu", "kvm"))]),
        ("x86_64_two_sockets", [("x86_64", "hvm", ("qemu", "kvm"))]),
        ("aarch64", [("aarch64", "hvm", ("qemu", "kvm")), ("armv7l", "hvm", ("qemu",))]),
        ("ppc64le", [("ppc64le", "hvm", ("kvm",))]),
        ("s390x", [("s390x", "hvm", ("kvm",))]),
        ("riscv64", [("riscv64", "hvm", ("qemu",))]),
        ("xen", [("x86_64", "xen", ("xen",)), ("x86_64", "hvm", ("xen",))]),
        ("lxc", [("x86_64", "exe", ("lxc",)), ("i686", "exe", ("lxc",))]),
        ("test_driver", [("i686", "hvm", ("test",)), ("i686", "xen", ("test",))]),
    ],
)
def test_guest_architectures_are_read_from_capabilities(name, kinds):
    """From libvirt's capabilities XML, the agent lists each guest architecture with its OS type and domain types."""
    assert [guest.kind for guest in guests(root(name))] == [
        GuestKind(arch=arch, os_type=os_type, domain_types=types) for arch, os_type, types in kinds
    ]


def test_a_domain_type_inherits_the_common_emulator():
    """If libvirt lists no emulator for a domain type, the architecture's common emulator applies."""
    (guest,) = guests(root("x86_64_two_sockets"))
    assert guest.domain_for("kvm") == GuestDomain(
        type="kvm",
        emulator="/usr/libexec/qemu-kvm-real",
        aliases=(("q35", "pc-q35-rhel9.2.0"), ("latest", "pc-q35-rhel9.2.0")),
    )
    beside = GuestDomain(
        type="qemu",
        emulator="/usr/libexec/qemu-kvm",
        aliases=(("pc", "pc-i440fx-rhel7.6.0"), ("q35", "pc-q35-rhel9.2.0")),
    )
    assert guest.domain_for("qemu") == beside
    assert guest.domain_for("hvf") == beside


def test_the_host_cpu_query_contains_the_host_cpu_xml():
    """When the agent asks libvirt for all features of the host's CPU, it sends the CPU's XML unchanged."""
    assert ET.canonicalize(host_question(root("s390x"))) in ET.canonicalize(document("capabilities", "s390x"))


def test_the_cpu_model_query_contains_the_host_vendor():
    """When the agent asks libvirt for the features of a CPU model, its query contains the vendor of the host's CPU."""
    question = ET.fromstring(model_question(root("x86_64_two_sockets"), "EPYC"))
    assert [child.tag for child in question] == ["arch", "model", "vendor", "topology", "maxphysaddr"]
    assert (question.findtext("arch"), question.findtext("model"), question.findtext("vendor")) == (
        "x86_64",
        "EPYC",
        "AMD",
    )


def test_the_cpu_model_query_leaves_capabilities_unchanged():
    """When the agent builds its query about a CPU model, libvirt's capabilities XML stays unchanged."""
    whole = root("x86_64_two_sockets")
    before = ET.tostring(whole)
    model_question(whole, "EPYC")
    assert ET.tostring(whole) == before


def test_disabled_features_of_a_cpu_model_are_left_out():
    """If libvirt lists a feature of a CPU model with policy disable, the agent leaves the feature out."""
    answer = expanded_cpu()
    features = expanded_features(answer)
    assert len(features) == answer.count("<feature policy='require'")
    assert {"sse2", "pni", "pclmuldq"} <= features
    disabled = answer.replace("<feature policy='require' name='sse2'/>", "<feature policy='disable' name='sse2'/>")
    assert features - expanded_features(disabled) == {"sse2"}


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("<arch>x86_64</arch>", "<arch/>", "host cpu: <arch> is empty"),
        ("<arch>x86_64</arch>", "", "host cpu: no <arch>"),
        ("sockets='1'", "sockets='one'", "'one'"),
        ("<feature name='ht'/>", "<feature/>", "<feature> has no attribute name"),
        ("mode='passthrough'", "", "<maxphysaddr> has no attribute mode"),
    ],
)
def test_a_host_cpu_error_contains_the_invalid_element(old, new, named):
    """If the host's CPU in libvirt's capabilities XML is invalid, the error shows the invalid element or value."""
    assert old in TWO_SOCKETS
    with pytest.raises(SourceInconsistent) as raised:
        host_cpu(capabilities_document(TWO_SOCKETS.replace(old, new)))
    assert named in raised.value.message


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("<os_type>hvm</os_type>", "", "no <os_type>"),
        ("<arch name='x86_64'>", "<arch>", "<arch> has no attribute name"),
        ("<domain type='qemu'/>", "<domain/>", "<domain> has no attribute type"),
    ],
)
def test_the_error_about_a_guest_shows_the_missing_element(old, new, named):
    """If a <guest> in libvirt's capabilities XML is incomplete, the error shows the missing part."""
    assert old in TWO_SOCKETS
    with pytest.raises(SourceInconsistent) as raised:
        guests(capabilities_document(TWO_SOCKETS.replace(old, new)))
    assert named in raised.value.message


def everything(xml):
    whole = capabilities_document(xml)
    host_cpu(whole)
    guests(whole)
    host_question(whole)
    model_question(whole, "qemu64")


@given(damaged(documents("capabilities").values()))
def test_damaged_capabilities_xml_is_read_or_rejected(xml):
    """For any damaged capabilities XML of libvirt, the agent reads it or raises a `SourceInconsistent` error."""
    for part in (everything, lambda xml: guests(capabilities_document(xml))):
        assert (refusal(part, xml) or "capabilities").startswith("capabilities")


@given(damaged([expanded_cpu()]) | st.text(st.characters(exclude_categories=())))
def test_damaged_cpu_xml_is_read_or_rejected(xml):
    """For any damaged CPU XML of libvirt, the agent reads it or raises a `SourceInconsistent` error."""
    assert (refusal(expanded_features, xml) or "answer").startswith("answer")


@given(st.text(st.characters(exclude_categories=())))
def test_capabilities_that_are_not_xml_are_rejected(text):
    """If libvirt's capabilities are not XML, the agent raises a `SourceInconsistent` error."""
    with pytest.raises(SourceInconsistent):
        capabilities_document(text)
