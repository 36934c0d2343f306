import dataclasses

import pytest
from oslo_config import cfg

from agent.config.agent_options import agent_options_from
from agent.config.build import settings_from
from agent.config.reload import changes, needs_restart, reload
from agent.config.traced_conf import empty_conf
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_ours, write


def test_a_reload_changes_only_mutable_options(tmp_path):
    """A reload applies a new update_resources_interval and keeps the old [DEFAULT] host."""
    running = load_ours(tmp_path, ALONE + "[DEFAULT]\nupdate_resources_interval = 5\nhost = a\n")
    write(tmp_path, "stocktake.conf", ALONE + "[DEFAULT]\nupdate_resources_interval = 9\nhost = b\ndebug = true\n")
    reloaded = reload(running)
    assert agent_options_from(reloaded).interval_s == 9.0
    assert reloaded.value("DEFAULT", "debug") is True
    assert settings_from(reloaded).host == "a"
    assert needs_restart(running, reloaded) == ("[DEFAULT] host",)
    assert agent_options_from(running).interval_s == 5.0


def test_an_option_that_is_changed_back_needs_no_restart(tmp_path):
    """If [lvm] deadline is changed in the file and then changed back, a reload asks for no restart."""
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


def test_a_reload_lists_old_and_new_values_of_options(tmp_path):
    """A reload lists each option that it changes as `old -> new`, such as `[agent] confirm_audits: 5 -> 2`."""
    running = load_ours(tmp_path, ALONE + "[agent]\nconfirm_audits = 5\n[heal]\nenabled = true\n")
    new = "[heal]\nmin_age = 60\nenabled = true\n[lvm]\ndeadline = 6\n[DEFAULT]\nupdate_resources_interval = -1\n"
    write(tmp_path, "stocktake.conf", ALONE + new)
    assert changes(running, reload(running)) == (
        "[DEFAULT] update_resources_interval: 0 -> -1",
        "[agent] confirm_audits: 5 -> 2",
        "[heal] min_age: 300 -> 60",
    )


def test_a_reload_of_an_unchanged_file_reports_no_changes(tmp_path):
    running = load_ours(tmp_path, ALONE)
    assert changes(running, reload(running)) == ()


def test_a_reload_masks_secrets_and_cuts_long_values(tmp_path):
    """In the list of changed options, a secret is shown as *** and a long value is cut after 40 characters."""
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
def test_a_reload_rejects_an_invalid_file(tmp_path, bad):
    """A reload refuses a file with a bad value, an unknown option or a syntax error, and the old values stay."""
    running = load_ours(tmp_path, ALONE + "[DEFAULT]\nupdate_resources_interval = 5\n")
    before = running.rows()
    write(tmp_path, "stocktake.conf", ALONE + bad)
    with pytest.raises(ConfigError):
        reload(running)
    assert running.rows() == before


def test_a_reload_resets_a_removed_option_to_its_default(tmp_path):
    running = load_ours(tmp_path, ALONE + "[agent]\nconfirm_audits = 5\n")
    write(tmp_path, "stocktake.conf", ALONE)
    assert settings_from(reload(running)).confirm_audits == 2


def test_a_reload_keeps_the_old_placement_credentials(tmp_path):
    """If [placement] auth_type changes in the file, the agent keeps the old auth_type and token until a restart."""
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


def test_a_reload_rejects_a_missing_configuration_file(tmp_path):
    running = load_ours(tmp_path, ALONE)
    (tmp_path / "stocktake.conf").unlink()
    with pytest.raises(ConfigError, match="there is no such file"):
        reload(running)


def test_a_removed_images_type_stays_in_force_until_a_restart(tmp_path):
    """If [libvirt] images_type is removed from the file, the agent keeps the old value until a restart."""
    running = load_ours(tmp_path, ALONE + "[libvirt]\nimages_type = lvm\nimages_volume_group = guests\n")
    write(tmp_path, "stocktake.conf", ALONE)
    reloaded = reload(running)
    assert settings_from(reloaded).disk_group == "guests"
    assert needs_restart(running, reloaded) == ("[libvirt] images_type", "[libvirt] images_volume_group")


def test_a_reload_keeps_the_file_path_of_each_option(tmp_path):
    """After a reload the agent still knows the configuration file that each option's value comes from."""
    running = load_ours(tmp_path, ALONE + "[DEFAULT]\nhost = a\n")
    path = write(tmp_path, "stocktake.conf", ALONE + "[agent]\nconfirm_audits = 4\n")
    reloaded = reload(running)
    assert (reloaded.value("DEFAULT", "host"), reloaded.origin("DEFAULT", "host")) == ("a", path)
    assert reloaded.origin("agent", "confirm_audits") == path


def test_a_reload_rejects_swtpm_enabled_with_virt_type_lxc(tmp_path):
    """A reload fails if the file now has swtpm_enabled = true while the agent still runs with virt_type = lxc."""
    running = load_ours(tmp_path, ALONE + "[libvirt]\nvirt_type = lxc\n")
    write(
        tmp_path, "stocktake.conf", ALONE + "[libvirt]\nswtpm_enabled = true\nswtpm_user = root\nswtpm_group = root\n"
    )
    with pytest.raises(ConfigError, match=r"swtpm_enabled = true: needs virt_type kvm or qemu, not .*virt_type = lxc"):
        reload(running)


def test_a_reload_applies_new_reserved_huge_pages(tmp_path):
    """A reload of the configuration applies a new value of reserved_huge_pages without a restart."""
    pages = "[DEFAULT]\nreserved_huge_pages = node:0,size:4,count:1\n"
    spec = '[pci]\ndevice_spec = {"vendor_id": "8086"}\n'
    running = load_ours(tmp_path, ALONE + pages + spec)
    write(tmp_path, "stocktake.conf", ALONE + pages + "reserved_huge_pages = node:1,size:4,count:2\n")
    settings = settings_from(reload(running))
    assert [(one.cell, one.count) for one in settings.reserved_huge_pages] == [(0, 1), (1, 2)]
    assert [one.vendor_id for one in settings.pci.specs] == ["8086"]
    write(tmp_path, "stocktake.conf", ALONE)
    assert settings_from(reload(running)).reserved_huge_pages == ()


def test_a_reload_reads_the_provider_yaml_files_again(tmp_path):
    """A reload reads the YAML files of provider_config_location again, and fails if one of them is invalid."""
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
