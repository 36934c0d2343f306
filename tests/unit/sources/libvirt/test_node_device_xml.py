"""One node device at a time: PCI functions, network, vDPA and mediated devices, and what the parser refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.devices import Mdev, MdevType
from agent.sources.libvirt.node_device_xml import NetworkDevice, NodeDevice, PciFunction, parse_node_device, pci_name
from tests.rigs.libvirt_documents import document, documents
from tests.rigs.xml_mutation import damaged, refusal

PF = document("node_devices", "pci_0000_81_00_0")
MDEV = document("node_devices", "mdev_4b20d080_1b54_4048_85b3_a6a62d165c01_0000_06_00_0")


def read(name):
    return parse_node_device(document("node_devices", name))


def test_a_physical_function_lists_its_virtual_functions_in_order():
    assert parse_node_device(PF) == NodeDevice(
        name="pci_0000_81_00_0",
        parent="pci_0000_80_01_1",
        pci=PciFunction(
            address="0000:81:00.0",
            vendor_id="15b3",
            product_id="101d",
            numa_node=1,
            virtual_functions=("0000:81:00.2", "0000:81:00.3", "0000:81:00.4"),
            card_serial="MT2108X12345",
        ),
    )


def test_a_physical_function_without_vfs_has_an_empty_vf_list():
    start, end = PF.index("<address domain"), PF.index("</capability>\n    <capability type='vpd'>")
    assert parse_node_device(PF[:start] + PF[end:]).pci.virtual_functions == ()


def test_a_virtual_function_refers_to_its_physical_function_by_address():
    function = read("pci_0000_81_00_3").pci
    assert (function.physical_function, function.virtual_functions) == ("0000:81:00.0", None)
    assert function.card_serial == "VF3-OWN"


def test_the_card_serial_is_ignored_if_the_vpd_fields_are_writable():
    assert parse_node_device(PF.replace("access='readonly'", "access='readwrite'")).pci.card_serial is None


def test_xml_of_a_pci_function_and_a_network_device_from_libvirt_is_parsed():
    function = read("pci_0000_00_03_0").pci
    assert (function.address, function.vendor_id, function.product_id) == ("0000:00:03.0", "1af4", "1041")
    assert read("net_eth0_52_54_00_00_00_01") == NodeDevice(
        name="net_eth0_52_54_00_00_00_01",
        parent="pci_0000_00_03_0",
        network=NetworkDevice(
            interface="eth0", mac_address="52:54:00:00:00:01", features=("rx", "tx", "sg", "tso", "gso", "gro")
        ),
    )


def test_a_pci_address_with_a_domain_above_16_bits_is_read_in_full():
    """The vendor ID and the product ID are read in lower case."""
    function = read("pci_10000_e1_00_0").pci
    assert (function.address, function.vendor_id, function.product_id) == ("10000:e1:00.0", "144d", "00a0")


def test_a_numa_node_with_number_minus_one_is_read_as_unknown():
    assert read("pci_0000_06_00_0").pci.numa_node is None


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("pci_0000_06_00_0", [("nvidia-11", 15), ("nvidia-12", 0)]),
        ("mtty_mtty", [("mtty-2", 12)]),
        ("css_0_0_0023", [("vfio_ccw-io", 1)]),
    ],
)
def test_mdev_types_are_read_from_pci_and_mtty_and_css_devices(name, types):
    assert read(name).mdev_types == tuple(MdevType(type_id=kind, available_instances=n) for kind, n in types)


def test_the_parent_of_an_mdev_is_found_by_the_pci_address_in_its_xml():
    assert parse_node_device(MDEV).mdev == Mdev(
        name="mdev_4b20d080_1b54_4048_85b3_a6a62d165c01_0000_06_00_0",
        type_id="nvidia-11",
        parent="pci_0000_06_00_0",
        uuid="4b20d080-1b54-4048-85b3-a6a62d165c01",
    )


def test_an_mdev_on_a_non_pci_device_has_the_parent_name_given_by_libvirt():
    xml = MDEV.replace("<parent>computer<", "<parent>mtty_mtty<").replace("0000:06:00.0", "mtty")
    assert parse_node_device(xml).mdev.parent == "mtty_mtty"


def test_a_vdpa_device_is_parsed():
    assert read("vdpa_vdpa0") == NodeDevice(name="vdpa_vdpa0", parent="pci_0000_81_00_4", vdpa=True)


@pytest.mark.parametrize("name", [name for name in documents("node_devices") if name.startswith("pci_")])
def test_the_name_of_a_pci_device_in_libvirt_is_derived_from_its_pci_address(name):
    assert pci_name(read(name).pci.address) == name


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("<name>pci_0000_81_00_0</name>", "", "device: no <name>"),
        ("<bus>129</bus>", "<bus>0x81</bus>", "bus: '0x81'"),
        ("<bus>129</bus>", "<bus>256</bus>", "(0, 256, 0, 0) is not a PCI address"),
        ("<slot>0</slot>", "", "slot: None"),
        ("id='0x101d'", "id='0x1101d'", "the product id 0x1101d"),
        ("id='0x15b3'", "", "vendor id: None"),
        ("node='1'", "node='one'", "numa node: 'one'"),
        ("function='0x2'", "function='0x8'", "(0, 129, 0, 8) is not a PCI address"),
    ],
)
def test_the_error_for_invalid_device_xml_contains_the_invalid_value(old, new, named):
    assert old in PF
    with pytest.raises(SourceInconsistent) as raised:
        parse_node_device(PF.replace(old, new))
    assert named in raised.value.message


def test_mdev_type_xml_without_the_available_instances_element_is_rejected():
    xml = document("node_devices", "mtty_mtty").replace("<availableInstances>12</availableInstances>", "")
    with pytest.raises(SourceInconsistent, match="mtty-2: availableInstances"):
        parse_node_device(xml)


@given(damaged(documents("node_devices").values()))
def test_damaged_device_xml_is_either_parsed_or_rejected_as_inconsistent(xml):
    assert (refusal(parse_node_device, xml) or "device").startswith("device")


@given(st.text(st.characters(exclude_categories=())))
def test_parsing_a_node_device_from_invalid_xml_raises_source_inconsistent(text):
    with pytest.raises(SourceInconsistent):
        parse_node_device(text)
