"""Scenario 101, as far as the configuration files decide it: which device makes which type."""

import pytest

from agent.config.build import notices
from agent.config.load import load
from agent.config.options.devices import mdev_types
from agent.config.reading.host_checks import host_problems
from agent.errors import ConfigError
from agent.model.settings import MdevTypeChoice
from tests.rigs.configs import ALONE, load_beside_nova, load_ours, write

TWO = """\
[devices]
enabled_mdev_types = nvidia-11, nvidia-12
[mdev_nvidia-11]
device_addresses = 0000:06:00.0
max_instances = 2
[mdev_nvidia-12]
device_addresses = 0000:07:00.0,0000:0A:00.0
mdev_class = CUSTOM_BIG_GPU
"""


def loaded_with(tmp_path, text):
    return load_ours(tmp_path, ALONE + text)


def test_s101_mdev_types_have_their_own_options(tmp_path):
    """Each type in enabled_mdev_types takes its addresses, class and limit from its own section [mdev_TYPE]."""
    expected = (
        MdevTypeChoice(type_id="nvidia-11", addresses=("0000:06:00.0",), max_instances=2),
        MdevTypeChoice(
            type_id="nvidia-12", addresses=("0000:07:00.0", "0000:0a:00.0"), resource_class="CUSTOM_BIG_GPU"
        ),
    )
    assert mdev_types(loaded_with(tmp_path, TWO)) == expected
    assert mdev_types(load_beside_nova(tmp_path, "", TWO)) == expected


def test_mdev_options_of_both_files_are_combined(tmp_path):
    """The sections [mdev_a] of nova.conf and stocktake.conf together set the options of mdev type `a`."""
    nova = "[devices]\nenabled_mdev_types = a,b\n[mdev_a]\nmax_instances = 7\n"
    ours = "[mdev_a]\ndevice_addresses = 0000:01:00.0\n"
    (first, _) = mdev_types(load_beside_nova(tmp_path, ours, nova))
    assert (first.addresses, first.max_instances) == (("0000:01:00.0",), 7)


def test_vgpu_types_are_read_from_deprecated_options(tmp_path):
    """The agent still reads enabled_vgpu_types and the sections [vgpu_TYPE], which nova has deprecated."""
    text = "[devices]\nenabled_vgpu_types = i915-GVTg_V5_4\n[vgpu_i915-GVTg_V5_4]\ndevice_addresses = 0000:00:02.0\n"
    assert mdev_types(loaded_with(tmp_path, text)) == (
        MdevTypeChoice(type_id="i915-GVTg_V5_4", addresses=("0000:00:02.0",)),
    )


def test_only_one_mdev_type_may_omit_its_addresses(tmp_path):
    """If a second type omits device_addresses, the agent ignores the second type and warns the operator."""
    text = "[devices]\nenabled_mdev_types = a,b,c\n[mdev_b]\ndevice_addresses = 0000:01:00.0\n"
    loaded = loaded_with(tmp_path, text)
    assert [(one.type_id, one.addresses) for one in mdev_types(loaded)] == [("a", ()), ("b", ("0000:01:00.0",))]
    (notice,) = notices(loaded)
    quoted = f"{tmp_path}/stocktake.conf: [devices] enabled_mdev_types = a,b,c"
    assert notice == f"{quoted}: c is ignored: only one type may omit device_addresses, and a already omits them"


def test_mdev_class_has_no_effect_without_device_addresses(tmp_path):
    """An mdev type without device_addresses has the class VGPU, and a notice says that mdev_class is ignored."""
    loaded = loaded_with(tmp_path, "[devices]\nenabled_mdev_types = a\n[mdev_a]\nmdev_class = CUSTOM_X\n")
    assert mdev_types(loaded)[0].resource_class == "VGPU"
    (notice,) = notices(loaded)
    assert notice.startswith(f"{tmp_path}/stocktake.conf: [mdev_a] mdev_class = CUSTOM_X: has no effect")


@pytest.mark.parametrize(
    ("addresses_a", "addresses_b", "said"),
    [
        (
            "0000:01:00.0",
            "0000:01:00.0",
            "[mdev_b] device_addresses = 0000:01:00.0: 0000:01:00.0 already belongs to type a",
        ),
        (
            "0000:0a:00.0",
            "0000:0A:00.0",
            "[mdev_b] device_addresses = 0000:0A:00.0: 0000:0a:00.0 already belongs to type a",
        ),
        (
            "0000:01:00.0,0000:01:00.0",
            "0000:02:00.0",
            "[mdev_a] device_addresses = 0000:01:00.0,0000:01:00.0: 0000:01:00.0 is named twice",
        ),
    ],
)
def test_a_repeated_mdev_device_address_is_rejected(tmp_path, addresses_a, addresses_b, said):
    """A device address may appear only once in the options device_addresses of all mdev types."""
    text = f"[devices]\nenabled_mdev_types = a,b\n[mdev_a]\ndevice_addresses = {addresses_a}\n"
    with pytest.raises(ConfigError) as caught:
        mdev_types(loaded_with(tmp_path, text + f"[mdev_b]\ndevice_addresses = {addresses_b}\n"))
    assert caught.value.problems == (f"{tmp_path}/stocktake.conf: {said}",)


@pytest.mark.parametrize("name", ["vgpu", "CUSTOM_", "CUSTOM_x", "PCI_DEVICE", "CUSTOM_A-B", "CUSTOM_" + "A" * 249])
def test_an_invalid_mdev_class_is_rejected(tmp_path, name):
    """The option mdev_class must be VGPU or a valid custom resource class."""
    path = write(
        tmp_path, "stocktake.conf", f"{ALONE}[devices]\nenabled_mdev_types = a\n[mdev_a]\nmdev_class = {name}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load([path])
    (problem,) = caught.value.problems
    assert problem == (
        f"{path}: [mdev_a] mdev_class = {name}: "
        "must be VGPU, or CUSTOM_ and then A-Z, 0-9 and _ only, 255 characters at most"
    )


def test_a_non_pci_mdev_device_must_exist_in_sysfs(tmp_path):
    """An mdev device without a PCI address, such as `mtty_mtty`, is rejected if it is not in sysfs."""
    loaded = loaded_with(
        tmp_path, "[devices]\nenabled_mdev_types = mtty-1\n[mdev_mtty-1]\ndevice_addresses = mtty_mtty,0000:01:00.0\n"
    )
    (problem,) = host_problems(loaded, str(tmp_path))
    path = tmp_path / "devices/virtual/mtty/mtty"
    quoted = f"{tmp_path}/stocktake.conf: [mdev_mtty-1] device_addresses = mtty_mtty,0000:01:00.0"
    assert problem == f"{quoted}: 'mtty_mtty' is not a PCI address (dddd:bb:ss.f), and there is no device {path}"
    path.mkdir(parents=True)
    assert host_problems(loaded, str(tmp_path)) == ()


@pytest.mark.parametrize("address", ["0000:01:00", "01:00.0", "0000:01:00.00", "0000:0g:00.0", "0000_01_00_0"])
def test_a_malformed_mdev_device_address_is_rejected(tmp_path, address):
    """The agent rejects an incomplete or misspelt PCI address in device_addresses, such as `01:00.0`."""
    loaded = loaded_with(tmp_path, f"[devices]\nenabled_mdev_types = a\n[mdev_a]\ndevice_addresses = {address}\n")
    (problem,) = host_problems(loaded)
    assert f"[mdev_a] device_addresses = {address}: {address!r} is not a PCI address" in problem
