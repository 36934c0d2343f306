import pytest

from agent.config.build import (
    agent_options_from,
    check,
    libvirt_uri,
    load_checked,
    notices,
    require,
    settings_from,
)
from agent.config.load import load, survey
from agent.config.options.state import StateOptions, state_options_from
from agent.errors import ConfigError
from agent.model.nova import StateKind
from agent.model.settings import RatioPolicy, Role, UnmanagedPolicy
from tests.rigs.configs import ALONE, NOVA_CONF, load_beside_nova, load_ours, write

PLACEMENT = "[placement]\nauth_type = none\nendpoint_override = http://127.0.0.1:1\n"


def loaded_with(tmp_path, text):
    return load_ours(tmp_path, ALONE + text)


def problems_of(tmp_path, text):
    return [problem.removeprefix(f"{tmp_path}/stocktake.conf: ") for problem in check(loaded_with(tmp_path, text))]


def test_the_settings_have_the_documented_default_values(tmp_path):
    settings = settings_from(loaded_with(tmp_path, ""))
    assert settings.role is Role.OWNER
    assert settings.takeover is False
    assert settings.cpu_ratio == RatioPolicy(configured=None, initial=4.0)
    assert settings.memory_ratio == RatioPolicy(configured=None, initial=1.0)
    assert settings.disk_ratio == RatioPolicy(configured=None, initial=1.0)
    assert (settings.reserved_host_cpus, settings.reserved_host_memory_mib, settings.reserved_host_disk_mib) == (
        0,
        512,
        0,
    )
    assert (settings.cpu_shared_set, settings.cpu_dedicated_set, settings.vcpu_pin_set) == (None, None, None)
    assert (settings.images_type, settings.volume_groups) == ("qcow2", ())
    assert settings.foreign_volumes is settings.unknown_guests is UnmanagedPolicy.RESERVE
    assert (settings.confirm_audits, settings.full_read_every, settings.consumer_reads) == (2, 10, 20)


def test_an_allocation_ratio_of_zero_is_read_as_unset(tmp_path):
    """ram_allocation_ratio = 0.0 means the same as no value, as in nova."""
    settings = settings_from(
        loaded_with(tmp_path, "[DEFAULT]\nram_allocation_ratio = 0.0\ndisk_allocation_ratio=1.5\n")
    )
    assert settings.memory_ratio == RatioPolicy(configured=None, initial=1.0)
    assert settings.disk_ratio == RatioPolicy(configured=1.5, initial=1.0)


@pytest.mark.parametrize(
    ("text", "guests"), [("", None), ("num_intel_tdx_guests = 0", 0), ("num_intel_tdx_guests=8", 8)]
)
def test_num_intel_tdx_guests_is_read_from_nova_conf(tmp_path, text, guests):
    nova = f"[libvirt]\ncpu_mode = host-passthrough\n{text}\n"
    settings = settings_from(load_beside_nova(tmp_path, "", nova))
    assert (settings.guest_cpu.mode, settings.intel_tdx_guests) == ("host-passthrough", guests)


@pytest.mark.parametrize(("written", "seconds"), [("0", 60.0), ("7", 7.0), ("-1", None)])
def test_update_resources_interval_is_read_as_in_nova(tmp_path, written, seconds):
    """update_resources_interval = 0 means an audit every 60 s, and -1 means no periodic audit."""
    options = agent_options_from(loaded_with(tmp_path, f"[DEFAULT]\nupdate_resources_interval = {written}\n"))
    assert options.interval_s == seconds


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("", "qemu:///system"),
        ("virt_type = qemu", "qemu:///system"),
        ("virt_type = lxc", "lxc:///system"),
        ("connection_uri = test:///default", "test:///default"),
    ],
)
def test_the_libvirt_uri_depends_on_virt_type(tmp_path, text, uri):
    """Without connection_uri, the agent connects to lxc:///system for virt_type lxc, else to qemu:///system."""
    assert libvirt_uri(loaded_with(tmp_path, f"[libvirt]\n{text}\n")) == uri


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("", ()),
        ("[libvirt]\nimages_volume_group = guests\n", ()),
        ("[libvirt]\nimages_type = lvm\nimages_volume_group = guests\n", ("guests",)),
        ("[libvirt]\nimages_type = lvm\nimages_volume_group = guests\n[lvm]\nvolume_groups = a\n", ("a", "guests")),
        ("[lvm]\nvolume_groups = b,a\n", ("a", "b")),
    ],
)
def test_images_volume_group_is_watched_only_for_lvm_disks(tmp_path, text, groups):
    """The agent watches the LVM group in images_volume_group only if images_type is lvm."""
    loaded = loaded_with(tmp_path, text)
    assert settings_from(loaded).volume_groups == groups


