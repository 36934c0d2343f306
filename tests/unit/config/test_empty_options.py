"""An option that a file leaves empty is not set: every option, each file, at start and at reload.

The options that a host can do without are empty together, in one file. `tools/empty_options.py` prints the whole table,
one option at a time, with every way to leave an option empty.
"""

import pytest

from agent.config.blank import MEANS_NONE
from agent.config.build import check, load_checked, notices, settings_from
from agent.config.load import load
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, NOVA_CONF, load_beside_nova, load_ours, write
from tests.rigs.empty_options import NOVAS, OURS, RELOAD, START, WAYS, cell_of, cells_of_one_file, options_of

#: Options that the table's host cannot start without; nova_conf is required because all of them are in nova.conf.
REQUIRED = {
    ("placement", "auth_type"),
    ("placement", "auth_url"),
    ("placement", "password"),
    ("neutron_physnet_p", "numa_nodes"),
    ("agent", "nova_conf"),
}
#: One option of each kind: whole number, number, true or false, choice, text, list, repeated option.
KINDS = [
    ("agent", "confirm_audits"),
    ("agent", "source_deadline"),
    ("agent", "takeover"),
    ("agent", "role"),
    ("DEFAULT", "my_ip"),
    ("lvm", "volume_groups"),
    ("DEFAULT", "reserved_huge_pages"),
]


def expected(cell):
    key = (cell.group, cell.option)
    return "78" if key in REQUIRED else "silent" if key in MEANS_NONE else "note"


@pytest.mark.parametrize("moment", [START, RELOAD])
@pytest.mark.parametrize("file", [OURS, NOVAS])
def test_an_empty_option_causes_a_notice(tmp_path, file, moment):
    """The agent warns about an option without a value, unless the option is required or may be empty."""
    table = cells_of_one_file(tmp_path, file, moment)
    assert {(cell.group, cell.option) for cell in table} == set(options_of(file))
    assert len(table) > 100
    assert [cell for cell in table if cell.outcome != expected(cell)] == []


def test_the_notice_about_an_empty_option_shows_the_file(tmp_path):
    """An option in stocktake.conf or nova.conf has an empty value.

    The agent's notice shows the file and the option, and says that the default applies.
    """
    for file, name in ((OURS, "stocktake.conf"), (NOVAS, "nova.conf")):
        cell = cell_of(tmp_path, ("DEFAULT", "reserved_host_memory_mb"), file)
        assert cell.said == (
            f"{tmp_path}/{name}: [DEFAULT] reserved_host_memory_mb is empty, so this line does not set the option; "
            "the default applies"
        )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", KINDS, ids=".".join)
def test_blanks_or_empty_quotes_count_as_empty(tmp_path, key, way):
    """The agent reads an option with only blanks or empty quotes as an option without a value."""
    assert cell_of(tmp_path, key, OURS, way).outcome == "note"


def test_a_comment_after_the_equals_sign_is_a_value(tmp_path):
    """In `host = # later`, the text `# later` is the value, and a notice says so."""
    path = write(tmp_path, "stocktake.conf", ALONE + "[agent]\nconfirm_audits = # later\n")
    with pytest.raises(ConfigError) as caught:
        load_checked([path])
    assert caught.value.problems == (
        f"{path}: [agent] confirm_audits = # later: must be a whole number, at least 1; "
        "write a comment on a line of its own",
    )
    told = notices(load_ours(tmp_path, ALONE + "[DEFAULT]\nhost = # later\n"))
    end = "[DEFAULT] host = # later: this text is a value, not a comment; write a comment on a line of its own"
    assert f"{path}: {end}" in told


def test_these_tests_cover_every_option(tmp_path):
    """Each option that the agent loads is in the list of options that this file tests with an empty value."""
    loaded = load_beside_nova(tmp_path, "[state]\nsource = none\n")
    rows = {(row.group, row.option) for row in loaded.rows()}
    assert rows <= set(options_of(OURS))
    taken = {(row.group, row.option) for row in loaded.rows() if row.origin.endswith("nova.conf")}
    assert taken <= set(options_of(NOVAS))


