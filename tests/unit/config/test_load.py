import ipaddress
import socket

import pytest

from agent.config.load import load
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_ours, write


def problems_of(*arguments):
    with pytest.raises(ConfigError) as caught:
        load(*arguments)
    return caught.value.problems


def test_the_agent_knows_which_file_set_an_option(tmp_path):
    """The agent records the file of each option; for an option that no file sets, it records `default`."""
    loaded = load_ours(tmp_path, ALONE + "[DEFAULT]\nreserved_host_disk_mb = 1025\n")
    assert loaded.value("DEFAULT", "reserved_host_disk_mb") == 1025
    assert loaded.origin("DEFAULT", "reserved_host_disk_mb") == str(tmp_path / "stocktake.conf")
    assert loaded.value("DEFAULT", "reserved_host_memory_mb") == 512
    assert loaded.origin("DEFAULT", "reserved_host_memory_mb") == "default"


def test_host_defaults_to_the_name_of_the_machine(tmp_path):
    """If [DEFAULT] host is not set, the agent uses the machine's host name."""
    assert load_ours(tmp_path, ALONE).value("DEFAULT", "host") == socket.gethostname()
    assert load_ours(tmp_path, ALONE + "[DEFAULT]\nhost = other\n").value("DEFAULT", "host") == "other"


def test_my_ip_defaults_to_an_address_of_the_machine(tmp_path):
    """Without my_ip, the agent uses an IPv4 address of the machine, if there is one."""
    found = load_ours(tmp_path, ALONE).value("DEFAULT", "my_ip")
    assert found is None or ipaddress.ip_address(found).version == 4
    assert load_ours(tmp_path, ALONE + "[DEFAULT]\nmy_ip = 192.0.2.9\n").value("DEFAULT", "my_ip") == "192.0.2.9"


def test_a_repeated_option_collects_all_its_values(tmp_path):
    """The agent collects the entries of reserved_huge_pages from all its configuration files."""
    first = write(tmp_path, "a.conf", ALONE + "[DEFAULT]\nreserved_huge_pages = one\nreserved_huge_pages = two\n")
    second = write(tmp_path, "b.conf", "[DEFAULT]\nreserved_huge_pages = three\nreserved_huge_pages =\n")
    loaded = load([first, second])
    assert loaded.entries("DEFAULT", "reserved_huge_pages") == (("one", first), ("two", first), ("three", second))
    rows = {row.option: row.value for row in loaded.rows()}
    assert rows["reserved_huge_pages"] == "one,two,three"


def test_later_config_files_override_earlier_ones(tmp_path):
    """A later file overrides an earlier one, and files in a configuration folder override all of them."""
    folder = tmp_path / "conf.d"
    folder.mkdir()
    first = write(tmp_path, "a.conf", ALONE + "[lvm]\ndeadline = 1\n[DEFAULT]\nhost = first\n")
    second = write(tmp_path, "b.conf", "[DEFAULT]\nhost = second\nreserved_host_disk_mb = 2\n")
    write(folder, "10.conf", "[DEFAULT]\nreserved_host_disk_mb = 10\n")
    last = write(folder, "20.conf", "[DEFAULT]\nreserved_host_disk_mb = 20\n")
    write(folder, "30.ignored", "[nonsense")
    loaded = load([first, second], [str(folder)])
    assert loaded.value("DEFAULT", "host") == "second"
    assert loaded.value("DEFAULT", "reserved_host_disk_mb") == 20
    assert loaded.origin("DEFAULT", "reserved_host_disk_mb") == last
    assert loaded.value("lvm", "deadline") == 1.0


def test_configuration_group_names_are_case_insensitive(tmp_path):
    loaded = load_ours(tmp_path, ALONE + "[Libvirt]\nvirt_type = lxc\n")
    assert loaded.value("libvirt", "virt_type") == "lxc"
    assert loaded.origin("libvirt", "virt_type") == str(tmp_path / "stocktake.conf")


def test_environment_variables_do_not_set_options(tmp_path, monkeypatch):
    monkeypatch.setenv("OS_DEFAULT__HOST", "from-environment")
    assert load_ours(tmp_path, ALONE).value("DEFAULT", "host") == socket.gethostname()


