import dataclasses

import pytest
from oslo_config import cfg

from agent.config.agent_options import agent_options_from
from agent.config.build import settings_from
from agent.config.reload import changes, needs_restart, reload
from agent.config.traced_conf import empty_conf
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_ours, write


def test_reload_applies_mutable_options_and_keeps_immutable_options(tmp_path):
    running = load_ours(tmp_path, ALONE + "[DEFAULT]\nupdate_resources_interval = 5\nhost = a\n")
    write(tmp_path, "stocktake.conf", ALONE + "[DEFAULT]\nupdate_resources_interval = 9\nhost = b\ndebug = true\n")
    reloaded = reload(running)
    assert agent_options_from(reloaded).interval_s == 9.0
    assert reloaded.value("DEFAULT", "debug") is True
    assert settings_from(reloaded).host == "a"
    assert needs_restart(running, reloaded) == ("[DEFAULT] host",)
    assert agent_options_from(running).interval_s == 5.0


def test_an_immutable_option_needs_no_restart_after_it_is_changed_back(tmp_path):
    running = load_ours(tmp_path, ALONE + "[lvm]\ndeadline = 5\n")
    write(tmp_path, "stocktake.conf", ALONE + "[lvm]\ndeadline = 6\n")
    once = reload(running)
    twice = reload(once)
    assert needs_restart(once, twice) == ("[lvm] deadline",)
    assert twice.value("lvm", "deadline") == 5.0
    write(tmp_path, "stocktake.conf", ALONE + "[lvm]\ndeadline = 5\n")
    assert needs_restart(twice, reload(twice)) == ()


def test_an_unchanged_configuration_needs_no_restart(tmp_path):
    running = load_ours(tmp_path, ALONE)
    assert needs_restart(running, reload(running)) == ()


def test_a_reload_lists_each_changed_option_with_its_old_and_new_value(tmp_path):
    running = load_ours(tmp_path, ALONE + "[agent]\nconfirm_audits = 5\n[heal]\nenabled = true\n")
    new = "[heal]\nmin_age = 60\nenabled = true\n[lvm]\ndeadline = 6\n[DEFAULT]\nupdate_resources_interval = -1\n"
    write(tmp_path, "stocktake.conf", ALONE + new)
    assert changes(running, reload(running)) == (
        "[DEFAULT] update_resources_interval: 0 -> -1",
        "[agent] confirm_audits: 5 -> 2",
        "[heal] min_age: 300 -> 60",
    )


def test_a_reload_of_an_unchanged_configuration_reports_no_changes(tmp_path):
    running = load_ours(tmp_path, ALONE)
    assert changes(running, reload(running)) == ()


def test_the_list_of_changed_options_masks_secrets_and_cuts_long_values(tmp_path):
    running = load_ours(tmp_path, ALONE)
    secret = cfg.StrOpt("phrase", secret=True, mutable=True, default="hunter1")
    names = cfg.ListOpt("names", mutable=True, default=["a"])
    before, after = (with_options(running, secret, names) for _ in range(2))
    after.conf.set_override("phrase", "hunter2")
    after.conf.set_override("names", [f"name-{number}" for number in range(50)])
    assert changes(before, after) == (
        f"[DEFAULT] names: a -> {','.join(f'name-{number}' for number in range(50))[:40]}...",
        "[DEFAULT] phrase: *** -> ***",
    )


def with_options(loaded, *options):
    """Return the configuration with only these options of [DEFAULT], at their defaults."""
    conf = empty_conf()
    conf.register_opts(options)
    return dataclasses.replace(loaded, conf=conf, options=tuple(("DEFAULT", option) for option in options))


@pytest.mark.parametrize(
    "bad",
    ["[DEFAULT]\nupdate_resources_interval = soon\n", "[agent]\nrol = x\n", "[broken\n"],
)
def test_reload_rejects_an_invalid_file_and_keeps_the_running_values(tmp_path, bad):
    running = load_ours(tmp_path, ALONE + "[DEFAULT]\nupdate_resources_interval = 5\n")
    before = running.rows()
    write(tmp_path, "stocktake.conf", ALONE + bad)
    with pytest.raises(ConfigError):
        reload(running)
    assert running.rows() == before


