"""Configuration groups whose names are values of another option."""

import pytest

from agent.config.load import load
from agent.config.reload import needs_restart, reload
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_beside_nova, load_ours, write


def problems_of(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        load([write(tmp_path, "stocktake.conf", ALONE + text)])
    return [problem.removeprefix(f"{tmp_path}/stocktake.conf: ") for problem in caught.value.problems]


TYPES = "[devices]\nenabled_mdev_types = nvidia-35,nvidia-36\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            TYPES + "[mdev_nvidia-37]\nmax_instances = 1\n",
            "unknown group [mdev_nvidia-37]: nvidia-37 is not in [devices] enabled_mdev_types; "
            "the nearest name is [mdev_nvidia-36]",
        ),
        (
            TYPES + "[vgpu_nvidia35]\ndevice_addresses = 0000:01:00.0\n",
            "unknown group [vgpu_nvidia35]: nvidia35 is not in [devices] enabled_mdev_types; "
            "the nearest name is [vgpu_nvidia-35]",
        ),
        (
            "[mdev_nvidia-35]\n",
            "unknown group [mdev_nvidia-35]: nvidia-35 is not in [devices] enabled_mdev_types",
        ),
        (
            "[neutron]\nphysnets = foo\n[neutron_physnet_fooo]\nnuma_nodes = 1\n",
            "unknown group [neutron_physnet_fooo]: fooo is not in [neutron] physnets; "
            "the nearest name is [neutron_physnet_foo]",
        ),
        (
            TYPES + "[mdev_nvidia-35]\ndevice_adresses = 0000:01:00.0\n",
            "unknown option [mdev_nvidia-35] device_adresses: the nearest name is device_addresses",
        ),
    ],
)
def test_a_group_for_an_unlisted_name_is_rejected(tmp_path, text, problem):
    """In stocktake.conf, the group [mdev_X] is rejected if X is not in enabled_mdev_types."""
    assert problems_of(tmp_path, text) == [problem]


def test_an_unlisted_group_of_nova_conf_is_ignored(tmp_path):
    """The agent ignores the group [mdev_X] in nova.conf if X is not in enabled_mdev_types."""
    nova = TYPES + "[mdev_nvidia-99]\nmax_instances = none\n[neutron_physnet_x]\nnuma_nodes = x\n"
    loaded = load_beside_nova(tmp_path, "", nova)
    assert loaded.listed("devices", "enabled_mdev_types") == ("nvidia-35", "nvidia-36")
    assert loaded.value("mdev_nvidia-35", "max_instances") is None
    assert {group for group, _ in loaded.options if group.startswith("mdev")} == {"mdev_nvidia-35", "mdev_nvidia-36"}


def test_the_listing_shows_the_file_of_each_mdev_option(tmp_path):
    """The configuration listing shows which file has set each option of a mediated device type."""
    nova = TYPES + "[mdev_nvidia-35]\nmax_instances = 3\n"
    loaded = load_beside_nova(tmp_path, "[mdev_nvidia-36]\nmax_instances = 4\n", nova)
    rows = {(row.group, row.option): row for row in loaded.rows()}
    assert rows["mdev_nvidia-35", "max_instances"][2:] == ("3", str(tmp_path / "nova.conf"))
    assert rows["mdev_nvidia-36", "max_instances"][2:] == ("4", str(tmp_path / "stocktake.conf"))
    assert rows["mdev_nvidia-36", "mdev_class"][2:] == ("VGPU", "default")


def test_stocktake_conf_replaces_physnets_of_nova_conf(tmp_path):
    """If stocktake.conf sets [neutron] physnets, the agent ignores the list in nova.conf."""
    loaded = load_beside_nova(tmp_path, "[neutron]\nphysnets = own\n", "[neutron]\nphysnets = theirs\n")
    groups = {group for group, _ in loaded.options}
    assert "neutron_physnet_own" in groups
    assert "neutron_physnet_theirs" not in groups


def test_a_dollar_reference_in_an_mdev_group_is_resolved(tmp_path):
    """`$card` in a group [mdev_a] of nova.conf is replaced by the value of the option `card`."""
    nova = "[DEFAULT]\ncard = 0000:06:00.0\n[devices]\nenabled_mdev_types = a\n[mdev_a]\ndevice_addresses = $card\n"
    assert load_beside_nova(tmp_path, "", nova).listed("mdev_a", "device_addresses") == ("0000:06:00.0",)


def test_an_undefined_reference_is_reported_once(tmp_path):
    """A reference to an undefined option, such as `$nowhere`, causes exactly one error."""
    (problem,) = problems_of(tmp_path, "[devices]\nenabled_mdev_types = $nowhere\n")
    assert problem.startswith("[devices] enabled_mdev_types = $nowhere: ")


def test_a_new_mdev_type_needs_a_restart(tmp_path):
    """After a reload, a new enabled_mdev_types in stocktake.conf has no effect until the agent is restarted."""
    running = load_ours(tmp_path, ALONE + TYPES)
    write(tmp_path, "stocktake.conf", f"{ALONE}[devices]\nenabled_mdev_types = b\n[mdev_b]\nmax_instances = 2\n")
    reloaded = reload(running)
    assert reloaded.listed("devices", "enabled_mdev_types") == ("nvidia-35", "nvidia-36")
    assert "[devices] enabled_mdev_types" in needs_restart(running, reloaded)
    assert "[mdev_b] max_instances" in needs_restart(running, reloaded)
