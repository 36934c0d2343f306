"""The recorded configurations, each with its changes to nova.conf and to the surroundings.

A configuration contains only differences from the stack's own nova.conf. A configuration with which nova-compute
refuses to start cannot be recorded.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from reference_recorder.options import Options
from reference_recorder.surroundings import (
    GROUP,
    Scratch,
    cached_images,
    huge_pages,
    nothing,
    volume_group,
)

# The node's uuid, which nova-compute finds in its state_path, as written by a deployment tool.
NODE_UUID = "c0de0000-0000-4000-8000-000000000001"

_Plain = Mapping[str, Mapping[str, str | tuple[str, ...]]]


def _options(plain: _Plain) -> Options:
    return {
        section: {option: (value,) if isinstance(value, str) else value for option, value in options.items()}
        for section, options in plain.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One recording: its folder's name, its description, its options, provider files and surroundings."""

    name: str
    told: str
    options: Options = field(default_factory=dict)
    provider_files: Mapping[str, str] = field(default_factory=dict)
    surroundings: Callable[[Scratch], AbstractContextManager[Mapping[str, str]]] = nothing


def _one(name: str, told: str, plain: _Plain, **others) -> Configuration:
    return Configuration(name=name, told=told, options=_options(plain), **others)


_PROVIDER_YAML = """\
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: {uuid}
    inventories:
      additional:
        - CUSTOM_LICENSE:
            total: 22
            reserved: 2
            min_unit: 1
            max_unit: 10
            step_size: 2
            allocation_ratio: 1.5
        - CUSTOM_POWER_WATTS:
            total: 900
    traits:
      additional:
        - CUSTOM_RACK_17
        - CUSTOM_NO_INTERNET
"""

_BY_NAME_YAML = """\
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    inventories:
      additional:
        - CUSTOM_OF_EVERY_NODE:
            total: 7
    traits:
      additional:
        - CUSTOM_EVERY_NODE
  - identification:
      name: cmp1.example.org{child}
    inventories:
      additional:
        - CUSTOM_OF_THIS:
            total: 3
            reserved: 1
    traits:
      additional:
        - CUSTOM_THIS
"""

_BASIC = (
    _one("default", "nothing but what the stack needs", {}),
    _one(
        "ratios_and_reserved",
        "ratios and reserved amounts of every class; the reserved disk is no whole number of GiB",
        {
            "DEFAULT": {
                "cpu_allocation_ratio": "3.5",
                "ram_allocation_ratio": "1.2",
                "disk_allocation_ratio": "0.9",
                "reserved_host_cpus": "1",
                "reserved_host_memory_mb": "2048",
                "reserved_host_disk_mb": "1500",
            }
        },
    ),
    _one(
        "initial_ratios",
        "the ratios that count on a new provider only",
        {
            "DEFAULT": {
                "initial_cpu_allocation_ratio": "7.0",
                "initial_ram_allocation_ratio": "1.3",
                "initial_disk_allocation_ratio": "1.9",
            }
        },
    ),
    _one(
        "zero_ratios",
        "a ratio of 0.0 is no ratio: the initial one counts",
        {"DEFAULT": {"cpu_allocation_ratio": "0.0", "initial_cpu_allocation_ratio": "5.0"}},
    ),
)

_CPU_SETS = (
    _one(
        "shared_and_dedicated",
        "one CPU shared, the other dedicated",
        {"compute": {"cpu_shared_set": "0", "cpu_dedicated_set": "1"}},
    ),
    _one("dedicated_only", "every CPU dedicated: no VCPU at all", {"compute": {"cpu_dedicated_set": "0-1"}}),
    _one("shared_only", "one CPU for instances, without pinning", {"compute": {"cpu_shared_set": "0-1,^1"}}),
    _one(
        "vcpu_pin_set",
        "the deprecated set, which allows reserved CPUs",
        {"DEFAULT": {"vcpu_pin_set": "1", "reserved_host_cpus": "1"}},
    ),
)

_STORAGE = (
    _one(
        "lvm_images",
        "images in a volume group, with volumes that are not instances'",
        {"libvirt": {"images_type": "lvm", "images_volume_group": GROUP}},
        surroundings=volume_group,
    ),
    _one(
        "lvm_images_not_raw",
        "without force_raw_images a volume group takes no QCOW2 images; ISO and RAW are excluded",
        {
            "DEFAULT": {"force_raw_images": "False"},
            "compute": {"image_type_exclude_list": "iso,raw"},
            "libvirt": {"images_type": "lvm", "images_volume_group": GROUP},
        },
        surroundings=volume_group,
    ),
    _one(
        "flat_images",
        "plain files, three image types excluded, one of them of no interest to libvirt",
        {
            "DEFAULT": {"force_raw_images": "False"},
            "compute": {"image_type_exclude_list": "qcow2,ami,vmdk"},
            "libvirt": {"images_type": "flat"},
        },
    ),
    _one(
        "image_cache_reserved",
        "base images of 2.5 GiB on disk are reserved, beside the disk reserved by the operator",
        {
            "DEFAULT": {"reserved_host_disk_mb": "1024"},
            "workarounds": {"reserve_disk_resource_for_image_cache": "True"},
        },
        surroundings=cached_images,
    ),
)

_MEMORY = (
    _one(
        "huge_pages",
        "64 pages of 2 MiB, 8 of them reserved",
        {"DEFAULT": {"reserved_huge_pages": "node:0,size:2048,count:8"}},
        surroundings=huge_pages,
    ),
    _one(
        "file_backed_memory",
        "more memory than the host has",
        {
            "DEFAULT": {"ram_allocation_ratio": "1.0", "reserved_host_memory_mb": "0"},
            "libvirt": {"file_backed_memory": "65536"},
        },
    ),
)

