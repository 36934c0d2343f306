"""Domain XML: what the parser reads, and that no text raises anything but SourceInconsistent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.facts import Disk, DomainState
from agent.model.nova import Flavor
from agent.sources.libvirt.xml import parse_domain
from tests.rigs.domains import block_disk, domain_xml, file_disk, nova_metadata
from tests.rigs.xml_mutation import damaged

UUID = "6695eb01-f6a4-8304-79aa-97f2502e193f"

WHOLE_DOMAIN = domain_xml(
    "web-1",
    domain_uuid=UUID,
    memory_mib=2048,
    vcpu_element="<vcpu placement='static' current='2'>8</vcpu>",
    more="<cputune><shares>2048</shares><vcpupin vcpu='0' cpuset='4-7,^5'/><vcpupin vcpu='1' cpuset='0'/></cputune>",
    disks=(
        file_disk("/var/lib/nova/instances/a/disk", "vdb"),
        block_disk("/dev/vg0/a_disk", "vda"),
        "<disk type='network' device='disk'><source protocol='rbd' name='vms/a'/><target dev='vdc'/></disk>",
        "<disk type='volume' device='disk'><source pool='default' volume='b.img'/><target dev='vdd'/></disk>",
        "<disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>",
        "<filesystem type='mount'><source dir='/srv/share'/><target dir='share'/></filesystem>",
    ),
    metadata=nova_metadata(8, 2048, 20, flavor="m1.large", extra=(5, 512)),
)


PCI = "<address domain='0x0000' bus='0x81' slot='0x0a' function='0x1'/>"


def parse(xml: str):
    return parse_domain(xml, DomainState.RUNNING)


def test_the_parser_reads_the_fields_of_a_domain():
    """The agent reads name, state, vCPUs, memory, pinned CPUs, disks and nova's flavor from a libvirt domain's XML."""
    domain = parse(WHOLE_DOMAIN)
    assert (domain.uuid, domain.name, domain.state) == (UUID, "web-1", DomainState.RUNNING)
    assert (domain.vcpus, domain.memory_mib, domain.pinned_cpus) == (2, 2048, (0, 4, 6, 7))
    assert domain.disks == (
        Disk(target="sda", kind="file", source=None),
        Disk(target="vda", kind="block", source="/dev/vg0/a_disk", format="raw"),
        Disk(target="vdb", kind="file", source="/var/lib/nova/instances/a/disk", format="qcow2"),
        Disk(target="vdc", kind="network", source="vms/a"),
        Disk(target="vdd", kind="volume", source="default/b.img"),
    )
    assert domain.managed_by_nova
    assert domain.nova_flavor == Flavor(
        id=0, name="m1.large", vcpus=8, memory_mib=2048, root_gib=20, ephemeral_gib=5, swap_mib=512
    )


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_nova_metadata_is_read_in_both_namespace_versions(version):
    """The agent reads nova's flavor from domain metadata of namespace version 1.0 and of version 1.1."""
    assert parse(domain_xml("a", metadata=nova_metadata(1, 64, 1, version=version))).nova_flavor is not None


def test_metadata_of_another_application_is_ignored():
    """A libvirt domain with only another application's metadata is not counted as a guest of nova."""
    metadata = "<metadata><app:instance xmlns:app='http://example.org/1'><app:flavor/></app:instance></metadata>"
    domain = parse(domain_xml("a", metadata=metadata))
    assert (domain.managed_by_nova, domain.nova_flavor) == (False, None)


def test_nova_metadata_without_a_flavor_still_marks_a_guest():
    """A libvirt domain with nova's metadata is a guest of nova, even if the metadata contains no flavor."""
    metadata = "<metadata><n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>"
    domain = parse(domain_xml("a", metadata=metadata))
    assert (domain.managed_by_nova, domain.nova_flavor) == (True, None)


