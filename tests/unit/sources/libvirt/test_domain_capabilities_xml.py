"""Domain capabilities of several emulators: what they offer, and what does not count because it is not supported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.capabilities import DomainCapabilities, SevLimits
from agent.sources.libvirt.domain_capabilities_xml import parse_domain_capabilities
from tests.rigs.libvirt_documents import document, documents
from tests.rigs.xml_mutation import damaged, refusal

SNP = document("domain_capabilities", "x86_64_q35_sev_snp")


def test_every_field_of_the_domain_capabilities_is_read():
    """The agent reads disk buses, video and TPM models, SEV limits and more from libvirt's domain capabilities XML."""
    assert parse_domain_capabilities(SNP, ("q35",)) == DomainCapabilities(
        arch="x86_64",
        domain_type="kvm",
        machines=("pc-q35-9.1", "q35"),
        buses=frozenset({"fdc", "scsi", "virtio", "usb"}),
        video_models=frozenset({"vga", "virtio"}),
        loader_secure=frozenset({"yes", "no"}),
        tpm_models=frozenset({"tpm-tis", "tpm-crb"}),
        tpm_backends=frozenset({"passthrough", "emulator"}),
        tpm_versions=frozenset({"1.2", "2.0"}),
        launch_security=frozenset({"sev", "sev-snp"}),
        sev=SevLimits(max_guests=410, max_es_guests=99),
    )


@pytest.mark.parametrize(
    ("old", "new", "name", "value"),
    [
        ("<sev supported='yes'>", "<sev supported='no'>", "sev", None),
        ("<launchSecurity supported='yes'>", "<launchSecurity supported='no'>", "launch_security", frozenset()),
        ("<tpm supported='yes'>", "<tpm supported='no'>", "tpm_models", frozenset()),
        ("<enum name='backendVersion'>", "<enum name='backendColour'>", "tpm_versions", None),
        ("<enum name='secure'>", "<enum name='readonly'>", "loader_secure", frozenset()),
    ],
)
def test_unsupported_capabilities_count_as_absent(old, new, name, value):
    """If libvirt shows a feature as not supported or lists no values, the agent does not count it as available."""
    assert old in SNP
    assert getattr(parse_domain_capabilities(SNP.replace(old, new), ()), name) == value


@pytest.mark.parametrize(
    ("tdx", "told"),
    [("<tdx supported='yes'/>", True), ("<tdx supported='no'/>", False), ("<tdx/>", False), ("", False)],
)
def test_tdx_is_read_from_the_element_tdx(tdx, told):
    """A host supports Intel TDX only if libvirt's domain capabilities contain <tdx supported='yes'/>."""
    assert "<tdx" not in SNP
    assert parse_domain_capabilities(SNP.replace("<features>", f"<features>{tdx}"), ()).tdx is told


def test_tdx_as_a_launch_security_type_is_ignored():
    """Like nova, the agent ignores tdx in libvirt's list of launch security types."""
    listed = SNP.replace("<value>sev-snp</value>", "<value>sev-snp</value><value>tdx</value>")
    assert listed != SNP
    assert parse_domain_capabilities(listed, ()).tdx is False


def test_domain_capabilities_of_machine_type_pc_are_read():
    """For machine type pc, the agent reads disk buses, video models and TPM models from the XML of a real libvirt."""
    found = parse_domain_capabilities(document("domain_capabilities", "x86_64_pc_qemu_7_2"), ("pc",))
    assert found.machines == ("pc", "pc-i440fx-7.2")
    assert found.buses == {"ide", "fdc", "scsi", "virtio", "usb", "sata"}
    assert found.video_models == {"vga", "cirrus", "vmvga", "qxl", "virtio", "none", "bochs", "ramfb"}
    assert (found.tpm_models, found.tpm_versions) == ({"tpm-tis", "tpm-crb"}, None)
    assert found.loader_secure == {"no"}
    assert (found.sev, found.launch_security) == (None, frozenset())


def test_machine_types_pc_and_q35_differ_only_in_bus_ide():
    """In the XML of a real libvirt, machine type q35 has the same disk buses as machine type pc, except IDE."""
    pc, q35 = (
        parse_domain_capabilities(document("domain_capabilities", f"x86_64_{name}_qemu_7_2"), ()).buses
        for name in ("pc", "q35")
    )
    assert pc ^ q35 == {"ide"}


@pytest.mark.parametrize(
    ("name", "arch", "domain_type", "buses", "security"),
    [
        ("aarch64_virt", "aarch64", "kvm", {"scsi", "virtio", "usb", "sata"}, set()),
        ("s390x_ccw", "s390x", "kvm", {"fdc", "scsi", "virtio"}, {"s390-pv"}),
        ("xen_pv", "x86_64", "xen", {"xen"}, set()),
    ],
)
def test_domain_capabilities_of_arm_ibm_z_and_xen_are_read(name, arch, domain_type, buses, security):
    found = parse_domain_capabilities(document("domain_capabilities", name), ())
    assert (found.arch, found.domain_type, found.buses, found.launch_security) == (arch, domain_type, buses, security)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("<arch>x86_64</arch>", "", "no <arch>"),
        ("<machine>pc-q35-9.1</machine>", "", "domain capabilities of x86_64: no <machine>"),
        ("<domain>kvm</domain>", "<domain/>", "<domain> is empty"),
        ("<maxGuests>410</maxGuests>", "", "maxGuests: None"),
        ("<maxESGuests>99</maxESGuests>", "<maxESGuests>-1</maxESGuests>", "pc-q35-9.1: <sev>: maxESGuests: '-1'"),
    ],
)
def test_a_parse_error_contains_the_element_name(old, new, named):
    """If an element in libvirt's domain capabilities XML is missing or invalid, the error contains its name."""
    assert old in SNP
    with pytest.raises(SourceInconsistent) as raised:
        parse_domain_capabilities(SNP.replace(old, new), ())
    assert named in raised.value.message


@given(damaged(documents("domain_capabilities").values()))
def test_damaged_domain_capabilities_are_read_or_rejected(xml):
    """For any damaged domain capabilities XML of libvirt, the agent reads it or raises a `SourceInconsistent` error."""
    assert (refusal(parse_domain_capabilities, xml, ("asked",)) or "domain cap").startswith("domain cap")


@given(st.text(st.characters(exclude_categories=())))
def test_domain_capabilities_that_are_not_xml_are_rejected(text):
    """If libvirt's domain capabilities are not XML, the agent raises a `SourceInconsistent` error."""
    with pytest.raises(SourceInconsistent):
        parse_domain_capabilities(text, ())
