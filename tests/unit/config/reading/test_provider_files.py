"""A configuration reads its folder of provider files (scenario 131); test_provider_yaml.py is about their contents."""

import pytest

from agent.config.build import check, notices, settings_from
from agent.config.reading.provider_yaml import provider_entries
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_ours, write

GOOD = """\
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    traits:
      additional:
        - CUSTOM_FAST
"""


def loaded_with(tmp_path, text):
    folder = tmp_path / "providers"
    folder.mkdir()
    write(folder, "a.yaml", text)
    return load_ours(tmp_path, f"{ALONE}[compute]\nprovider_config_location = {folder}\n")


def test_the_settings_contain_the_entries_of_provider_yaml_files(tmp_path):
    loaded = loaded_with(tmp_path, GOOD)
    (entry,) = settings_from(loaded).provider_entries
    assert entry.traits == {"CUSTOM_FAST"}
    assert provider_entries(loaded) == (entry,)


def test_s131_an_invalid_provider_file_is_an_error_and_not_just_a_notice(tmp_path):
    loaded = loaded_with(tmp_path, GOOD.replace("CUSTOM_FAST", "HW_CPU_X86_VMX"))
    (problem,) = check(loaded)
    assert problem.startswith(f"{tmp_path}/providers/a.yaml:")
    with pytest.raises(ConfigError):
        settings_from(loaded)
    assert notices(loaded) == ()


def test_s134_a_provider_entry_without_inventories_or_traits_causes_a_notice(tmp_path):
    loaded = loaded_with(tmp_path, GOOD[: GOOD.index("    traits:")])
    assert settings_from(loaded).provider_entries == ()
    (notice,) = notices(loaded)
    assert notice.startswith(f"{tmp_path}/providers/a.yaml:")


def test_a_provider_config_location_that_does_not_exist_is_accepted(tmp_path):
    loaded = load_ours(tmp_path, f"{ALONE}[compute]\nprovider_config_location = {tmp_path}/nowhere\n")
    assert check(loaded) == ()
    assert settings_from(loaded).provider_entries == ()