# The units and their factors: libvirt's documentation of <memory>; no unit means KiB.
@pytest.mark.parametrize(
    ("memory", "mib"),
    [
        ("<memory>2048</memory>", 2),
        ("<memory unit='b'>1048576</memory>", 1),
        ("<memory unit='bytes'>3145728</memory>", 3),
        ("<memory unit='k'>1024</memory>", 1),
        ("<memory unit='KiB'>1024</memory>", 1),
        ("<memory unit='KB'>1048576</memory>", 1000),
        ("<memory unit='M'>7</memory>", 7),
        ("<memory unit='MiB'>7</memory>", 7),
        ("<memory unit='MB'>1048576</memory>", 1000000),
        ("<memory unit='G'>1</memory>", 1024),
        ("<memory unit='GiB'>1</memory>", 1024),
        ("<memory unit='gib'>1</memory>", 1024),
        ("<memory unit='GB'>1</memory>", 954),
        ("<memory unit='TiB'>1</memory>", 1048576),
        ("<memory unit='PiB'>1</memory>", 1073741824),
        ("<memory unit='EiB'>1</memory>", 1099511627776),
        ("<memory unit='KiB'>1025</memory>", 2),
    ],
)
def test_memory_in_any_unit_is_rounded_up_to_mib(memory, mib):
    """The agent converts a domain's memory from every unit that libvirt allows to MiB, and rounds up."""
    xml = domain_xml("a", memory_mib=64).replace("<memory unit='KiB'>65536</memory>", memory)
    assert parse(xml).memory_mib == mib


@pytest.mark.parametrize(
    ("kind", "os_type", "devices", "disks"),
    [
        (
            "lxc",
            "<type arch='x86_64'>exe</type><init>/sbin/init</init>",
            "<filesystem type='mount' accessmode='passthrough'><source dir='/srv/c1'/><target dir='/'/></filesystem>"
            "<filesystem type='ram'><source usage='1048576' units='KiB'/><target dir='/mnt'/></filesystem>",
            (
                Disk(target="/", kind="mount", source="/srv/c1"),
                Disk(target="/mnt", kind="ram", source="1048576"),
            ),
        ),
        (
            "xen",
            "<type arch='x86_64' machine='xenpv'>linux</type>",
            "<disk type='block' device='disk'><driver name='phy'/><source dev='/dev/vg/x'/><target dev='xvda'/></disk>",
            (Disk(target="xvda", kind="block", source="/dev/vg/x"),),
        ),
        ("kvm", "<type arch='aarch64' machine='virt-7.2'>hvm</type>", file_disk("/a"), None),
        ("kvm", "<type arch='armv7l' machine='virt'>hvm</type>", file_disk("/a"), None),
        ("kvm", "<type arch='ppc64le' machine='pseries'>hvm</type>", file_disk("/a"), None),
        ("kvm", "<type arch='s390x' machine='s390-ccw-virtio'>hvm</type>", file_disk("/a"), None),
    ],
)
def test_disks_of_all_kinds_of_guests_are_read(kind, os_type, devices, disks):
    """The agent reads the disks of LXC and Xen guests and of KVM guests on ARM, POWER and s390x."""
    domain = parse(domain_xml("a", kind=kind, os_type=os_type, disks=[devices]))
    assert domain.disks == (disks or (Disk(target="vda", kind="file", source="/a", format="qcow2"),))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("<name>web-1</name>", "", "<name>"),
        (UUID, "no-uuid", "uuid 'no-uuid' is not a uuid"),
        ("unit='KiB'>2097152</memory>", "unit='parsec'>2097152</memory>", "unknown unit 'parsec'"),
        (">2097152</memory>", ">-1</memory>", "'-1'"),
        (">2097152</memory>", ">1e3</memory>", "'1e3'"),
        ("current='2'>8<", "current='9'>8<", "the number of current vCPUs is 9, not between 1 and the maximum 8"),
        ("current='2'>8<", "current='0'>8<", "the number of current vCPUs is 0, not between 1 and the maximum 8"),
        ("cpuset='4-7,^5'", "cpuset='7-4'", "'7-4'"),
        ("cpuset='4-7,^5'", "cpuset='0-999999'", "'0-999999'"),
        ("<target dev='vda' bus='virtio'/>", "", "<target>"),
        ("<nova:vcpus>8</nova:vcpus>", "", "vcpus"),
        ("<nova:memory>2048</nova:memory>", "<nova:memory>much</nova:memory>", "'much'"),
        ("<domain ", "<network ", "does not parse"),
    ],
)
def test_the_error_for_invalid_domain_xml_shows_the_value(old, new, named):
    """The error about invalid domain XML contains the element or the value that is missing or invalid."""
    assert old in WHOLE_DOMAIN
    with pytest.raises(SourceInconsistent) as raised:
        parse(WHOLE_DOMAIN.replace(old, new))
    assert named in str(raised.value)


