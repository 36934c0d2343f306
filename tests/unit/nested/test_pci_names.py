"""Resource class and traits of a PCI device: the names that nova's API requests from Placement."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.nested.pci_names import class_of, is_valid_name, traits_of
from tests.rigs.pci import MANAGED, pci_settings


def spec(**tags):
    (made,) = pci_settings(tags).pci.specs
    return made


def test_s117_the_default_pci_class_contains_vendor_and_product():
    """Without `resource_class` in device_spec, device 10de:1eb8 gets the class CUSTOM_PCI_10DE_1EB8 in Placement."""
    for given_name in ({}, {"resource_class": ""}, {"resource_class": None}):
        assert class_of(spec(**given_name), "10de", "1eb8") == "CUSTOM_PCI_10DE_1EB8"


@pytest.mark.parametrize(
    ("asked", "name"),
    [("crypto", "CUSTOM_CRYPTO"), ("pgpu", "PGPU"), ("custom_foo", "CUSTOM_FOO"), ("A--b", "CUSTOM_A_B")],
)
def test_s118_a_configured_pci_class_becomes_a_placement_name(asked, name):
    """If device_spec has resource_class "crypto", the agent uses the name CUSTOM_CRYPTO in Placement."""
    assert class_of(spec(resource_class=asked), "10de", "1eb8") == name


def test_s119_traits_in_device_spec_become_placement_traits():
    """The trait "to-the-moon" in device_spec becomes CUSTOM_TO_THE_MOON in Placement."""
    asked = spec(traits="HW_NIC_SRIOV,to-the-moon,custom_x,hw_nic_sriov")
    assert traits_of(asked) == {
        "HW_NIC_SRIOV",
        "CUSTOM_TO_THE_MOON",
        "CUSTOM_X",
        "CUSTOM_HW_NIC_SRIOV",
        MANAGED,
    }


def test_a_blank_before_a_trait_name_becomes_an_underscore():
    """The traits "A, B" in device_spec become CUSTOM_A and CUSTOM__B in Placement."""
    assert traits_of(spec(traits="A, B,,")) == {"CUSTOM_A", "CUSTOM__B", MANAGED}


@pytest.mark.parametrize(
    ("tags", "also"),
    [
        ({}, set()),
        ({"live_migratable": True}, {"HW_PCI_LIVE_MIGRATABLE"}),
        ({"live_migratable": False, "one_time_use": False}, set()),
        ({"one_time_use": "on"}, {"HW_PCI_ONE_TIME_USE"}),
    ],
)
def test_a_true_tag_in_device_spec_adds_a_trait(tags, also):
    """If device_spec has live_migratable = true, the device's provider gets the trait HW_PCI_LIVE_MIGRATABLE."""
    assert traits_of(spec(**tags)) == {MANAGED} | also


@given(st.text(min_size=1, max_size=20))
def test_a_configured_resource_class_gets_a_valid_name(text):
    """From a device's option resource_class without CUSTOM_, the agent makes a class name that Placement accepts."""
    name = class_of(spec(resource_class=text), "10de", "1eb8")
    if not text.upper().startswith("CUSTOM_"):
        assert is_valid_name(name)
        assert re.fullmatch(r"[A-Z][A-Z0-9_]*", name)


@pytest.mark.parametrize(
    "name", ["CUSTOM_", "CUSTOM_a", "CUSTOM_A-B", "CUSTOM_Ä", "CUSTOM_A\n", "FOO", "", "CUSTOM_" + "A" * 249]
)
def test_a_name_that_placement_refuses_is_invalid(name):
    """The agent recognises names of resource classes that Placement would refuse, such as CUSTOM_a or FOO."""
    assert not is_valid_name(name)
