"""Which architectures run here, as traits."""

from __future__ import annotations

import pytest

from agent.model.snapshot import LIBVIRT
from agent.traits import architecture
from agent.traits.base import Wish
from tests.rigs.capabilities import capable, emulator, world
from tests.rigs.facts import settings, snapshot

X86 = (emulator("i686", "pc"), emulator("x86_64", "pc"), emulator("x86_64", "q35"))
HOSTS = {
    "x86_64, which os-traits has as an emulated one too": (
        capable(*X86),
        {"HW_ARCH_X86_64", "COMPUTE_ARCH_X86_64"},
    ),
    "emulating others": (
        capable(*X86, emulator("aarch64", "virt"), emulator("s390x"), emulator("riscv64"), emulator("mipsel")),
        {
            "HW_ARCH_X86_64",
            "COMPUTE_ARCH_X86_64",
            "COMPUTE_ARCH_AARCH64",
            "COMPUTE_ARCH_S390X",
            "COMPUTE_ARCH_RISCV64",
            "COMPUTE_ARCH_MIPSEL",
        },
    ),
    "ppc64le": (
        capable(emulator("ppc64le", "pseries"), arch="ppc64le"),
        {"HW_ARCH_PPC64LE", "COMPUTE_ARCH_PPC64LE"},
    ),
    # os-traits has ARMV7; libvirt says armv7l, and nova-compute does not translate it.
    "a name that os-traits does not have": (capable(emulator("armv7l"), arch="armv7l"), set()),
    "no emulator is known": (capable(domain=None, arch="aarch64"), {"HW_ARCH_AARCH64"}),
    "no emulator runs": (capable(arch="s390x"), {"HW_ARCH_S390X"}),
    "no architecture": (capable(emulator("x86_64"), arch=""), {"COMPUTE_ARCH_X86_64"}),
}


@pytest.mark.parametrize(("capabilities", "expected"), HOSTS.values(), ids=HOSTS.keys())
def test_the_traits_of_supported_architectures_are_set(capabilities, expected):
    """The agent sets the trait of each CPU architecture that libvirt supports. It removes no architecture trait."""
    assert architecture.wish(world(capabilities), settings()) == Wish(wanted=frozenset(expected))


@pytest.mark.parametrize("facts", [world(None), snapshot(lost=[LIBVIRT])])
def test_architecture_traits_stay_if_capabilities_are_unknown(facts):
    """The agent leaves the architecture traits unchanged if libvirt's capabilities could not be read."""
    assert architecture.wish(facts, settings()) == Wish()
