"""Entries of [pci] device_spec that are valid but hardly intended."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.options.device_spec import earlier_twin, oddities, parse_device_specs

#: Every key that has a meaning for nova-compute, with a valid value.
NOVA = {
    "vendor_id": "10de",
    "product_id": "1eb8",
    "address": "81:00.0",
    "physical_network": None,
    "trusted": "true",
    "remote_managed": "false",
    "managed": "true",
    "live_migratable": "true",
    "one_time_use": "true",
    "resource_class": "CUSTOM_T4",
    "traits": "CUSTOM_A",
}


def one(**fields):
    (spec,) = parse_device_specs([json.dumps(fields)])
    return spec


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"vendor_id": "*", "product_id": "*"},
        {"address": "*:*:*.*"},
        {"address": {"bus": ".*"}},
        {"physical_network": "net", "devname": ""},
    ],
)
def test_a_device_spec_for_every_device_causes_a_notice(fields):
    """A [pci] device_spec entry without a filter offers all PCI devices of the host; the agent warns about it."""
    (odd,) = oddities(one(**fields))
    assert odd.startswith("offers guests every PCI device of the host")


@pytest.mark.parametrize(
    "fields",
    [{"vendor_id": "10de"}, {"product_id": "1eb8"}, {"address": "81:"}, {"devname": "eth1"}, {"remote_managed": "1"}],
)
def test_a_device_spec_with_a_filter_causes_no_notice(fields):
    """A [pci] device_spec entry with a filter, such as vendor_id or address, causes no notice."""
    assert list(oddities(one(**fields))) == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("vendor", "vendor_id"),
        ("Vendor-ID", "vendor_id"),
        ("product", "product_id"),
        ("adress", "address"),
        ("dev_name", "devname"),
        ("physical_networks", "physical_network"),
        ("physnet", "physical_network"),
        ("trust", "trusted"),
        ("remote_manged", "remote_managed"),
        ("live_migrateable", "live_migratable"),
        ("one_time", "one_time_use"),
        ("resource-class", "resource_class"),
        ("trait", "traits"),
    ],
)
def test_a_misspelt_device_spec_key_causes_a_notice(name, nearest):
    """The agent's notice about a misspelt key in [pci] device_spec suggests the nearest valid key."""
    (odd,) = oddities(one(vendor_id="10de", **{name: "1"}))
    assert odd == f"unknown key {name!r}, which nova ignores, so this key selects no devices; did you mean {nearest}?"


@pytest.mark.parametrize("name", ["x-rack", "x-owner", "comment", "location", "slot_label", "", "ü"])
def test_an_extra_device_spec_key_is_accepted_silently(name):
    """A [pci] device_spec key that resembles no key of nova, such as `comment`, causes no notice."""
    assert list(oddities(one(vendor_id="10de", **{name: "1"}))) == []


def test_valid_device_spec_keys_cause_no_notice():
    assert list(oddities(one(**NOVA))) == []


def test_traits_with_a_physical_network_cause_a_notice():
    """Traits have no effect on a PCI device with a physical_network; the agent's notice says so."""
    (odd,) = oddities(one(vendor_id="10de", physical_network="net", traits="A", resource_class="B"))
    assert odd.startswith("resource_class and traits have no effect, because a device with a physical_network")
    (odd,) = oddities(one(vendor_id="10de", physical_network="net", traits="A"))
    assert odd.startswith("traits has no effect")
    # A device without a network is published in Placement, so traits have an effect.
    assert list(oddities(one(vendor_id="10de", physical_network=None, traits="A"))) == []


def test_two_device_specs_with_the_same_filter_are_found():
    """The agent finds two [pci] device_spec entries with the same filter even if it is written in two ways."""
    first, other = one(vendor_id="10DE", address="81:00.0"), one(vendor_id="10de", address="81:00.1")
    again = one(address="*:81:00.0", vendor_id="0x10de", traits="A")
    assert earlier_twin(again, (other, first)) is first
    assert earlier_twin(again, (other,)) is None
    assert earlier_twin(one(vendor_id="10de", remote_managed="yes"), (one(vendor_id="10de"),)) is None


@given(st.dictionaries(st.text(max_size=12).filter(lambda name: name not in NOVA | {"devname": 1}), st.text()))
def test_each_device_spec_notice_has_a_text(tags):
    """An entry of [pci] device_spec has keys that nova does not know.

    Each of the agent's notices about it has a text.
    """
    for odd in oddities(one(**tags)):
        assert odd.split(": ")[0].strip()
