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


def test_settings_contain_the_entries_of_provider_files(tmp_path):
    loaded = loaded_with(tmp_path, GOOD)
    (entry,) = settings_from(loaded).provider_entries
    assert entry.traits == {"CUSTOM_FAST"}
    assert provider_entries(loaded) == (entry,)


def test_s131_an_invalid_provider_file_is_a_problem_and_causes_no_notice(tmp_path):
    loaded = loaded_with(tmp_path, GOOD.replace("CUSTOM_FAST", "HW_CPU_X86_VMX"))
    (problem,) = check(loaded)
    assert problem.startswith(f"{tmp_path}/providers/a.yaml:")
    with pytest.raises(ConfigError):
        settings_from(loaded)
    assert notices(loaded) == ()


def test_s134_an_ignored_provider_entry_causes_a_notice(tmp_path):
    loaded = loaded_with(tmp_path, GOOD[: GOOD.index("    traits:")])
    assert settings_from(loaded).provider_entries == ()
    (notice,) = notices(loaded)
    assert notice.startswith(f"{tmp_path}/providers/a.yaml:")


def test_a_missing_provider_folder_adds_no_entries(tmp_path):
    loaded = load_ours(tmp_path, f"{ALONE}[compute]\nprovider_config_location = {tmp_path}/nowhere\n")
    assert check(loaded) == ()
    assert settings_from(loaded).provider_entries == ()
