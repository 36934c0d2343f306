"""nova.conf beneath the agent's own files: which options the agent takes from it, and which it never takes."""

from pathlib import Path

import pytest

from agent.config.build import check, identity_files, settings_from
from agent.config.load import load
from agent.errors import ConfigError
from agent.host_files.identity import ComputeIdFiles
from tests.rigs.configs import ALONE, NOVA_CONF, load_beside_nova, load_ours, write

ASKED = "[state]\nsource = none\n"


def test_the_agent_takes_its_settings_from_nova_conf(tmp_path):
    """The agent reads the host name, CPU sets, ratios and Placement's login from nova.conf."""
    loaded = load_beside_nova(tmp_path, ASKED)
    settings = settings_from(loaded)
    assert check(loaded) == ()
    assert settings.host == "compute-17"
    assert settings.reserved_host_memory_mib == 4096
    assert settings.cpu_ratio.configured == 4.0
    assert settings.cpu_shared_set == tuple(range(4, 48))
    assert settings.disk_group == "guests"
    assert settings.volume_groups == ("guests",)
    assert loaded.value("placement", "auth_url") == "http://192.0.2.5/identity"
    assert loaded.value("placement", "project_domain_name") == "Default"
    assert loaded.origin("placement", "auth_url") == str(tmp_path / "nova.conf")


def test_stocktake_conf_overrides_nova_conf(tmp_path):
    """An option that stocktake.conf and nova.conf both set has the value from stocktake.conf."""
    loaded = load_beside_nova(
        tmp_path, ASKED + "[DEFAULT]\nreserved_host_memory_mb = 1\n[placement]\nusername = stocktake\n"
    )
    assert loaded.value("DEFAULT", "reserved_host_memory_mb") == 1
    assert loaded.value("placement", "username") == "stocktake"
    assert loaded.origin("placement", "username") == str(tmp_path / "stocktake.conf")
    assert loaded.value("placement", "project_name") == "service"


@pytest.mark.parametrize(
    ("option", "value"), [("debug", False), ("log_file", None), ("graceful_shutdown_timeout", 60), ("use_json", False)]
)
def test_logging_options_in_nova_conf_are_ignored(tmp_path, option, value):
    """The agent ignores nova.conf's options for logging and shutdown, such as debug and log_file."""
    nova = NOVA_CONF.replace("[DEFAULT]\n", "[DEFAULT]\nuse_json = true\n")
    loaded = load_beside_nova(tmp_path, ASKED, nova)
    assert loaded.value("DEFAULT", option) == value
    assert loaded.origin("DEFAULT", option) == "default"


def test_agent_options_in_nova_conf_are_ignored(tmp_path):
    """Options that only the agent has, such as [agent] role, have no effect in nova.conf."""
    nova = (
        NOVA_CONF + "consumer_reads = 99\n[agent]\nrole = observer\n[lvm]\nvolume_groups = x\n[state]\nsource = sql\n"
    )
    loaded = load_beside_nova(tmp_path, ASKED, nova)
    assert loaded.value("placement", "consumer_reads") == 20
    assert loaded.value("agent", "role") == "owner"
    assert loaded.value("lvm", "volume_groups") == []
    assert loaded.value("state", "source") == "none"


def test_instances_path_defaults_to_the_nova_state_path(tmp_path):
    """If instances_path is not set, the agent uses the folder `instances` in nova's state_path."""
    loaded = load_beside_nova(tmp_path, ASKED)
    assert settings_from(loaded).instances_path == "/srv/nova/instances"
    assert loaded.origin("DEFAULT", "instances_path") == str(tmp_path / "nova.conf")
    own = load_beside_nova(tmp_path, ASKED + "[DEFAULT]\ninstances_path = /mine\n")
    assert settings_from(own).instances_path == "/mine"
    set_by_nova = NOVA_CONF.replace("[DEFAULT]\n", "[DEFAULT]\ninstances_path = ${state_path}/guests\n")
    assert settings_from(load_beside_nova(tmp_path, ASKED, set_by_nova)).instances_path == "/srv/nova/guests"
    without = NOVA_CONF.replace("state_path = /srv/nova\n", "").replace("lock_path = $state_path/locks\n", "")
    assert settings_from(load_beside_nova(tmp_path, ASKED, without)).instances_path == "/var/lib/nova/instances"


