"""provider.yaml as files: what the agent reads, and each refusal with file and line."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.reading.provider_yaml import ProviderFiles, read_provider_files
from agent.errors import ConfigError
from agent.model.placement import Inventory
from agent.model.provider_config import COMPUTE_NODE, ProviderEntry

UUID = "5c5a578f-51b0-481c-b38c-7aaa3394e585"
GOOD = f"""\
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    inventories:
      additional:
        - CUSTOM_A:
            total: 100
        - CUSTOM_B:
            total: 22
            reserved: 2
            min_unit: 1
            max_unit: 10
            step_size: 2
            allocation_ratio: 2.5
    traits:
      additional:
        - CUSTOM_T
  - identification:
      uuid: {UUID.upper()}
    traits:
      additional: [CUSTOM_U, CUSTOM_V]
"""


def read(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return read_provider_files(str(folder))


def refused(folder, text):
    with pytest.raises(ConfigError) as caught:
        read(folder, site=text)
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


def one(provider):
    return f"meta: {{schema_version: '1.0'}}\nproviders:\n- identification: {{name: gpu}}\n  {provider}\n"


def bomb(levels, begin="[x]", again="[{}]"):
    """Return YAML in which each level is ten aliases of the level below."""
    lines = [f"a0: &a0 {begin}"]
    lines += [f"a{n}: &a{n} " + again.format(",".join([f"*a{n - 1}"] * 10)) for n in range(1, levels + 1)]
    return "meta: {schema_version: '1.0'}\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("levels", [5, 7, 60])
@pytest.mark.parametrize("form", [{}, {"begin": "{x: 1}", "again": "{{<<: [{}]}}"}])
def test_exponential_yaml_aliases_are_rejected_quickly(tmp_path, levels, form):
    """A provider.yaml with YAML aliases that grow exponentially is rejected within seconds."""
    began = time.process_time()
    (problem,) = refused(tmp_path, bomb(levels, **form))
    assert problem.startswith("site.yaml: the file has ")
    assert problem.endswith(" values after its aliases are replaced; the limit is 50000: use fewer aliases")
    # Visiting the parts of 7 levels takes half a minute; visiting 60 levels would never end.
    assert time.process_time() - began < 5


def test_two_providers_may_share_a_yaml_alias(tmp_path):
    shared = GOOD.replace("        - CUSTOM_T\n", "        &more [CUSTOM_T]\n").replace("[CUSTOM_U, CUSTOM_V]", "*more")
    entries = read(tmp_path, site=shared).entries
    assert [entry.traits for entry in entries] == [frozenset({"CUSTOM_T"})] * 2


def test_a_file_with_a_thousand_providers_is_accepted(tmp_path):
    """A provider.yaml of about 145 kB with 1000 providers is read completely."""
    provider = (
        "- identification: {{name: p{}}}\n  inventories: {{additional: [{{CUSTOM_A: {{total: 9, reserved: 2}}}}]}}\n"
    )
    text = "meta: {schema_version: '1.0'}\nproviders:\n" + "".join(map(provider.format, range(1000)))
    assert len(read(tmp_path, site=text).entries) == 1000


def test_a_provider_file_above_the_size_limit_is_rejected(tmp_path):
    """A provider.yaml of more than 262144 characters is rejected; the error advises to split it."""
    (problem,) = refused(tmp_path, GOOD + "# x\n" * 250_000)
    assert problem == "site.yaml: the file is longer than 262144 characters: split it into several files"


def test_a_self_referencing_yaml_alias_is_rejected(tmp_path):
    (problem,) = refused(tmp_path, "meta: {schema_version: '1.0'}\nx: &x [*x]\n")
    assert problem == "site.yaml:1: not valid YAML: the file cannot be parsed"


def test_omitted_inventory_fields_get_placement_defaults(tmp_path):
    """Fields that an inventory in provider.yaml omits, such as max_unit, get the default values of Placement."""
    found = read(tmp_path, site=GOOD)
    assert found == ProviderFiles(
        entries=(
            ProviderEntry(
                origin=f"{tmp_path}/site.yaml:4",
                uuid=COMPUTE_NODE,
                inventories=(
                    # If a client POSTs only a total, Placement returns these values for the rest.
                    Inventory(resource_class="CUSTOM_A", total=100, max_unit=2147483647),
                    Inventory(
                        resource_class="CUSTOM_B",
                        total=22,
                        reserved=2,
                        min_unit=1,
                        max_unit=10,
                        step_size=2,
                        allocation_ratio=2.5,
                    ),
                ),
                traits=frozenset({"CUSTOM_T"}),
            ),
            ProviderEntry(origin=f"{tmp_path}/site.yaml:20", uuid=UUID, traits=frozenset({"CUSTOM_U", "CUSTOM_V"})),
        )
    )


def test_a_provider_folder_may_be_missing_or_empty(tmp_path):
    """A missing provider_config_location folder, or one without YAML files, gives no providers and no error."""
    (tmp_path / "README").write_text("not a provider file")
    assert read_provider_files(str(tmp_path)) == read_provider_files(str(tmp_path / "absent")) == ProviderFiles()


def test_provider_files_are_read_in_name_order(tmp_path):
    found = read(tmp_path, b=one("traits: {additional: [CUSTOM_B]}").replace("gpu", "b"), a=GOOD)
    assert [entry.uuid or entry.name for entry in found.entries] == [COMPUTE_NODE, UUID, "b"]


def test_s133_a_newer_minor_schema_causes_a_notice(tmp_path):
    """A provider.yaml with schema_version 1.9 is read; the agent's notice says that it ignores new parts."""
    found = read(tmp_path, site=GOOD.replace("'1.0'", "'1.9'"))
    assert len(found.entries) == 2
    assert found.notices == (
        f"{tmp_path}/site.yaml:2: schema_version 1.9 is newer than 1.0: the agent ignores new parts",
    )