def test_a_missing_config_file_is_reported_with_its_path(tmp_path):
    """A configuration file or folder that does not exist is an error that shows the path."""
    path = str(tmp_path / "nowhere.conf")
    assert problems_of([path]) == (f"{path}: there is no such file",)
    assert problems_of([], [path]) == (f"{path}: there is no such folder",)


def test_an_unparsable_line_is_reported_by_its_number(tmp_path):
    """The error shows the number of the line and not its text, because the line may contain a password."""
    path = write(tmp_path, "bad.conf", "[placement]\npassword hunter2\n")
    (problem,) = problems_of([path])
    assert problem.startswith(f"{path}: line 2 cannot be parsed")
    assert "hunter2" not in problem


def test_a_config_file_that_is_not_utf8_is_rejected(tmp_path):
    path = tmp_path / "bad.conf"
    path.write_bytes(b"[agent]\nrole = \xff\xfe\n")
    (problem,) = problems_of([str(path)])
    assert problem.startswith(f"{path}: not UTF-8 text")


def test_a_folder_in_place_of_a_config_file_is_rejected(tmp_path):
    path = tmp_path / "folder.conf"
    path.mkdir()
    assert problems_of([str(path)]) == (f"{path}: cannot be read: Is a directory",)


def test_all_malformed_values_are_in_one_error(tmp_path):
    """The agent reports all option values that cannot be parsed in one error, each with its file."""
    path = write(
        tmp_path,
        "stocktake.conf",
        ALONE
        + "[DEFAULT]\nreserved_host_memory_mb = plenty\ncpu_allocation_ratio = -1\ndebug = perhaps\n"
        + "[agent]\nrole = king\nconfirm_audits = 0\nevent_cap = nan\n[lvm]\ndeadline = inf\n",
    )
    found = problems_of([path])
    expected = {
        "[DEFAULT] reserved_host_memory_mb = plenty",
        "[DEFAULT] cpu_allocation_ratio = -1",
        "[DEFAULT] debug = perhaps",
        "[agent] role = king",
        "[agent] confirm_audits = 0",
        "[agent] event_cap = nan",
        "[lvm] deadline = inf",
    }
    assert {": ".join(problem.split(": ")[1:2]) for problem in found} == expected
    assert all(problem.startswith(f"{path}: ") for problem in found)


def test_an_error_does_not_show_a_secret_value(tmp_path):
    """The error about an invalid [state] connection shows `***` in place of the value."""
    path = write(tmp_path, "stocktake.conf", ALONE + "[state]\nconnection = sqlite:///hunter2$nothing\n")
    assert problems_of([path]) == (f"{path}: [state] connection = ***: not a valid value",)


def test_an_unknown_auth_plugin_is_rejected(tmp_path):
    """The error about an unknown [placement] auth_type lists the auth plugins that are installed."""
    path = write(tmp_path, "stocktake.conf", "[agent]\nnova_conf=\n[placement]\nauth_type = noauth\nusername = me\n")
    (problem,) = problems_of([path])
    assert problem.startswith(f"{path}: [placement] auth_type = noauth: no such auth plugin; installed plugins: ")
    assert "admin_token" in problem


