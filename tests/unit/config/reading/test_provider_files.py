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


def test_provider_yaml_entries_are_part_of_the_settings(tmp_path):
    """The agent reads the entries of the YAML files in [compute] provider_config_location."""
    loaded = loaded_with(tmp_path, GOOD)
    (entry,) = settings_from(loaded).provider_entries
    assert entry.traits == {"CUSTOM_FAST"}
    assert provider_entries(loaded) == (entry,)


def test_s131_a_standard_trait_in_provider_yaml_is_an_error(tmp_path):
    """A provider.yaml may add only custom traits; a standard trait is a configuration error."""
    loaded = loaded_with(tmp_path, GOOD.replace("CUSTOM_FAST", "HW_CPU_X86_VMX"))
    (problem,) = check(loaded)
    assert problem.startswith(f"{tmp_path}/providers/a.yaml:")
    with pytest.raises(ConfigError):
        settings_from(loaded)
    assert notices(loaded) == ()


def test_s134_an_empty_provider_entry_causes_a_notice(tmp_path):
    """The agent warns about a provider.yaml entry without inventories and traits, and ignores the entry."""
    loaded = loaded_with(tmp_path, GOOD[: GOOD.index("    traits:")])
    assert settings_from(loaded).provider_entries == ()
    (notice,) = notices(loaded)
    assert notice.startswith(f"{tmp_path}/providers/a.yaml:")


def test_a_missing_provider_folder_is_accepted(tmp_path):
    """The folder in [compute] provider_config_location need not exist."""
    loaded = load_ours(tmp_path, f"{ALONE}[compute]\nprovider_config_location = {tmp_path}/nowhere\n")
    assert check(loaded) == ()
    assert settings_from(loaded).provider_entries == ()