def test_nova_conf_values_may_refer_to_unknown_options(tmp_path):
    """A value in nova.conf may refer to an option that the agent does not know, as in `$glance.api_servers`."""
    nova = NOVA_CONF.replace("host = compute-17", "host = node-$my_ip").replace(
        "auth_url = http://192.0.2.5/identity", "auth_url = $glance.api_servers/identity"
    )
    loaded = load_beside_nova(tmp_path, ASKED, nova)
    assert loaded.value("DEFAULT", "host") == "node-192.0.2.17"
    assert loaded.value("placement", "auth_url") == "http://192.0.2.5:9292/identity"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("pla$$cement", "pla$cement"), (r"pla\$cement", "pla$cement"), ("$$host", "$host"), ("a%sb", "a%sb")],
)
def test_an_escaped_dollar_sign_is_a_dollar_sign(tmp_path, written, meant):
    """In a password in nova.conf, `$$`, or a dollar sign after a backslash, means a single dollar sign."""
    nova = NOVA_CONF.replace("pla$$cement", written)
    assert load_beside_nova(tmp_path, ASKED, nova).value("placement", "password") == meant


def test_a_backslash_before_an_escaped_dollar_sign_remains(tmp_path):
    """In nova.conf, two backslashes and a dollar sign mean one backslash and one dollar sign."""
    # In a file \\$ is a backslash and an escaped dollar.
    nova = NOVA_CONF.replace("pla$$cement", r"a\\$host")
    assert load_beside_nova(tmp_path, ASKED, nova).value("placement", "password") == r"a\$host"


def test_an_invalid_reference_in_nova_conf_is_rejected(tmp_path):
    """A reference to an option that does not exist is an error, which shows nova.conf and the option."""
    nova = NOVA_CONF.replace("host = compute-17", "host = $hostname_of_nobody")
    with pytest.raises(ConfigError) as caught:
        load_beside_nova(tmp_path, ASKED, nova)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path}/nova.conf: [DEFAULT] host = $hostname_of_nobody: ")


def test_an_overridden_malformed_value_is_accepted(tmp_path):
    """A malformed value in nova.conf is accepted if stocktake.conf sets the option."""
    nova = NOVA_CONF.replace("reserved_host_memory_mb = 4096", "reserved_host_memory_mb = 4G")
    with pytest.raises(ConfigError) as caught:
        load_beside_nova(tmp_path, ASKED, nova)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path}/nova.conf: [DEFAULT] reserved_host_memory_mb = 4G: ")
    loaded = load_beside_nova(tmp_path, ASKED + "[DEFAULT]\nreserved_host_memory_mb = 1\n", nova)
    assert loaded.value("DEFAULT", "reserved_host_memory_mb") == 1


def test_a_later_nova_conf_file_overrides_an_earlier_one(tmp_path):
    """If [agent] nova_conf lists two files, an option in the second file overrides the first."""
    # Debian puts nova-compute's own options into a second file.
    first = write(tmp_path, "nova.conf", NOVA_CONF)
    second = write(tmp_path, "nova-compute.conf", "[libvirt]\nvirt_type = lxc\n")
    loaded = load_ours(tmp_path, f"[agent]\nnova_conf = {first},{second}\n{ASKED}")
    assert loaded.value("libvirt", "virt_type") == "lxc"
    assert loaded.origin("libvirt", "virt_type") == second
    assert loaded.nova_files == (first, second)


def test_a_missing_nova_conf_file_is_rejected(tmp_path):
    path = write(tmp_path, "stocktake.conf", f"[agent]\nnova_conf = {tmp_path}/absent.conf\n")
    with pytest.raises(ConfigError) as caught:
        load([path])
    assert caught.value.problems == (f"{path}: [agent] nova_conf = {tmp_path}/absent.conf: there is no such file",)


def test_compute_id_is_searched_beside_the_config_files(tmp_path):
    """The agent looks for nova's file compute_id in the folders of its configuration files and of nova.conf."""
    folder = tmp_path / "nova"
    folder.mkdir()
    nova = write(folder, "nova.conf", NOVA_CONF)
    files = identity_files(load_ours(tmp_path, f"[agent]\nnova_conf = {nova}\nstate_dir = /s\n{ASKED}"))
    assert files == ComputeIdFiles((tmp_path, folder), Path("/srv/nova"), Path("/s"))
    alone = identity_files(load_ours(tmp_path, ALONE))
    assert (alone.config_dirs, alone.nova_state_path) == ((tmp_path,), None)
