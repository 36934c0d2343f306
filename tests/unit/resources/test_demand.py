"""What a flavor requests from Placement, as nova's scheduler translates it."""

from __future__ import annotations

import dataclasses

import pytest

from agent.resources.demand import demand
from tests.rigs.facts import FLAVOR_B

FOUR = dataclasses.replace(FLAVOR_B, vcpus=4)
DEDICATED = ("hw:cpu_policy", "dedicated")
MIXED = ("hw:cpu_policy", "mixed")
ISOLATE = ("hw:emulator_threads_policy", "isolate")


def cpus_of(*specs):
    wanted = demand(dataclasses.replace(FOUR, extra_specs=specs), boots_from_volume=False)
    return {name: amount for name, amount in wanted.items() if "CPU" in name}


CPUS = {
    "floating": ((), {"VCPU": 4}),
    "shared by name": ((("hw:cpu_policy", "shared"),), {"VCPU": 4}),
    "dedicated": ((DEDICATED,), {"PCPU": 4}),
    "dedicated, emulator apart": ((DEDICATED, ISOLATE), {"PCPU": 5}),
    "floating, emulator apart": ((ISOLATE,), {"VCPU": 4}),
    "mixed": ((MIXED, ("hw:cpu_dedicated_mask", "0-1")), {"PCPU": 2, "VCPU": 2}),
    "mixed, all but one": ((MIXED, ("hw:cpu_dedicated_mask", "^0")), {"PCPU": 3, "VCPU": 1}),
    "mixed, emulator apart": ((MIXED, ISOLATE, ("hw:cpu_dedicated_mask", "3")), {"PCPU": 2, "VCPU": 3}),
    "mixed by the real-time mask": ((MIXED, ("hw:cpu_realtime_mask", "^0-1")), {"PCPU": 2, "VCPU": 2}),
    "mixed, mask beyond the guest": ((MIXED, ("hw:cpu_dedicated_mask", "3-9")), {"PCPU": 1, "VCPU": 3}),
    "mixed, mask that is no mask": ((MIXED, ("hw:cpu_dedicated_mask", "a-b")), {"VCPU": 4}),
    "overridden": ((("resources:VCPU", "1"),), {"VCPU": 1}),
    "taken away": ((("resources:VCPU", "0"),), {}),
    "a digit that is not a number": ((("resources:VCPU", "\u00b2"),), {"VCPU": 4}),
    "by a group of its own": ((("resources1:VCPU", "1"),), {"VCPU": 1}),
    "by several groups": ((("resources:VCPU", "1"), ("resources_a:VCPU", "2")), {"VCPU": 3}),
    "dedicated by name": ((("resources:PCPU", "4"),), {"PCPU": 4}),
}


@pytest.mark.parametrize(("specs", "expected"), CPUS.values(), ids=CPUS.keys())
def test_extra_specs_choose_between_vcpu_and_pcpu(specs, expected):
    """From a flavor's extra specs, the agent computes the same VCPU and PCPU as nova's scheduler."""
    assert cpus_of(*specs) == expected


@pytest.mark.parametrize(
    ("changes", "boots_from_volume", "disk"),
    [
        ({}, False, 5),
        ({}, True, None),
        ({"ephemeral_gib": 10}, True, 10),
        ({"swap_mib": 1}, False, 6),
        ({"swap_mib": 1024}, False, 6),
        ({"swap_mib": 1025}, False, 7),
        ({"root_gib": 0}, False, None),
    ],
    ids=["root", "root on a volume", "ephemeral stays local", "1 MiB swap", "1 GiB swap", "a little more", "no disk"],
)
def test_the_disks_of_a_flavor_are_rounded_up_to_whole_gib(changes, boots_from_volume, disk):
    """The sum of a flavor's root, ephemeral and swap disks is rounded up to whole GiB for DISK_GB."""
    wanted = demand(dataclasses.replace(FLAVOR_B, **changes), boots_from_volume=boots_from_volume)
    assert wanted.get("DISK_GB") == disk


def test_a_flavor_can_request_a_custom_resource_class():
    """For an extra spec such as resources:CUSTOM_GOLD, the agent counts the custom class in the flavor's request."""
    flavor = dataclasses.replace(FLAVOR_B, extra_specs=(("resources:CUSTOM_GOLD", "3"), ("trait:CUSTOM_T", "required")))
    assert demand(flavor, boots_from_volume=False) == {"CUSTOM_GOLD": 3, "DISK_GB": 5, "MEMORY_MB": 256, "VCPU": 2}


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ((("resources:VGPU", "1"),), {"VGPU": 1}),
        ((("resources1:VGPU", "1"), ("resources2:VGPU", "1"), ("group_policy", "isolate")), {"VGPU": 2}),
        ((("resources_gpu:CUSTOM_NVIDIA_11", "1"),), {"CUSTOM_NVIDIA_11": 1}),
        ((("hw:mem_encryption", "True"),), {"MEM_ENCRYPTION_CONTEXT": 1}),
        ((("hw:mem_encryption", "0"),), {}),
        ((("hw:pmem", "4GB, small,small"),), {"CUSTOM_PMEM_NAMESPACE_4GB": 1, "CUSTOM_PMEM_NAMESPACE_SMALL": 2}),
        ((("resources!:VGPU", "1"), ("trait1:VGPU", "required"), ("resources:VGPU", "one")), {}),
    ],
)
def test_a_flavor_can_request_vgpus_pmem_and_encryption(specs, expected):
    """A flavor's extra specs can request VGPUs, persistent memory and memory encryption."""
    wanted = demand(dataclasses.replace(FLAVOR_B, extra_specs=specs), boots_from_volume=False)
    assert wanted == {**expected, "DISK_GB": 5, "MEMORY_MB": 256, "VCPU": 2}