@pytest.mark.parametrize("name", ["-a", "a b", "..", ".", "a/b", "ü", "x" * 128])
def test_an_invalid_volume_group_name_is_rejected(tmp_path, name):
    """The error shows the option [lvm] volume_groups and the invalid name."""
    (problem,) = problems_of(tmp_path, f"[lvm]\nvolume_groups = good,{name}\n")
    assert problem == f"[lvm] volume_groups = good,{name}: {name!r} is not a valid name of a volume group"


@pytest.mark.parametrize("name", ["vg-0", "_x", "a+b.c", "x" * 127])
def test_a_valid_volume_group_name_is_accepted(tmp_path, name):
    assert problems_of(tmp_path, f"[lvm]\nvolume_groups = {name}\n") == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[compute]\ncpu_shared_set = 3-1\n", "[compute] cpu_shared_set = 3-1: range '3-1' ends before it begins"),
        (
            "[compute]\ncpu_dedicated_set = 0-1,^0-1\n",
            "[compute] cpu_dedicated_set = 0-1,^0-1: no CPU is left in this list",
        ),
        (
            "[DEFAULT]\ninitial_ram_allocation_ratio = 0.0\n",
            "[DEFAULT] initial_ram_allocation_ratio = 0.0: must be above 0, or the resource class has no capacity",
        ),
        ("[DEFAULT]\nvcpu_pin_set = x\n", "[DEFAULT] vcpu_pin_set = x: 'x' is not a CPU number or range"),
        (
            "[compute]\ncpu_shared_set = 0-3\ncpu_dedicated_set = 2-9\n",
            "[compute] cpu_dedicated_set = 2-9 and DIR: [compute] cpu_shared_set = 0-3: CPUs 2-3 are in both lists",
        ),
        (
            "[DEFAULT]\nreserved_host_cpus = 1\n[compute]\ncpu_shared_set = 0-3\n",
            "[DEFAULT] reserved_host_cpus = 1: cannot be set together with DIR: [compute] cpu_shared_set = 0-3",
        ),
        (
            "[DEFAULT]\nreserved_host_cpus = 1\n[compute]\ncpu_dedicated_set = 0-3\n",
            "[DEFAULT] reserved_host_cpus = 1: cannot be set together with DIR: [compute] cpu_dedicated_set = 0-3",
        ),
        (
            "[DEFAULT]\nvcpu_pin_set = 1\n[compute]\ncpu_dedicated_set = 0\n",
            "[DEFAULT] vcpu_pin_set = 1: cannot be set together with DIR: [compute] cpu_dedicated_set = 0",
        ),
        (
            "[libvirt]\nimages_type = lvm\n",
            "[libvirt] images_type = lvm: needs [libvirt] images_volume_group, which is not set",
        ),
        (
            "[libvirt]\nfile_backed_memory = 1024\n[DEFAULT]\nram_allocation_ratio = 1.5\n",
            "[DEFAULT] ram_allocation_ratio = 1.5: must be 1.0 because of DIR: [libvirt] file_backed_memory = 1024",
        ),
        ("[agent]\nstate_dir = here\n", "[agent] state_dir = here: must be an absolute path"),
        ("[DEFAULT]\ninstances_path = here\n", "[DEFAULT] instances_path = here: must be an absolute path"),
        ("[agent]\nevent_settle = 2\n", "[agent] event_cap = 1.0: must not be below event_settle, which is 2.0"),
    ],
)
def test_an_invalid_option_is_rejected_with_its_file(tmp_path, text, problem):
    """The error shows the file, the option, its value and what is wrong."""
    (found,) = check(loaded_with(tmp_path, text))
    path = f"{tmp_path}/stocktake.conf"
    default = "default" if "event_cap" in problem else path
    assert found == f"{default}: {problem.replace('DIR', path)}"