def test_reload_resets_a_removed_option_to_its_default(tmp_path):
    running = load_ours(tmp_path, ALONE + "[agent]\nconfirm_audits = 5\n")
    write(tmp_path, "stocktake.conf", ALONE)
    assert settings_from(reload(running)).confirm_audits == 2


def test_reload_keeps_the_old_auth_type_and_credentials_if_auth_type_changes(tmp_path):
    token = ALONE.replace("auth_type = none", "auth_type = admin_token\ntoken = a$$b\nendpoint = http://p")
    running = load_ours(tmp_path, token)
    write(tmp_path, "stocktake.conf", ALONE)
    reloaded = reload(running)
    assert reloaded.value("placement", "auth_type") == "admin_token"
    assert reloaded.value("placement", "token") == "a$b"
    assert set(needs_restart(running, reloaded)) == {
        "[placement] auth_type",
        "[placement] endpoint",
        "[placement] token",
    }


def test_reload_rejects_a_missing_configuration_file(tmp_path):
    running = load_ours(tmp_path, ALONE)
    (tmp_path / "stocktake.conf").unlink()
    with pytest.raises(ConfigError, match="there is no such file"):
        reload(running)


def test_removed_image_storage_options_stay_in_force_until_a_restart(tmp_path):
    running = load_ours(tmp_path, ALONE + "[libvirt]\nimages_type = lvm\nimages_volume_group = guests\n")
    write(tmp_path, "stocktake.conf", ALONE)
    reloaded = reload(running)
    assert settings_from(reloaded).disk_group == "guests"
    assert needs_restart(running, reloaded) == ("[libvirt] images_type", "[libvirt] images_volume_group")


def test_the_agent_still_knows_which_file_set_each_option_after_a_reload(tmp_path):
    running = load_ours(tmp_path, ALONE + "[DEFAULT]\nhost = a\n")
    path = write(tmp_path, "stocktake.conf", ALONE + "[agent]\nconfirm_audits = 4\n")
    reloaded = reload(running)
    assert (reloaded.value("DEFAULT", "host"), reloaded.origin("DEFAULT", "host")) == ("a", path)
    assert reloaded.origin("agent", "confirm_audits") == path


def test_reload_rejects_swtpm_enabled_if_the_running_virt_type_is_lxc(tmp_path):
    running = load_ours(tmp_path, ALONE + "[libvirt]\nvirt_type = lxc\n")
    write(
        tmp_path, "stocktake.conf", ALONE + "[libvirt]\nswtpm_enabled = true\nswtpm_user = root\nswtpm_group = root\n"
    )
    with pytest.raises(ConfigError, match=r"swtpm_enabled = true: needs virt_type kvm or qemu, not .*virt_type = lxc"):
        reload(running)


def test_reload_applies_new_reserved_huge_pages_but_keeps_the_old_device_spec(tmp_path):
    pages = "[DEFAULT]\nreserved_huge_pages = node:0,size:4,count:1\n"
    spec = '[pci]\ndevice_spec = {"vendor_id": "8086"}\n'
    running = load_ours(tmp_path, ALONE + pages + spec)
    write(tmp_path, "stocktake.conf", ALONE + pages + "reserved_huge_pages = node:1,size:4,count:2\n")
    settings = settings_from(reload(running))
    assert [(one.cell, one.count) for one in settings.reserved_huge_pages] == [(0, 1), (1, 2)]
    assert [one.vendor_id for one in settings.pci.specs] == ["8086"]
    write(tmp_path, "stocktake.conf", ALONE)
    assert settings_from(reload(running)).reserved_huge_pages == ()


def test_reload_reads_the_provider_yaml_files_again(tmp_path):
    folder = tmp_path / "providers"
    folder.mkdir()
    running = load_ours(tmp_path, f"{ALONE}[compute]\nprovider_config_location = {folder}\n")
    assert settings_from(running).provider_entries == ()
    identification = "  - identification: {uuid: $COMPUTE_NODE}\n    traits: {additional: [CUSTOM_A]}\n"
    write(folder, "a.yaml", f"meta: {{schema_version: '1.0'}}\nproviders:\n{identification}")
    (entry,) = settings_from(reload(running)).provider_entries
    assert entry.traits == {"CUSTOM_A"}
    write(folder, "a.yaml", "meta: [\n")
    with pytest.raises(ConfigError, match=r"a\.yaml"):
        reload(running)
