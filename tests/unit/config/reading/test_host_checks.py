"""Checks that need the machine itself. For mediated devices see options/test_devices.py."""

import grp
import os
import pwd

import pytest

from agent.config.build import check
from agent.config.reading.host_checks import host_notices, host_problems
from tests.rigs.configs import ALONE, load_ours

USER = pwd.getpwuid(os.getuid()).pw_name
GROUP = grp.getgrgid(os.getgid()).gr_name


def loaded_with(tmp_path, text):
    return load_ours(tmp_path, ALONE + text)


def test_a_missing_swtpm_user_or_group_is_a_problem(tmp_path):
    """With swtpm_enabled = true, swtpm_user and swtpm_group must exist on the host."""
    text = "[libvirt]\nswtpm_enabled = true\nswtpm_user = nobody-at-all\nswtpm_group = nothing-at-all\n"
    path = f"{tmp_path}/stocktake.conf"
    needs = f"on this machine, and {path}: [libvirt] swtpm_enabled = true needs it"
    assert check(loaded_with(tmp_path, text)) == (
        f"{path}: [libvirt] swtpm_user = nobody-at-all: there is no such user {needs}",
        f"{path}: [libvirt] swtpm_group = nothing-at-all: there is no such group {needs}",
    )


def test_the_swtpm_user_is_checked_only_with_swtpm(tmp_path):
    """A swtpm_user that does not exist on the host is accepted if swtpm_enabled is not set."""
    text = f"[libvirt]\nswtpm_enabled = true\nswtpm_user = {USER}\nswtpm_group = {GROUP}\n"
    assert host_problems(loaded_with(tmp_path, text)) == ()
    assert host_problems(loaded_with(tmp_path, "[libvirt]\nswtpm_user = nobody-at-all\n")) == ()


@pytest.mark.parametrize("address", ["192.0.2.17", "2001:db8::1", "no.address.example"])
def test_a_wrong_my_ip_causes_a_notice(tmp_path, address):
    """The agent warns if no network interface of the host has the address in my_ip."""
    (notice,) = host_notices(loaded_with(tmp_path, f"[DEFAULT]\nmy_ip = {address}\n"))
    assert notice == (
        f"{tmp_path}/stocktake.conf: [DEFAULT] my_ip = {address}: no interface of this machine has this address"
    )


@pytest.mark.parametrize(
    ("capacity", "told"), [("tdx 31\n", True), ("tdx 40\n", False), ("sev 3\n", False), (None, False)]
)
def test_too_many_intel_tdx_guests_cause_a_notice(tmp_path, capacity, told):
    """The agent warns if num_intel_tdx_guests is above the number of guests that the kernel can encrypt."""
    sys_root = tmp_path / "sys"
    (sys_root / "fs/cgroup").mkdir(parents=True)
    if capacity:
        (sys_root / "fs/cgroup/misc.capacity").write_text(capacity)
    notice = (
        f"{tmp_path}/stocktake.conf: [libvirt] num_intel_tdx_guests = 40: the kernel has encryption keys for only "
        f"31 guests (see {sys_root}/fs/cgroup/misc.capacity)"
    )
    loaded = loaded_with(tmp_path, "[libvirt]\nnum_intel_tdx_guests = 40\n")
    assert host_notices(loaded, str(sys_root)) == ((notice,) if told else ())
    assert host_notices(loaded_with(tmp_path, ""), str(sys_root)) == ()


def test_a_right_or_unset_my_ip_causes_no_notice(tmp_path):
    """The agent prints no notice if a network interface has the address in my_ip, or if my_ip is not set."""
    assert host_notices(loaded_with(tmp_path, "[DEFAULT]\nmy_ip = 127.0.0.1\n")) == ()
    assert host_notices(loaded_with(tmp_path, "")) == ()
