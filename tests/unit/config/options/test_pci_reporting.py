"""PCI devices that cannot be reported in Placement, as far as the configuration files show it."""

from __future__ import annotations

import dataclasses
import json

from agent.config.options.device_spec import parse_device_specs
from agent.config.options.pci import placement_problems
from agent.model.host.device_spec import PciSettings


def one(**fields):
    (spec,) = parse_device_specs([json.dumps(fields)])
    return spec


def reported(*specs) -> tuple[str, ...]:
    return placement_problems(PciSettings(specs=specs, report_in_placement=True))


def test_s120_devname_is_rejected_with_report_in_placement():
    """With [pci] report_in_placement = true, a device_spec entry with devname is rejected."""
    (problem,) = reported(one(devname="eth0"), one(vendor_id="10de"))
    assert problem.startswith('{"devname": "eth0"}: devname cannot be used with [pci] report_in_placement')
    assert placement_problems(PciSettings(specs=(one(devname="eth0"),))) == ()


def test_one_time_use_is_rejected_without_report_in_placement():
    """A device_spec entry has one_time_use = true.

    The agent accepts the entry only if [pci] report_in_placement is true.
    """
    used_once = one(vendor_id="10de", one_time_use=True)
    (problem,) = placement_problems(PciSettings(specs=(used_once, one(one_time_use=False))))
    assert problem == f"{used_once.text}: one_time_use needs [pci] report_in_placement = true"
    assert reported(used_once) == ()


def test_an_invalid_class_or_trait_in_device_spec_is_reported():
    """The agent reports a resource class or trait in device_spec that Placement would refuse."""
    assert reported(one(resource_class="a" * 248), one(traits="x" * 248), one(traits="HW_NIC_SRIOV,,x")) == ()
    for bad in (one(resource_class="a" * 249), one(resource_class="custom_a-b"), one(traits="CUSTOM_")):
        (problem,) = reported(bad)
        assert "which Placement refuses" in problem
        network = dataclasses.replace(bad, tags=tuple(sorted((*bad.tags, ("physical_network", "net1")))))
        assert reported(network) == (), "a device of a network is not in Placement"
