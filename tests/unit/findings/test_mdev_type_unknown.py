"""mdev-type-unknown: an enabled type that no device of this host can make."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.host.devices import OddDevice
from agent.model.snapshot import LIBVIRT
from tests.rigs.facts import findings, host, settings, snapshot
from tests.rigs.nested import AT_06, AT_07, CARDS, GPU_06, card, mdev_type, mdevs, with_devices

CODE = "mdev-type-unknown"


def test_the_finding_lists_the_mdev_types_that_devices_offer():
    """If no device offers a type of enabled_mdev_types, the finding lists the types that the devices offer."""
    chosen = settings(mdev_types=(mdev_type("nvidia-11"), mdev_type("nvidia-99", resource_class="CUSTOM_BIG")))
    (found,) = findings(snapshot(libvirt=CARDS), CODE, chosen)
    assert (found.severity, found.resource_class, found.subject) == (Severity.ERROR, "CUSTOM_BIG", "nvidia-99")
    assert found.expected == ("a device that makes mediated devices of type nvidia-99 ([devices] enabled_mdev_types)")
    assert found.actual == "devices offer only these types: nvidia-11, nvidia-12"
    assert dict(found.facts) == {"mdev_type": "nvidia-99", "offered_types": "nvidia-11, nvidia-12"}


UNKNOWN = {
    "it is offered, but not by the device that it is bound to": (
        with_devices(card(GPU_06, nvidia_12=1), card("pci_0000_07_00_0", nvidia_11=1)),
        mdev_type("nvidia-11", AT_06),
        f"devices at {AT_06} offer only these types: nvidia-12",
    ),
    "no such device": (with_devices(), mdev_type("nvidia-11", AT_06), f"no device at {AT_06} makes mediated devices"),
    "no device at all": (with_devices(), mdev_type("nvidia-11"), "no device makes mediated devices"),
}


@pytest.mark.parametrize(("libvirt", "choice", "actual"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_the_finding_explains_why_an_mdev_type_is_unknown(libvirt, choice, actual):
    """If no device offers a configured mdev type, the finding says why, for example that there is no device."""
    (found,) = findings(snapshot(libvirt=libvirt), CODE, settings(mdev_types=(choice,)))
    assert found.actual == actual


KNOWN = {
    "offered": (snapshot(libvirt=CARDS), mdev_type("nvidia-11")),
    "offered where it is bound": (snapshot(libvirt=CARDS), mdev_type("nvidia-12", AT_07)),
    "offered by one of two": (
        snapshot(libvirt=with_devices(card(GPU_06, nvidia_11=1))),
        mdev_type("nvidia-11", AT_06, AT_07),
    ),
    "none is left, but some exist": (
        snapshot(libvirt=with_devices(made=mdevs(GPU_06, "nvidia-11"))),
        mdev_type("nvidia-11"),
    ),
    "devices were not listed": (snapshot(libvirt=host()), mdev_type("nvidia-11")),
    "libvirt was not read": (snapshot(libvirt=with_devices(), lost=[LIBVIRT]), mdev_type("nvidia-11")),
    "the device that it is for cannot be read": (
        snapshot(libvirt=with_devices(odd=(OddDevice(name=GPU_06, reason="?"),))),
        mdev_type("nvidia-11", AT_06),
    ),
}


@pytest.mark.parametrize(("world", "choice"), KNOWN.values(), ids=KNOWN.keys())
def test_no_finding_if_a_device_may_offer_the_mdev_type(world, choice):
    """A configured mdev type is not reported if one of its devices offers it or if the devices were not read."""
    assert findings(world, CODE, settings(mdev_types=(choice,))) == ()