def test_vcpu_pin_set_allows_reserved_host_cpus(tmp_path):
    """If vcpu_pin_set is set, the agent allows reserved_host_cpus together with cpu_shared_set."""
    text = "[DEFAULT]\nvcpu_pin_set = 0-7\nreserved_host_cpus = 1\n[compute]\ncpu_shared_set = 0-3\n"
    assert problems_of(tmp_path, text) == []


def test_images_type_rbd_requires_raw_images(tmp_path):
    """With images_type = rbd, the agent rejects force_raw_images = false, because disks in Ceph are raw."""
    assert problems_of(tmp_path, "[libvirt]\nimages_type = rbd\n") == []
    (problem,) = problems_of(tmp_path, "[libvirt]\nimages_type = rbd\n[DEFAULT]\nforce_raw_images = false\n")
    assert problem == (
        f"[DEFAULT] force_raw_images = false: cannot be set together with {tmp_path}/stocktake.conf: "
        "[libvirt] images_type = rbd, because disks in Ceph are raw"
    )


def test_a_deprecated_option_causes_a_notice(tmp_path):
    """The agent warns about the deprecated option vcpu_pin_set."""
    (notice,) = notices(loaded_with(tmp_path, "[DEFAULT]\nvcpu_pin_set = 0-7\n"))
    assert notice.startswith(f"{tmp_path}/stocktake.conf: [DEFAULT] vcpu_pin_set = 0-7: deprecated")
    assert notices(loaded_with(tmp_path, "")) == ()


def test_all_configuration_problems_are_reported_in_one_error(tmp_path):
    text = (
        "[DEFAULT]\ninstances_path = x\n[agent]\nrun_dir = x\n[libvirt]\nimages_type = lvm\n[lvm]\nvolume_groups = -\n"
    )
    loaded = loaded_with(tmp_path, text)
    assert len(check(loaded)) == 4
    with pytest.raises(ConfigError) as caught:
        require(loaded)
    assert caught.value.problems == check(loaded)


def test_a_zero_initial_cpu_ratio_is_replaced_by_4(tmp_path):
    """The agent reads initial_cpu_allocation_ratio = 0 in nova.conf as 4.0, and a notice quotes the option."""
    loaded = load_beside_nova(tmp_path, "", "[DEFAULT]\ninitial_cpu_allocation_ratio = 0\n")
    assert settings_from(loaded).cpu_ratio == RatioPolicy(configured=None, initial=4.0)
    assert [note for note in notices(loaded) if "initial_cpu_allocation_ratio = 0" in note]