def test_auth_options_are_read_from_auth_section(tmp_path):
    """With [placement] auth_section = cloud, the agent reads auth_type and password from [cloud]."""
    text = "[agent]\nnova_conf=\n[placement]\nauth_section = cloud\n[cloud]\nauth_type = http_basic\npassword = p\n"
    loaded = load_ours(tmp_path, text)
    assert loaded.value("cloud", "auth_type") == "http_basic"
    assert loaded.value("cloud", "password") == "p"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agent]\nrol = owner\n", "unknown option [agent] rol: the nearest name is role"),
        ("[agent]\nhost = x\n", "unknown option [agent] host: the option belongs to [DEFAULT]"),
        ("[DEFAULT]\ncpu_shared_set = 1\n", "unknown option [DEFAULT] cpu_shared_set: the option belongs to [compute]"),
        ("[lvmm]\nvolume_groups = a\n", "unknown group [lvmm]: the nearest name is [lvm]"),
        ("[xyzzy]\nvirt_type = kvm\n", "unknown group [xyzzy]: move the option virt_type to [libvirt]"),
        ("[default]\nhost = x\n", "unknown group [default]: the nearest name is [DEFAULT]"),
        ("[placement]\nauth-url = x\n", "unknown option [placement] auth-url: the nearest name is auth_url"),
        ("[DEFAULT]\nzzz = 1\n", "unknown option [DEFAULT] zzz"),
        (
            "[DEFAULT]\nstate_path = /x\n",
            "unknown option [DEFAULT] state_path: set [agent] state_dir instead",
        ),
        ("[database]\nconnection = x\n", "unknown option [database] connection: put the URL of the cell database"),
        ("[DEFAULT]\nconfig_file = /x\n", "unknown option [DEFAULT] config_file"),
    ],
)
def test_an_unknown_option_is_rejected_with_a_hint(tmp_path, text, said):
    """The error about an unknown option or group hints at the nearest name or the right group, if there is one."""
    alone = ALONE.replace("auth_type = none", "auth_type = password\nauth_url = http://k")
    path = write(tmp_path, "stocktake.conf", alone + text)
    (problem,) = problems_of([path])
    assert problem.startswith(f"{path}: unknown ")
    assert said in problem


def test_an_unknown_empty_group_is_rejected(tmp_path):
    """A misspelt group such as [heall] is an error even if it contains no option."""
    path = write(tmp_path, "stocktake.conf", ALONE + "[heall]\n")
    (problem,) = problems_of([path])
    assert problem.startswith(f"{path}: unknown group [heall]")


def test_the_listing_shows_all_options_and_masks_secrets(tmp_path):
    """The configuration listing shows each option with its value, and `***` in place of a password."""
    text = ALONE.replace("auth_type = none", "auth_type = password\npassword = hunter2\nauth_url = http://k")
    loaded = load_ours(tmp_path, text + "[state]\nconnection = mysql+pymysql://u:hunter2@db/cell\n")
    rows = {(row.group, row.option): row for row in loaded.rows()}
    assert len(rows) == len(loaded.options)
    assert rows["placement", "password"].value == "***"
    assert rows["state", "connection"].value == "***"
    assert rows["placement", "valid_interfaces"].value == "internal,public"
    assert rows["agent", "event_driven"].value == "true"
    assert rows["compute", "cpu_shared_set"].value is None
    assert "hunter2" not in str(loaded.rows()) + repr(loaded)


def test_an_invalid_url_is_reported_without_its_password(tmp_path):
    """The error about an invalid endpoint_override shows the URL with `***` in place of user and password."""
    text = ALONE.replace(
        "endpoint_override = http://127.0.0.1:8778", "endpoint_override = http://joe:hunter2@$nothing/x"
    )
    (problem,) = problems_of([write(tmp_path, "stocktake.conf", text)])
    assert "[placement] endpoint_override = http://***@$nothing/x: " in problem
    assert "hunter2" not in problem


def test_loading_does_not_change_the_global_cfg_conf(tmp_path):
    """When the agent loads its configuration, oslo.config's global `cfg.CONF` stays as it was."""
    from oslo_config import cfg

    before = set(cfg.CONF)
    load_ours(tmp_path, ALONE)
    assert set(cfg.CONF) == before


def test_placement_requests_have_a_10_s_timeout(tmp_path):
    """By default, a request to Placement has a timeout of 10 s and is retried twice."""
    from agent.placement.http.access import client_from_conf

    loaded = load_ours(tmp_path, ALONE)
    client_from_conf(loaded.conf)
    assert loaded.value("placement", "timeout") == 10
    assert loaded.value("placement", "connect_retries") == loaded.value("placement", "status_code_retries") == 2


def test_a_lock_path_option_is_rejected_with_a_hint(tmp_path):
    """The error about lock_path, which is no option of the agent, advises to set [agent] state_dir."""
    (problem,) = problems_of([str(write(tmp_path, "a.conf", ALONE + "[DEFAULT]\nlock_path = /run/lock\n"))])
    assert problem.endswith(
        "unknown option [DEFAULT] lock_path: set [agent] state_dir instead; the agent's lock file is in that folder"
    )
