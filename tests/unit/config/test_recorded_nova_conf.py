"""The agent reads each nova.conf of the nova-compute recordings unchanged."""

import pytest

from agent.config.build import settings_from
from agent.config.load import load
from tests.rigs.configs import write
from tests.rigs.source_tree import ROOT

RECORDED = sorted(path.parent.name for path in (ROOT / "tests/golden/reference").glob("*/nova.conf"))


def settings_of(tmp_path, name):
    nova = ROOT / "tests/golden/reference" / name / "nova.conf"
    return settings_from(load([write(tmp_path, "stocktake.conf", f"[agent]\nnova_conf = {nova}\n")]))


@pytest.mark.parametrize("name", RECORDED)
def test_the_agent_accepts_every_recorded_nova_conf(tmp_path, name):
    """The agent accepts, unchanged, each nova.conf file that was recorded from a real nova-compute."""
    settings = settings_of(tmp_path, name)
    assert settings.host == "cmp1.example.org"
    assert settings.instances_path == "/var/lib/nova/instances"


def test_the_agent_reads_its_settings_from_recorded_nova_conf(tmp_path):
    """The agent takes settings such as virt_type and cpu_mode from nova.conf files of a real nova-compute."""
    assert settings_of(tmp_path, "huge_pages").reserved_huge_pages[0].count == 8
    assert len(settings_of(tmp_path, "pci_tagged").pci.specs) == 2
    assert settings_of(tmp_path, "virt_type_qemu").virt_type == "qemu"
    assert settings_of(tmp_path, "cpu_mode_none").guest_cpu.mode == "none"
    assert settings_of(tmp_path, "lvm_images_not_raw").force_raw_images is False
    assert settings_of(tmp_path, "image_cache_reserved").reserve_image_cache is True