def test_one_check_reports_problems_of_many_sections(tmp_path):
    """One check of the configuration reports the invalid options of [compute], [libvirt], [pci] and others."""
    text = """
[DEFAULT]
initial_cpu_allocation_ratio = 0
instances_path = here
reserved_huge_pages = few
[compute]
cpu_shared_set = x
image_type_exclude_list = x
provider_config_location = here
[devices]
enabled_mdev_types = a
[image_cache]
subdirectory_name = /x
[libvirt]
virt_type = lxc
images_type = lvm
file_backed_memory = 1
cpu_mode = custom
hw_machine_type = x
swtpm_enabled = true
swtpm_user = nobody-at-all
swtpm_group = nothing-at-all
pmem_namespaces = x
[lvm]
volume_groups = -
[mdev_a]
device_addresses = x
[neutron]
physnets = foo
[pci]
device_spec = x
"""
    named = [problem.split("] ")[1].split(" ")[0] for problem in check(loaded_with(tmp_path, text))]
    assert sorted(named) == sorted(
        [
            *("initial_cpu_allocation_ratio", "instances_path", "reserved_huge_pages", "cpu_shared_set"),
            *("image_type_exclude_list", "provider_config_location", "device_addresses", "subdirectory_name"),
            *("images_type", "hw_machine_type", "swtpm_enabled", "swtpm_user", "swtpm_group", "pmem_namespaces"),
            *("volume_groups", "physnets", "device_spec"),
            # File-backed memory fails for virt_type, ratio and reserve; cpu_mode fails for virt_type and models.
            *("file_backed_memory", "ram_allocation_ratio", "reserved_host_memory_mb", "cpu_mode", "cpu_mode"),
        ]
    )


def unread_beside(tmp_path, text):
    path = write(tmp_path, "stocktake.conf", ALONE + text)
    with pytest.raises(ConfigError) as caught:
        load_checked([path])
    assert check(survey([path])) == caught.value.problems
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


def test_an_unparsable_value_does_not_hide_other_problems(tmp_path):
    """Beside a value that cannot be parsed, the agent still reports the other invalid options."""
    text = (
        "[pci]\nreport_in_placement = maybe\n[compute]\ncpu_shared_set = 3-1\n[lvm]\nvolume_groups = -\n"
        "[libvirt]\nswtpm_enabled = true\nswtpm_user = nobody-at-all\nswtpm_group = root\nfoo = 1\n"
    )
    unknown, unread, *others = unread_beside(tmp_path, text)
    assert unknown.startswith("unknown option [libvirt] foo")
    assert unread == "[pci] report_in_placement = maybe: must be true or false"
    assert [problem.split(":")[0] for problem in others] == [
        "[compute] cpu_shared_set = 3-1",
        "[lvm] volume_groups = -",
        "[libvirt] swtpm_user = nobody-at-all",
    ]


def test_checks_of_an_unparsable_value_are_skipped(tmp_path):
    """If ram_allocation_ratio cannot be parsed, no second error says that it conflicts with file_backed_memory."""
    # With the default instead, the ratio would be unset, which the agent refuses with file-backed memory.
    text = "[DEFAULT]\nram_allocation_ratio = one\n[libvirt]\nfile_backed_memory = 4096\n"
    assert unread_beside(tmp_path, text) == ["[DEFAULT] ram_allocation_ratio = one: must be a number, at least 0.0"]


def test_an_unparsable_nova_conf_value_shows_its_file(tmp_path):
    """The error about a value in nova.conf that cannot be parsed shows nova.conf, the option and the value."""
    nova = write(tmp_path, "nova.conf", "[DEFAULT]\nreserved_host_memory_mb = much\n")
    text = ALONE.replace("nova_conf =", f"nova_conf = {nova}") + "[lvm]\nvolume_groups = -\n"
    first, second = check(survey([write(tmp_path, "stocktake.conf", text)]))
    assert first == f"{nova}: [DEFAULT] reserved_host_memory_mb = much: must be a whole number, at least 0"
    assert second.startswith(f"{tmp_path}/stocktake.conf: [lvm] volume_groups = -: ")


def test_notices_appear_beside_an_unparsable_value(tmp_path):
    """The agent still warns about a deprecated option if another value cannot be parsed."""
    text = "[DEFAULT]\nvcpu_pin_set = 0-7\nreserved_host_memory_mb = x\n[libvirt]\nfile_backed_memory = 1\n"
    (notice,) = notices(survey([write(tmp_path, "stocktake.conf", ALONE + text)]))
    assert "deprecated" in notice