def test_an_empty_option_keeps_the_value_of_an_earlier_file(tmp_path):
    """An option that is empty in the last file keeps the value that an earlier file or nova.conf sets."""
    first = write(tmp_path, "a.conf", ALONE + "[agent]\nconfirm_audits = 5\n")
    last = write(tmp_path, "b.conf", "[agent]\nconfirm_audits =\n")
    loaded = load([first, last])
    assert (loaded.value("agent", "confirm_audits"), loaded.origin("agent", "confirm_audits")) == (5, first)
    assert notices(loaded)[0].endswith(
        f"does not set the option; the effective value is {first}: [agent] confirm_audits = 5"
    )
    beside = load_beside_nova(tmp_path, "[state]\nsource = none\n[DEFAULT]\nreserved_host_memory_mb =\n", NOVA_CONF)
    assert beside.value("DEFAULT", "reserved_host_memory_mb") == 4096
    assert beside.origin("DEFAULT", "reserved_host_memory_mb") == str(tmp_path / "nova.conf")


def test_an_empty_option_keeps_an_earlier_value(tmp_path):
    """A line `confirm_audits =` does not override an earlier `confirm_audits = 4` in the same file."""
    loaded = load_ours(tmp_path, ALONE + "[agent]\nconfirm_audits =\nconfirm_audits = 4\nconfirm_audits =\n")
    assert loaded.value("agent", "confirm_audits") == 4


def test_one_of_the_two_cpu_model_options_may_be_empty(tmp_path):
    """If cpu_models or its old name cpu_model is empty, the agent reads the one with a value."""
    loaded = load_ours(tmp_path, ALONE + "[libvirt]\ncpu_mode = custom\ncpu_models = Nehalem\ncpu_model =\n")
    assert loaded.listed("libvirt", "cpu_models") == ("Nehalem",)
    reversed_names = load_ours(tmp_path, ALONE + "[libvirt]\ncpu_mode = custom\ncpu_models =\ncpu_model = Nehalem\n")
    assert reversed_names.listed("libvirt", "cpu_models") == ("Nehalem",)


def test_an_empty_auth_type_keeps_the_value_of_nova_conf(tmp_path):
    """An empty auth_type or password in stocktake.conf does not override the value from nova.conf."""
    loaded = load_beside_nova(tmp_path, "[state]\nsource = none\n[placement]\nauth_type =\npassword =\n")
    assert check(loaded) == ()
    assert loaded.value("placement", "auth_type") == "password"
    assert loaded.value("placement", "password") == "pla$cement"


def test_an_unknown_empty_option_is_rejected(tmp_path):
    """A misspelt option is an error even if its value is empty."""
    path = write(tmp_path, "stocktake.conf", ALONE + "[agent]\nrol =\n")
    with pytest.raises(ConfigError, match=r"unknown option \[agent\] rol: the nearest name is role"):
        load_checked([path])


def test_an_empty_item_in_a_list_of_numbers_is_ignored(tmp_path):
    """The agent reads `numa_nodes = 0,,1,` as the cells 0 and 1."""
    loaded = load_ours(tmp_path, ALONE + "[neutron_tunnel]\nnuma_nodes = 0,,1,\n")
    assert settings_from(loaded).networks.tunnel == (0, 1)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[heal]\ncodes =\n", lambda settings: settings.heal.codes),
        ("[libvirt]\nsupported_tpm_secret_security =\n", lambda settings: settings.tpm.secret_security),
        ("[compute]\nprovider_config_location =\n", lambda settings: settings.provider_entries),
    ],
)
def test_an_option_that_may_be_empty_causes_no_notice(tmp_path, text, read):
    """[heal] codes, for example, may be empty: the agent reads an empty list and prints no notice."""
    loaded = load_ours(tmp_path, ALONE.replace("provider_config_location = /nonexistent", "") + text)
    assert check(loaded) == ()
    assert read(settings_from(loaded)) == ()
    assert [line for line in notices(loaded) if "is empty" in line] == []
