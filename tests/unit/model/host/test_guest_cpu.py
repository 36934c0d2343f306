"""The CPU models that guests get: as nova 34 chooses them in each mode."""

from __future__ import annotations

import pytest

from agent.model.host.guest_cpu import models_of, takes_a_model
from agent.model.settings import GuestCpu

CHOSEN = ("Westmere", "EPYC")
CASES = [
    ("none", (), "x86_64", ("qemu64",)),
    ("none", (), "i686", ("qemu32",)),
    ("none", (), "ppc64le", ("POWER8",)),
    ("none", (), "aarch64", ("max",)),
    ("none", (), "s390x", ()),
    ("none", (), "riscv64", ()),
    ("none", (), "", ()),
    ("custom", CHOSEN, "x86_64", CHOSEN),
    ("custom", CHOSEN, "aarch64", CHOSEN),
    ("custom", (), "aarch64", ("max",)),
    ("custom", (), "x86_64", ()),
    ("host-model", (), "x86_64", ()),
    ("host-passthrough", (), "aarch64", ()),
    (None, (), "x86_64", ()),
    (None, (), "aarch64", ()),
]


@pytest.mark.parametrize(("mode", "models", "arch", "expected"), CASES)
@pytest.mark.parametrize("virt_type", ["kvm", "qemu"])
def test_cpu_mode_and_architecture_decide_the_cpu_models(mode, models, arch, expected, virt_type):
    """The agent derives the guests' CPU models from cpu_mode, cpu_models and the host's architecture.

    For example, cpu_mode none on an aarch64 host leads to the model max.
    """
    assert models_of(GuestCpu(mode=mode, models=models), arch, virt_type) == expected


@pytest.mark.parametrize("virt_type", ["lxc", "parallels"])
def test_a_container_has_no_cpu_model(virt_type):
    """With virt_type lxc or parallels, the agent expects no CPU model for guests, even if cpu_models is set."""
    assert not takes_a_model(virt_type)
    assert models_of(GuestCpu(mode="none"), "x86_64", virt_type) == ()
    assert models_of(GuestCpu(mode="custom", models=CHOSEN), "x86_64", virt_type) == ()