def test_without_a_file_the_required_options_are_shown(tmp_path, monkeypatch):
    """Without a configuration file, the errors show the options that must be set and where the file belongs."""
    monkeypatch.setattr("agent.config.files.DEFAULT_FILE", f"{tmp_path}/stocktake.conf")
    monkeypatch.setattr("agent.config.files.DEFAULT_DIR", f"{tmp_path}/stocktake.conf.d")
    monkeypatch.setattr("agent.config.options.agent.OPTS", [_without_nova(opt) for opt in _agent_opts()])
    auth, state = check(load())
    assert auth.startswith("[placement] auth_type is not set")
    assert state.startswith("[state] source is not set")
    for word in ("sql", "conductor", "none", f"{tmp_path}/stocktake.conf", f"{tmp_path}/stocktake.conf.d"):
        assert word in state


def _agent_opts():
    from agent.config.options import agent

    return agent.OPTS


def _without_nova(opt):
    from oslo_config import cfg

    return cfg.ListOpt("nova_conf", default=[]) if opt.dest == "nova_conf" else opt


def test_a_missing_auth_url_is_reported(tmp_path):
    """[placement] auth_type = password without auth_url is an error."""
    text = ALONE.replace("auth_type = none", "auth_type = password")
    (problem,) = check(load_ours(tmp_path, text))
    path = f"{tmp_path}/stocktake.conf"
    assert problem == f"[placement] auth_url is not set: {path}: [placement] auth_type = password needs it"


CELL = "mysql+pymysql://r:hunter2@db/nova_cell1"
NOVA_WITH_DATABASE = NOVA_CONF + f"[database]\nconnection = {CELL}\n"
NOVA_DATABASE_ALONE = NOVA_WITH_DATABASE.replace("transport_url = rabbit://nova:hunter2@192.0.2.5:5672/\n", "")


@pytest.mark.parametrize(
    ("ours", "nova", "taken"),
    [
        (
            "[state]\nconnection = sqlite:////cell\n",
            NOVA_CONF,
            StateOptions(kind=StateKind.SQL, connection="sqlite:////cell"),
        ),
        ("", NOVA_CONF, StateOptions(kind=StateKind.CONDUCTOR)),
        ("", NOVA_WITH_DATABASE, StateOptions(kind=StateKind.CONDUCTOR)),
        ("", NOVA_DATABASE_ALONE, StateOptions(kind=StateKind.SQL, connection=CELL)),
        ("[state]\nsource = sql\n", NOVA_WITH_DATABASE, StateOptions(kind=StateKind.SQL, connection=CELL)),
        ("[state]\nsource = none\n", NOVA_WITH_DATABASE, StateOptions(kind=StateKind.NONE)),
        ("[state]\nsource = none\nconnection = x://\n", NOVA_CONF, StateOptions(kind=StateKind.NONE)),
    ],
)
def test_the_options_select_the_source_of_nova_data(tmp_path, ours, nova, taken):
    """The options in stocktake.conf and nova.conf select nova-conductor, SQL or no source for nova's data."""
    options = state_options_from(load_beside_nova(tmp_path, ours, nova))
    assert options == taken
    assert "hunter2" not in repr(options)


@pytest.mark.parametrize(
    ("ours", "nova", "said"),
    [
        (
            "[state]\nsource = conductor\n",
            NOVA_DATABASE_ALONE,
            "[state] source = conductor: needs [DEFAULT] transport_url",
        ),
        ("[state]\nsource = sql\n", NOVA_CONF, "[state] source = sql: needs [state] connection, which is not set"),
    ],
)
def test_a_missing_url_for_nova_data_is_an_error(tmp_path, ours, nova, said):
    """[state] source = conductor needs transport_url, and source = sql needs [state] connection."""
    with pytest.raises(ConfigError) as caught:
        state_options_from(load_beside_nova(tmp_path, ours, nova))
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)
