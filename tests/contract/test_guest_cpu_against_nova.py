"""Default CPU models: the agent's compared with nova's own function, on every architecture that nova knows."""

from __future__ import annotations

import json
import subprocess

import libvirt
import pytest

from agent.model.host.guest_cpu import models_of
from agent.model.settings import GuestCpu
from tests.rigs.nova_env import nova_python

NOVA_SIDE = """
import json
from nova.objects import fields
from nova.virt.libvirt import utils
print(json.dumps({arch: utils.get_cpu_model_from_arch(arch) for arch in fields.Architecture.ALL}))
"""


@pytest.fixture(scope="module")
def nova_models():
    done = subprocess.run(
        [str(nova_python()), "-c", NOVA_SIDE], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def flags(connection, arch, model):
    """Return the number of features, as nova asks libvirt for them; None if libvirt has no such model."""
    question = f"<cpu><arch>{arch}</arch><model>{model}</model></cpu>"
    try:
        return connection.baselineCPU([question], libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES).count("<feature")
    except libvirt.libvirtError:
        return None


def test_the_default_cpu_models_equal_those_of_nova(nova_models):
    """The agent uses the same default CPU model as nova on each architecture, if libvirt knows the model."""
    connection = libvirt.open("test:///default")
    try:
        answers = {arch: flags(connection, arch, model) for arch, model in nova_models.items()}
    finally:
        connection.close()
    assert answers["x86_64"]
    for arch, model in nova_models.items():
        ours = models_of(GuestCpu(mode="none"), arch, "kvm")
        assert ours == (model,) or (ours == () and not answers[arch]), arch