def test_an_xml_entity_bomb_is_rejected():
    """Domain XML with a document type is rejected, because nested entities could fill the agent's memory."""
    entities = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10 if n else 'ha'}'>" for n in range(10))
    with pytest.raises(SourceInconsistent, match="document type"):
        parse(f"<!DOCTYPE domain [{entities}]><domain><name>&e9;</name></domain>")


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "<domain><name>\ud800</name></domain>",
        "<domain>\x00</domain>",
        "<?xml version='1.0' encoding='no-such'?><domain/>",
        "<domain>" + "<a>" * 5000 + "</a>" * 5000 + "</domain>",
        "<domain><name>a</name><uuid>" + "9" * 5000 + "</uuid></domain>",
        "<domain><name>a</name><memory>" + "9" * 5000 + "</memory></domain>",
    ],
    ids=["empty", "surrogate", "nul", "encoding", "deep", "long-uuid", "long-number"],
)
def test_malformed_xml_is_rejected_with_a_short_error(xml):
    """Malformed, deeply nested or oversized domain XML is rejected with an error text of less than 500 characters."""
    with pytest.raises(SourceInconsistent) as raised:
        parse(xml)
    assert len(str(raised.value)) < 500


@given(damaged([WHOLE_DOMAIN]))
def test_damaged_domain_xml_is_parsed_or_rejected(xml):
    """Domain XML with random damage is parsed or raises SourceInconsistent. It raises no other error."""
    try:
        domain = parse(xml)
    except SourceInconsistent:
        return
    assert domain.vcpus > 0
    assert domain.memory_mib >= 0


@given(st.text(st.characters(exclude_categories=())))
def test_text_other_than_xml_is_rejected_as_a_domain(text):
    """Any text that is not XML raises SourceInconsistent if it is parsed as a libvirt domain."""
    with pytest.raises(SourceInconsistent):
        parse(text)


def test_assigned_pci_functions_are_listed_by_full_address():
    """The agent lists the PCI functions that a guest uses as hostdev or interface, by their full addresses."""
    taken = domain_xml(
        "gpu",
        disks=(
            f"<hostdev mode='subsystem' type='pci' managed='yes'><source>{PCI}</source></hostdev>",
            "<interface type='hostdev'><source><address type='pci' domain='1' bus='2' slot='3' function='0'/></source>"
            "</interface>",
            "<hostdev mode='subsystem' type='usb'><source><address bus='1' device='2'/></source></hostdev>",
        ),
    )
    assert parse(taken).pci_addresses == ("0000:81:0a.1", "0001:02:03.0")


def test_the_uuids_of_a_guests_mediated_devices_are_read():
    """The agent reads the UUIDs of mediated devices from a guest's XML, and rejects a missing or invalid UUID."""
    named = "4B20D080-1B54-4048-85B3-A6A62D165C01"
    hostdev = "<hostdev mode='subsystem' type='mdev' model='vfio-pci' managed='no'><source>{}</source></hostdev>"
    guest = parse(domain_xml("gpu", disks=(hostdev.format(f"<address uuid='{named}'/>"),)))
    assert (guest.mdev_uuids, guest.pci_addresses) == ((named.lower(),), ())
    assert parse(domain_xml("plain")).mdev_uuids == ()
    for broken in ("<address/>", "<address uuid='x'/>"):
        with pytest.raises(SourceInconsistent, match="uuid"):
            parse(domain_xml("gpu", disks=(hostdev.format(broken),)))


def test_a_non_hexadecimal_pci_address_is_rejected():
    with pytest.raises(SourceInconsistent, match="is not a hexadecimal number"):
        parse(domain_xml("gpu", disks=(f"<hostdev type='pci'><source>{PCI.replace('0x81', 'x')}</source></hostdev>",)))


def test_the_memory_of_a_running_guest_is_current_memory():
    """The agent takes a running guest's memory from the element currentMemory of the guest's XML."""
    plain = domain_xml("b", memory_mib=2048)
    assert parse(plain).running_memory_mib == 2048
    small = plain.replace("<memory", "<currentMemory unit='MiB'>512</currentMemory><memory", 1)
    assert (parse(small).current_memory_mib, parse(small).memory_mib, parse(small).running_memory_mib) == (
        512,
        2048,
        512,
    )
