"""The minimum version check: each version that is given must be reached."""

from __future__ import annotations

import pytest

from agent.traits.versions import as_integer, at_least
from tests.rigs.facts import host

ASKED = {
    "nothing asked": ({}, True),
    "the same libvirt": ({"libvirt": (10, 4, 0)}, True),
    "an older libvirt": ({"libvirt": (10, 3, 99)}, True),
    "a newer libvirt, by its last part": ({"libvirt": (10, 4, 1)}, False),
    "a newer libvirt, by its middle part": ({"libvirt": (10, 5, 0)}, False),
    "10 is more than 9": ({"libvirt": (9, 10, 0)}, True),
    "the same QEMU": ({"qemu": (8, 2, 2)}, True),
    "a newer QEMU": ({"qemu": (8, 2, 3)}, False),
    "both": ({"libvirt": (10, 4, 0), "qemu": (8, 2, 2)}, True),
    "libvirt holds, QEMU does not": ({"libvirt": (10, 4, 0), "qemu": (9, 0, 0)}, False),
    "QEMU holds, libvirt does not": ({"libvirt": (11, 0, 0), "qemu": (8, 2, 2)}, False),
    "the driver": ({"driver": "QEMU"}, True),
    "another driver": ({"libvirt": (10, 4, 0), "driver": "LXC"}, False),
}


@pytest.mark.parametrize(("asked", "expected"), ASKED.values(), ids=ASKED.keys())
def test_a_version_check_compares_libvirt_qemu_and_the_driver(asked, expected):
    """A version check passes only if libvirt and QEMU are new enough and the hypervisor driver is the right one."""
    facts = host(driver="QEMU", libvirt_version=10004000, hypervisor_version=8002002)
    assert at_least(facts, **asked) is expected


def test_a_version_is_converted_to_libvirts_integer_format():
    """The version 10.4.0 becomes the number 10004000, because libvirt reports versions in this form."""
    assert (as_integer((10, 4, 0)), as_integer((8, 2, 2)), as_integer((0, 0, 7))) == (10004000, 8002002, 7)
