"""The recordings of a real nova-compute are complete: each has every file that README.md names."""

import json
import pathlib
import xml.etree.ElementTree as ET

import pytest

FOLDER = pathlib.Path(__file__).parent / "reference"
RECORDINGS = sorted(path.parent for path in FOLDER.glob("*/meta.json"))
FIELDS = {"total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio"}
PROVIDER_KEYS = {
    "uuid", "name", "parent_provider_uuid", "root_provider_uuid", "inventories", "traits", "aggregates",
}  # fmt: skip
INPUTS = {
    "capabilities.xml", "expanded_cpu.xml", "cpu_model_names.json", "host.json", "meminfo.txt", "baseline/qemu64.xml",
}  # fmt: skip
LVM_INPUTS = {"vgs_of_nova.txt", "vgs.json", "lvs.json"}
HOST_KEYS = {
    "lib_version", "version", "type", "info", "cpu_map", "statvfs", "image_cache", "module_parameters",
    "cgroup_misc_capacity", "uptime",
}  # fmt: skip
COMPUTE_NODE_KEYS = {
    "vcpus", "memory_mb", "local_gb", "vcpus_used", "memory_mb_used", "local_gb_used", "hypervisor_type",
    "hypervisor_version", "hypervisor_hostname", "cpu_info", "disk_available_least", "free_ram_mb", "free_disk_gb",
    "running_vms", "numa_topology", "pci_stats", "stats", "supported_instances", "cpu_allocation_ratio",
    "ram_allocation_ratio", "disk_allocation_ratio", "pci_devices",
}  # fmt: skip

each_recording = pytest.mark.parametrize("folder", RECORDINGS, ids=[path.name for path in RECORDINGS])


def _json(path: pathlib.Path):
    return json.loads(path.read_text(encoding="utf-8"))


def _inputs(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    return {name: FOLDER / path for name, path in _json(folder / "meta.json")["inputs"].items()}


def _providers(folder: pathlib.Path) -> list[dict]:
    return _json(folder / "placement.json")["providers"]


def test_nova_compute_was_recorded_in_each_configuration():
    """There is a recording of a real nova-compute for each required configuration, for example huge pages and LVM."""
    asked = {
        "default", "ratios_and_reserved", "shared_and_dedicated", "dedicated_only", "lvm_images", "huge_pages",
        "file_backed_memory", "provider_yaml_compute_node", "provider_yaml_uuid", "virt_type_qemu",
    }  # fmt: skip
    assert asked <= {path.name for path in RECORDINGS}


def test_the_folder_of_recordings_has_only_expected_files():
    """The folder of nova-compute's recordings contains every expected file and no other file."""
    named = {path for folder in RECORDINGS for path in _inputs(folder).values()}
    own = {folder / name for folder in RECORDINGS for name in ("meta.json", "nova.conf", "placement.json")}
    own |= {folder / "compute_node.json" for folder in RECORDINGS} | {FOLDER / "README.md"}
    own |= set(FOLDER.glob("*/provider_config/*.yaml"))
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == named | own


@each_recording
def test_each_recording_lists_all_required_input_files(folder: pathlib.Path):
    """Each recording of a real nova-compute lists the libvirt, LVM and host files that the agent needs."""
    meta = _json(folder / "meta.json")
    assert meta["configuration"] == folder.name
    assert meta["versions"]["nova"].startswith("34.")
    assert meta["inputs"].keys() >= INPUTS
    assert any(name.startswith("domain_capabilities/x86_64-") for name in meta["inputs"])
    assert ("images_type = lvm" in (folder / "nova.conf").read_text()) == (meta["inputs"].keys() >= LVM_INPUTS)
    assert _json(folder / "compute_node.json").keys() >= COMPUTE_NODE_KEYS


@each_recording
def test_all_recorded_input_files_are_well_formed(folder: pathlib.Path):
    """Each XML or JSON file in the recordings of a real nova-compute can be parsed, and no file is empty."""
    for name, path in _inputs(folder).items():
        if path.suffix == ".json":
            assert _json(path)
        elif path.suffix == ".xml":
            ET.fromstring(path.read_text(encoding="utf-8"))
        else:
            assert path.read_text().strip(), name
    assert _json(_inputs(folder)["host.json"]).keys() == HOST_KEYS


@each_recording
def test_each_recording_contains_a_whole_provider_tree(folder: pathlib.Path):
    """Each recording of a real nova-compute has the root provider and its children, all with nova's owner trait."""
    root, *children = _providers(folder)
    assert root["uuid"] == _json(folder / "placement.json")["root"]
    assert root["parent_provider_uuid"] is None
    assert {"COMPUTE_NODE", "OWNER_NOVA"} <= set(root["traits"])
    for child in children:
        assert child["parent_provider_uuid"] == child["root_provider_uuid"] == root["uuid"]
        assert child["name"].startswith(f"{root['name']}_")
        assert "OWNER_NOVA" in child["traits"]


@each_recording
def test_every_recorded_inventory_has_all_six_fields(folder: pathlib.Path):
    """The test data contain inventories that a real nova-compute published.

    Each recorded inventory has all six fields, for example total and max_unit.
    """
    for provider in _providers(folder):
        assert provider.keys() == PROVIDER_KEYS
        assert provider["inventories"]
        assert {frozenset(record) for record in provider["inventories"].values()} == {frozenset(FIELDS)}


@each_recording
def test_recorded_memory_is_equal_in_placement_and_nova(folder: pathlib.Path):
    """In each recording, Placement and nova's compute node have the same memory total."""
    compute_node = _json(folder / "compute_node.json")
    record = _providers(folder)[0]["inventories"]["MEMORY_MB"]
    assert record["total"] == compute_node["memory_mb"]
    if "file_backed_memory" not in (folder / "nova.conf").read_text():
        assert record["total"] == _json(_inputs(folder)["host.json"])["info"][1]


@each_recording
def test_recorded_libvirt_and_nova_list_equal_cpu_features(folder: pathlib.Path):
    """The test data are recordings of real nova-compute hosts.

    In each recording, libvirt's CPU and nova's cpu_info list the same CPU features.
    """
    expanded = ET.fromstring(_inputs(folder)["expanded_cpu.xml"].read_text(encoding="utf-8"))
    features = {found.get("name") for found in expanded.iter("feature") if found.get("policy") != "disable"}
    assert features == set(_json(folder / "compute_node.json")["cpu_info"]["features"])


@each_recording
def test_recorded_domain_capabilities_match_their_file_name(folder: pathlib.Path):
    """Each recorded domain capabilities file has the architecture and virtualization type of its file name."""
    for name, path in _inputs(folder).items():
        if name.startswith("domain_capabilities/"):
            answer = ET.fromstring(path.read_text(encoding="utf-8"))
            arch, *_, virt_type = name.removeprefix("domain_capabilities/").removesuffix(".xml").split("-")
            assert (answer.findtext("arch"), answer.findtext("domain")) == (arch, virt_type)