def test_s134_an_entry_that_adds_nothing_causes_a_notice(tmp_path):
    """The notice shows the file and line of a provider.yaml entry that adds no inventory and no trait."""
    found = read(tmp_path, site=one("traits: {additional: []}"))
    assert found.entries == ()
    assert found.notices == (f"{tmp_path}/site.yaml:3: no effect: the entry for gpu adds no inventory and no trait",)


REFUSALS = {
    "s133 another major": ("meta: {schema_version: '2.0'}", ["site.yaml:1: schema_version 2.0 is not supported"]),
    "s133 no version": ("providers: []", ["site.yaml:1: meta: schema_version is missing"]),
    "s133 an empty file": ("", ["site.yaml:1: meta: schema_version is missing"]),
    "a version that is a number": ("meta:\n  schema_version: 1.0", ["site.yaml:2: schema_version is 1.0, not a str"]),
    "no YAML": ("meta: [", ["site.yaml:1: not valid YAML:"]),
    "s131 a standard class": (
        one("inventories: {additional: [{VCPU: {total: 1}}]}"),
        ["site.yaml:4: VCPU is not a custom class"],
    ),
    "s131 a standard trait": (
        one("traits: {additional: [CUSTOM_A, HW_CPU_X86_VMX]}"),
        ["site.yaml:4: HW_CPU_X86_VMX is not a custom trait"],
    ),
    "a class of no name": (
        one("inventories: {additional: [{CUSTOM_: {total: 1}}]}"),
        ["site.yaml:4: CUSTOM_ is not a custom class"],
    ),
    "a trait of no name": (one("traits: {additional: [CUSTOM_]}"), ["site.yaml:4: CUSTOM_ is not a custom trait"]),
    "a class that ends a line": (
        one('inventories: {additional: [{"CUSTOM_A\\n": {total: 1}}]}'),
        ["site.yaml:4: providers/inventories/additional: "],
    ),
    "a trait that ends a line": (
        one('traits: {additional: ["CUSTOM_A\\n"]}'),
        ["site.yaml:4: providers/traits/additional: "],
    ),
    "a uuid that ends a line": (
        one("traits: {additional: [CUSTOM_A]}").replace("name: gpu", f'uuid: "{UUID}\\n"'),
        ["site.yaml:3: providers/identification/uuid: "],
    ),
    "a total of 0": (
        one("inventories: {additional: [{CUSTOM_A: {total: 0}}]}"),
        ["site.yaml:4: providers/inventories/additional/CUSTOM_A/total: 0 is less than the minimum of 1"],
    ),
    "a reserve above the total": (
        one("inventories: {additional: [{CUSTOM_A: {total: 3, reserved: 4}}]}"),
        ["site.yaml:4: CUSTOM_A: reserved 4 is above the total 3"],
    ),
    "min above max": (
        one("inventories: {additional: [{CUSTOM_A: {total: 3, min_unit: 3, max_unit: 2}}]}"),
        ["site.yaml:4: CUSTOM_A: min_unit 3 is above max_unit 2"],
    ),
    "no number": (
        one("inventories: {additional: [{CUSTOM_A: {total: 3, allocation_ratio: .nan}}]}"),
        ["site.yaml:4: CUSTOM_A: allocation_ratio is not a number"],
    ),
    "an unknown field": (
        one("inventories: {additional: [{CUSTOM_A: {total: 3, ratio: 2}}]}"),
        ["site.yaml:4: providers/inventories/additional/CUSTOM_A: Additional properties are not allowed"],
    ),
    "two ways to say who": (
        one("traits: {additional: [CUSTOM_A]}").replace("name: gpu", f"name: gpu, uuid: {UUID}"),
        ["site.yaml:3: providers/identification:"],
    ),
    "the root by a name that none has": (
        one("traits: {additional: [CUSTOM_A]}").replace("gpu", "$COMPUTE_NODE"),
        ["site.yaml:3: no provider has the name $COMPUTE_NODE; to name all compute nodes, write uuid: $COMPUTE_NODE"],
    ),
    "a class twice": (
        one("inventories: {additional: [{CUSTOM_A: {total: 3}}, {CUSTOM_A: {total: 4}}]}"),
        ["site.yaml:4: CUSTOM_A is named twice for one provider"],
    ),
    "a key twice": (one("traits: {additional: [], additional: []}"), ["site.yaml:4: additional is named twice"]),
    "a key that is not text": (one("1: 2"), ["site.yaml:4: the key '1' is not a string"]),
    "s130 a provider twice": (
        GOOD + f"  - identification: {{uuid: {UUID}}}\n    traits: {{additional: [CUSTOM_W]}}\n",
        [f"site.yaml:24: provider {UUID} is named in"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_an_invalid_provider_file_is_rejected(tmp_path, text, expected):
    """The error about an invalid provider.yaml shows the file, the line and what is wrong."""
    found = refused(tmp_path, text)
    assert len(found) == len(expected)
    assert all(problem.startswith(start) for problem, start in zip(found, expected, strict=True)), found


def test_a_named_pipe_as_provider_file_is_rejected(tmp_path):
    """The agent does not wait on a named pipe `site.yaml` in the folder of provider files; it reports an error."""
    os.mkfifo(tmp_path / "site.yaml")
    with pytest.raises(ConfigError, match=r"site\.yaml: cannot be read: not a regular file"):
        read_provider_files(str(tmp_path))


def test_problems_of_all_provider_files_are_in_one_error(tmp_path):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, a="meta: [", b="meta: {schema_version: '3.0'}", c=GOOD)
    assert len(caught.value.problems) == 2


def test_an_unreadable_provider_file_is_rejected(tmp_path):
    """If `site.yaml` is a folder, the error shows its path and says that it cannot be read."""
    (tmp_path / "site.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"site\.yaml: cannot be read: Is a directory"):
        read_provider_files(str(tmp_path))


@given(
    st.one_of(st.text(max_size=200), st.builds(lambda a, b: GOOD[:a] + b + GOOD[a:], st.integers(0, 500), st.text()))
)
def test_a_random_provider_file_is_read_or_rejected(tmp_path_factory, text):
    """Random text in a provider.yaml is read or rejected with ConfigError; no other exception occurs."""
    folder = tmp_path_factory.mktemp("providers")
    (folder / "site.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        read_provider_files(str(folder))
    except ConfigError as error:
        assert all(str(folder) in problem for problem in error.problems)  # noqa: PT017 - any other error fails the test