_PROVIDER_YAMLS = (
    _one(
        "provider_yaml_compute_node",
        "additional inventories and traits for $COMPUTE_NODE",
        {},
        provider_files={"site.yaml": _PROVIDER_YAML.format(uuid="$COMPUTE_NODE")},
    ),
    _one(
        "provider_yaml_uuid",
        "additional inventories and traits for the node by its uuid, in a second file beside one for another node",
        {},
        provider_files={
            "10-other.yaml": _PROVIDER_YAML.format(uuid="c0de0000-0000-4000-8000-0000000000ff"),
            "20-this.yaml": _PROVIDER_YAML.format(uuid=NODE_UUID),
        },
    ),
    _one(
        "provider_yaml_name",
        "the node by its name, and every node in the same file",
        {},
        provider_files={"site.yaml": _BY_NAME_YAML.format(child="")},
    ),
    _one(
        "provider_yaml_child",
        "the provider of a PCI device by its name, and every node in the same file",
        {"pci": {"report_in_placement": "True", "device_spec": '{"address": "0000:00:05.0"}'}},
        provider_files={"site.yaml": _BY_NAME_YAML.format(child="_0000:00:05.0")},
    ),
)

_QEMU = {"virt_type": "qemu"}
_CPU_MODELS = (
    _one("virt_type_qemu", "emulation instead of KVM", {"libvirt": _QEMU}),
    _one(
        "virt_type_qemu_host_model", "emulation of the host's model", {"libvirt": {**_QEMU, "cpu_mode": "host-model"}}
    ),
    _one("cpu_mode_none", "the default model of the architecture", {"libvirt": {"cpu_mode": "none"}}),
    _one(
        "virt_type_qemu_cpu_mode_none",
        "emulation of the default model",
        {"libvirt": {**_QEMU, "cpu_mode": "none"}},
    ),
    _one(
        "cpu_mode_custom",
        "two models, one of them in another case than libvirt's; richer ones are refused on this virtual machine",
        {"libvirt": {"cpu_mode": "custom", "cpu_models": "Pentium3,486"}},
    ),
    _one(
        "cpu_mode_custom_unchecked",
        "models and flags that the host's CPU cannot give, taken without nova-compute's check",
        {
            "libvirt": {
                "cpu_mode": "custom",
                "cpu_models": "Opteron_G1,qemu64",
                "cpu_model_extra_flags": "XOP,-sse4.1,+tbm",
            },
            "workarounds": {"skip_cpu_compare_at_startup": "True"},
        },
    ),
    _one(
        "virt_type_qemu_cpu_mode_custom",
        "emulation of one model",
        {"libvirt": {**_QEMU, "cpu_mode": "custom", "cpu_models": "Westmere"}},
    ),
    _one(
        "cpu_mode_host_model_flags",
        "flags that the host has not, and one that it has taken away",
        {"libvirt": {"cpu_mode": "host-model", "cpu_model_extra_flags": "xop,-aes,VMX"}},
    ),
    _one("cpu_mode_host_passthrough", "the host's CPU as it is", {"libvirt": {"cpu_mode": "host-passthrough"}}),
    _one(
        "cpu_mode_host_passthrough_flags",
        "the host's CPU and flags that it has not",
        {"libvirt": {"cpu_mode": "host-passthrough", "cpu_model_extra_flags": "xop,-aes"}},
    ),
    _one("machine_type_q35", "another default machine type", {"libvirt": {"hw_machine_type": "x86_64=q35"}}),
    _one(
        "machine_type_versioned",
        "a default machine type that is no alias",
        {"libvirt": {"hw_machine_type": "x86_64=pc-q35-5.2,i686=isapc"}},
    ),
)

_PCI = (
    _one(
        "pci_in_placement",
        "devices by vendor, product and address; class given, made up and left out; traits with blanks between them",
        {
            "pci": {
                "report_in_placement": "True",
                "device_spec": (
                    '{"vendor_id": "1af4", "product_id": "1053"}',
                    '{"address": "0000:00:05.0", "resource_class": "my gpu-x",'
                    ' "traits": "blue, HW_NIC_SRIOV,custom_Red"}',
                    '{"vendor_id": "1af4", "product_id": "1045", "resource_class": "CUSTOM_BALLOON",'
                    ' "one_time_use": "true"}',
                    '{"vendor_id": "8086", "product_id": "*", "resource_class": "pgpu"}',
                ),
            }
        },
    ),
    _one(
        "pci_tagged",
        "class and traits from standard names, live migration and managed given, a network device left out",
        {
            "pci": {
                "report_in_placement": "True",
                "device_spec": (
                    '{"address": {"domain": "0000", "bus": "00", "slot": "0[45]", "function": ".*"},'
                    ' "resource_class": "FPGA", "traits": "HW_GPU_API_VULKAN,hw_gpu_api_dxva,CUSTOM_A,b--c",'
                    ' "managed": "no"}',
                    '{"vendor_id": "1af4", "product_id": "1041", "physical_network": "physnet1"}',
                ),
            }
        },
    ),
    _one(
        "pci_not_reported",
        "devices for instances, but not in Placement",
        {"pci": {"device_spec": '[{"vendor_id": "1af4", "product_id": "1053"}, {"address": ":00:05.*"}]'}},
    ),
)

CONFIGURATIONS = (*_BASIC, *_CPU_SETS, *_STORAGE, *_MEMORY, *_PROVIDER_YAMLS, *_CPU_MODELS, *_PCI)
