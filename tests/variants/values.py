"""The values from which random nova.conf variants are drawn: usual ones, odd ones that nova-compute accepts, bad ones.

A ``Choice`` sets options that belong together. The values are made for a machine like the one of this project's tests:
x86_64 with CPUs 0 and 1, virtio devices on the PCI bus, and no TDX, mediated devices or persistent memory.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The volume group of the rig: images_type = lvm needs the group.
GROUP = "stocktake-variants"


@dataclass(frozen=True, slots=True)
class Choice:
    """Lines of nova.conf, each with its section; ``provider_file`` is the text of a provider.yaml file, if any."""

    lines: tuple[tuple[str, str], ...]
    provider_file: str | None = None

    @property
    def needs_group(self) -> bool:
        """Whether the lines name the rig's volume group."""
        return any(GROUP in line for _, line in self.lines)


def _one(section: str, option: str, *values: str) -> tuple[Choice, ...]:
    return tuple(Choice(((section, f"{option} = {value}"),)) for value in values)


def _lines(*texts: str) -> tuple[Choice, ...]:
    """Return a choice for each text; the text is ``[section] line``, and ``|`` separates lines."""
    return tuple(Choice(tuple(_line(part.strip()) for part in text.split("|"))) for text in texts)


def _line(text: str) -> tuple[str, str]:
    section, _, line = text.removeprefix("[").partition("]")
    return section, line.removeprefix(" ")


def _file(text: str) -> Choice:
    return Choice((), provider_file=text)


_PROVIDER_FILE = """\
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    inventories:
      additional:
        - CUSTOM_LICENCES:
            total: {total}
            {more}
    traits:
      additional: [{traits}]
"""

#: Values with which nova-compute 34 starts, as far as its documents say; a list for each subject.
ACCEPTED: dict[str, tuple[Choice, ...]] = {
    "cpu sets": (
        *_one(
            "compute", "cpu_shared_set", "0", "0-1", "0-1,^1", " 0 , 1 ", "0,0-1", "1-1", "^0,0-1", "0-1,^7", "00,01"
        ),
        *_one("compute", "cpu_shared_set", "0 - 1", "+1", "0-1,^0,0", '"0-1"', "'1'", "0,,1", "0,"),
        *_one("compute", "cpu_shared_set", "1_0,1,^10", "0000000", "0-+1", "0,^100000", "0-1,^70000-80000", "\u0660,1"),
        *_one("compute", "cpu_dedicated_set", "0", "0-1", "1,1", "0-1,^0", "+0"),
        *_lines(
            "[compute] cpu_shared_set = 0 | [compute] cpu_dedicated_set = 1",
            "[compute] cpu_shared_set = 0-1,^1 | [compute] cpu_dedicated_set = 0-1,^0",
            "[DEFAULT] vcpu_pin_set = 1",
            "[DEFAULT] vcpu_pin_set = 0-1,^0 | [DEFAULT] reserved_host_cpus = 1",
            "[DEFAULT] vcpu_pin_set = 0 | [compute] cpu_shared_set = 1",
            "[DEFAULT] reserved_host_cpus = 1",
            "[DEFAULT] reserved_host_cpus = 2",
            "[DEFAULT] reserved_host_cpus = 0_1",
            "[compute] cpu_shared_set = | [DEFAULT] reserved_host_cpus = 1",
        ),
    ),
    "cpu ratio": _one(
        "DEFAULT", "cpu_allocation_ratio", "0", "0.0", "1", "4.", ".5", "1e1", "16.0", " 2.5 ", "0.0001", "-0.0", "1_6"
    ),
    "ram ratio": _one("DEFAULT", "ram_allocation_ratio", "0", "1.0", "1.5", "0.9", "1e0", "+1.2", "3.3333333333333333"),
    "disk ratio": _one("DEFAULT", "disk_allocation_ratio", "0", "0.8", "1", "2", "1.0000001", '"1.5"'),
    "initial ratios": _lines(
        "[DEFAULT] initial_cpu_allocation_ratio = 7",
        "[DEFAULT] initial_cpu_allocation_ratio = 1e-1 | [DEFAULT] initial_disk_allocation_ratio = 1.9",
        "[DEFAULT] initial_ram_allocation_ratio = 1.3 | [DEFAULT] ram_allocation_ratio = 0.0",
        "[DEFAULT] cpu_allocation_ratio = 4 | [DEFAULT] initial_cpu_allocation_ratio = 0",
        "[DEFAULT] initial_cpu_allocation_ratio = 0",
    ),
    "reserved memory": _one(
        "DEFAULT", "reserved_host_memory_mb", "0", "1", "2048", "4_096", " 1024 ", "0001000", "+77", '"300"'
    ),
    "reserved disk": _one("DEFAULT", "reserved_host_disk_mb", "0", "1", "1023", "1024", "1025", "1500", "1_0", "+2048"),
    "huge pages": _lines(
        "[DEFAULT] reserved_huge_pages = node:0,size:2048,count:0",
        "[DEFAULT] reserved_huge_pages = node:0,size:2MB,count:1",
        "[DEFAULT] reserved_huge_pages = node:0,size:1GB,count:0"
        " | [DEFAULT] reserved_huge_pages = node:7,size:4,count:9",
        "[DEFAULT] reserved_huge_pages = node:0,size:4,count:16,colour:red",
        "[DEFAULT] reserved_huge_pages = count:1,size:2048,node:0",
        "[DEFAULT] reserved_huge_pages = node:+0,size:2_048,count: 8 ",
        "[DEFAULT] reserved_huge_pages = node:0,size:1.5MB,count:1",
        "[DEFAULT] reserved_huge_pages = node:0,size:512B,count:1",
        "[DEFAULT] reserved_huge_pages = node:0,size:16Mb,count:1",
        "[DEFAULT] reserved_huge_pages = node:0,size:0,count:1",
        "[DEFAULT] reserved_huge_pages = node:0,size:2048,count:-8",
        "[DEFAULT] reserved_huge_pages = node:-1,size:-2048,count:8",
    ),
    "image formats": _one(
        "compute",
        "image_type_exclude_list",
        *("raw", "RAW,qcow2", "ova,docker,", "iso,,vmdk", "[raw]", "ami aki", "'qcow2'", "raw;qcow2", "raw,raw", ","),
        *("vhd,vhdx, vdi ,ploop", "bare", "ami,ari,aki", "qcow", "none", "*"),
    ),
    "images": (
        *_one("libvirt", "images_type", "default", "raw", "flat", "qcow2"),
        *_lines(
            "[libvirt] images_type = flat | [DEFAULT] force_raw_images = no",
            "[libvirt] images_type = raw | [DEFAULT] use_cow_images = off",
            "[libvirt] images_type = default | [DEFAULT] use_cow_images = False | [DEFAULT] force_raw_images = 0",
            "[DEFAULT] use_cow_images = off",
            "[DEFAULT] force_raw_images = perhaps",
            "[DEFAULT] force_raw_images = F | [compute] image_type_exclude_list = raw",
            f"[libvirt] images_type = lvm | [libvirt] images_volume_group = {GROUP}",
            f"[libvirt] images_type = lvm | [libvirt] images_volume_group = {GROUP} | [DEFAULT] force_raw_images = no",
        ),
    ),
    "image cache": _lines(
        "[workarounds] reserve_disk_resource_for_image_cache = on",
        "[workarounds] reserve_disk_resource_for_image_cache = 1 | [DEFAULT] reserved_host_disk_mb = 512",
        "[workarounds] reserve_disk_resource_for_image_cache = yes | [image_cache] subdirectory_name = cache",
        "[workarounds] reserve_disk_resource_for_image_cache = on | [image_cache] subdirectory_name = ../elsewhere",
        "[workarounds] reserve_disk_resource_for_image_cache = TRUE | [image_cache] subdirectory_name = a/b/",
        "[image_cache] subdirectory_name =",
        "[image_cache] subdirectory_name = .",
    ),
    "cpu mode": _lines(
        "[libvirt] cpu_mode = none",
        "[libvirt] cpu_mode = host-model",
        "[libvirt] cpu_mode = host-passthrough",
        "[libvirt] cpu_mode = host-passthrough | [libvirt] cpu_model_extra_flags = -aes",
        "[libvirt] cpu_mode = host-model | [libvirt] cpu_model_extra_flags = xop,-aes,VMX",
        "[libvirt] cpu_mode = host-model | [libvirt] cpu_model_extra_flags = pcid, ssbd ,,",
        "[libvirt] cpu_mode = host-model | [libvirt] cpu_model_extra_flags = +avx2,-avx2",
        "[libvirt] cpu_mode = none | [libvirt] cpu_model_extra_flags = avx512f",
        "[libvirt] cpu_model_extra_flags = -sse4.2,+SHA-NI",
        "[libvirt] cpu_mode = host-model | [libvirt] cpu_model_extra_flags = nosuchflag",
        "[libvirt] cpu_mode = host-model | [libvirt] cpu_model_extra_flags = +",
        "[libvirt] cpu_mode = host-model | [libvirt] cpu_model_extra_flags = -, --aes",
    ),
    "cpu models": _lines(
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = 486",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = Pentium3,486",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = QEMU64",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = qemu64, westmere ,",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_model = Nehalem",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = kvm64 | [libvirt] cpu_model_extra_flags = aes,AVX",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = Opteron_G1,qemu64 | [libvirt] cpu_model_extra_flags ="
        " XOP,-sse4.1,+tbm | [workarounds] skip_cpu_compare_at_startup = yes",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = Haswell-noTSX-IBRS"
        " | [workarounds] skip_cpu_compare_at_startup = 1",
        "[libvirt] cpu_mode = custom | [libvirt] cpu_models = EPYC-Rome,EPYC"
        " | [workarounds] skip_cpu_compare_at_startup = on",
    ),
    "machine types": _one(
        "libvirt",
        "hw_machine_type",
        *("x86_64=q35", "x86_64=pc", "x86_64=pc,i686=pc", "x86_64=q35,x86_64=pc", "i686=q35", "aarch64=virt", "q35"),
        *(
            "x86_64=",
            "=pc",
            "X86_64=q35",
            "x86_64 = q35",
            "x86_64=pc-q35-5.2,i686=isapc",
            "x86_64=microvm",
            ",",
            "a=b=c",
        ),
        *("x86_64=nosuch", "x86=pc", "x86_64=pc-i440fx-4.2,,"),
    ),
    "virt type": _one("libvirt", "virt_type", "qemu", "qemu", "kvm"),
    "tpm": _lines(
        "[libvirt] swtpm_enabled = false | [libvirt] swtpm_user = nobody",
        "[libvirt] swtpm_enabled = no | [libvirt] supported_tpm_secret_security = user,barbican",
        "[libvirt] supported_tpm_secret_security =",
        "[libvirt] supported_tpm_secret_security = HOST",
        "[libvirt] swtpm_enabled = yes | [libvirt] swtpm_user = root | [libvirt] swtpm_group = root",
        "[libvirt] swtpm_enabled = 1 | [libvirt] swtpm_user = root | [libvirt] swtpm_group = root"
        " | [libvirt] supported_tpm_secret_security = host, ,user",
    ),
    "memory in files": _lines(
        "[libvirt] file_backed_memory = 0",
        "[libvirt] file_backed_memory = 65536 | [DEFAULT] ram_allocation_ratio = 1.0"
        " | [DEFAULT] reserved_host_memory_mb = 0",
        "[libvirt] file_backed_memory = 1_000 | [DEFAULT] ram_allocation_ratio = 1"
        " | [DEFAULT] reserved_host_memory_mb = 0",
    ),
    "placement": _lines(
        "[placement] cafile = /no/such.pem",
        "[placement] timeout = 7 | [placement] connect_retries = 2 | [placement] connect_retry_delay = 0.5",
        "[placement] valid_interfaces = internal,public | [placement] region_name =",
        "[placement] keyfile = /no/such.key",
        "[placement] min_version = 1.0 | [placement] max_version = 1.99",
        "[placement] split_loggers = yes | [placement] collect_timing = 1",
        "[placement] status_code_retries = -1 | [placement] retriable_status_codes = 503",
        "[placement] username = nova | [placement] password = $ecret",
        "[placement] auth_section = placement",
        "[placement] os_region_name = RegionOne",
        "[placement] randomize_allocation_candidates = true | [placement] incomplete_consumer_project_id = x",
    ),
    "message bus": _lines(
        "[oslo_messaging_rabbit] heartbeat_timeout_threshold = 0 | [oslo_messaging_rabbit] ssl = 1",
        "[oslo_messaging_rabbit] rabbit_retry_interval = 0 | [oslo_messaging_rabbit] kombu_compression = gzip",
        "[oslo_messaging_rabbit] ssl_ca_file = /no/such.pem | [oslo_messaging_rabbit] no_such = 1",
        "[DEFAULT] rpc_response_timeout = 1_0 | [DEFAULT] control_exchange = x",
    ),
    "syntax": _lines(
        "[DEFAULT] cpu_allocation_ratio: 3",
        "[DEFAULT] cpu_allocation_ratio=3\n  ",
        "[compute] cpu_shared_set = 0,\n  1",
        "[compute] image_type_exclude_list = raw,\n\tqcow2",
        "[COMPUTE] cpu_shared_set = 1",
        "[default] cpu_allocation_ratio = 3",
        "[DEFAULT] CPU_ALLOCATION_RATIO = 3",
        "[DEFAULT] # Kommentar: größer, 日本",
        "[DEFAULT] host = Compute-1.EXAMPLE.org | [DEFAULT] reserved_host_memory_mb = 1",
        "[DEFAULT] reserved_host_memory_mb = $reserved_host_disk_mb | [DEFAULT] reserved_host_disk_mb = 1024",
        "[libvirt] images_type = $cpu_mode | [libvirt] cpu_mode = none | [libvirt] images_type = raw",
        "[DEFAULT] reserved_host_disk_mb = 5 | [compute] x = 1 | [DEFAULT] reserved_host_disk_mb = 2048",
    ),
    "tdx": _one("libvirt", "num_intel_tdx_guests", "0", "5", "many", "9999999999", "1_0"),
    "pci": _lines(
        '[pci] device_spec = {"vendor_id": "1af4"}',
        '[pci] device_spec = [{"vendor_id": "1af4", "product_id": "1053"}, {"address": ":00:05.*"}]',
        "[pci] device_spec = [] | [pci] report_in_placement = yes",
        "[pci] device_spec = {} | [pci] report_in_placement = yes",
        '[pci] passthrough_whitelist = {"vendor_id": "1AF4", "product_id": "1042"} | [pci] report_in_placement = on',
        '[pci] report_in_placement = true | [pci] device_spec = {"vendor_id": "1af4", "product_id": "*"}',
        '[pci] report_in_placement = 1 | [pci] device_spec = {"address": "0000:00:05.0", "resource_class": "my gpu-x",'
        ' "traits": "blue, HW_NIC_SRIOV,custom_Red"}',
        '[pci] report_in_placement = yes | [pci] device_spec = {"address": "*:*:04.*", "resource_class": "fpga"}'
        ' | [pci] device_spec = {"vendor_id": "1af4", "physical_network": null, "traits": ",,a b,"}',
        '[pci] report_in_placement = true | [pci] device_spec = {"address": {"domain": "0000", "bus": "00",'
        ' "slot": "0[45]", "function": ".*"}, "resource_class": "FPGA", "traits": "HW_GPU_API_VULKAN,b--c",'
        ' "managed": "no"} | [pci] device_spec = {"vendor_id": "1af4", "physical_network": "physnet1"}',
        '[pci] report_in_placement = true | [pci] device_spec = {"address": "0:0:3.0", "one_time_use": "YES",'
        ' "resource_class": "Été"}',
        '[pci] report_in_placement = true | [pci] device_spec = {"vendor": "1af4", "address": "00:02.0",'
        ' "resource_class": "", "traits": ""}',
        '[pci] report_in_placement = true | [pci] device_spec = {"vendor_id": "dead", "trusted": "true"}'
        ' | [pci] device_spec = {"vendor_id": "*", "product_id": "1042", "live_migratable": "no", "x": "y"}',
        '[pci] report_in_placement = off | [pci] device_spec = {"devname": "eth7", "physical_network": "p"}',
        '[pci] report_in_placement = true | [pci] device_spec = {"vendor_id": "0x1af4", "product_id": "0x1042"}',
    ),
    "mediated devices": _lines(
        "[devices] enabled_mdev_types = nvidia-35",
        "[devices] enabled_mdev_types = nvidia-35, | [mdev_nvidia-35] device_addresses = 0000:84:00.0,",
        "[devices] enabled_vgpu_types = a, b | [vgpu_a] device_addresses = 0000:84:00.0"
        " | [vgpu_b] device_addresses = 0000:85:00.0",
        "[devices] enabled_mdev_types = a | [mdev_a] mdev_class = CUSTOM_THING | [mdev_a] max_instances = 3",
    ),
    "networks": _lines(
        "[neutron] physnets = one,two | [neutron_physnet_one] numa_nodes = 0 | [neutron_physnet_two] numa_nodes = 0,0",
        "[neutron_tunnel] numa_nodes = +0",
        "[neutron_tunnel] numa_nodes =",
    ),
    "times": _lines(
        "[DEFAULT] service_down_time = 0",
        "[DEFAULT] service_down_time = -5 | [DEFAULT] report_interval = 0",
        "[DEFAULT] rpc_response_timeout = 0",
        "[DEFAULT] update_resources_interval = -1",
        "[DEFAULT] update_resources_interval = 0",
        "[DEFAULT] update_resources_interval = 1_0",
        "[DEFAULT] update_resources_interval = 99999999",
        "[DEFAULT] update_resources_interval =",
    ),
    "form": _lines(
        "[DEFAULT] instances_path = $state_path/instances",
        "[DEFAULT] instances_path = ${state_path}/instances/",
        "[DEFAULT] instances_path = $state_path//instances/../instances",
        '[DEFAULT] instances_path = "$state_path/instances"',
        "[DEFAULT] my_ip = ::1 | [DEFAULT] cpu_allocation_ratio = 3 | [DEFAULT] cpu_allocation_ratio = 5",
        "[DEFAULT] no_such_option = 1 | [no_such_group] a = b | [libvirt] misspelt = $nobody",
        "[compute] provider_config_location =",
        "[compute] provider_config_location = /no/such/folder",
        "[DEFAULT] # a comment | [DEFAULT] ; another | [DEFAULT] ram-allocation-ratio = 7",
        "[libvirt] connection_uri =",
        "[libvirt] connection_uri = qemu:///system",
        "[database] max_retries = -1 | [DEFAULT] debug = yes | [DEFAULT] compute_monitors = none.such",
    ),
    "provider file": (
        _file(_PROVIDER_FILE.format(total=22, more="reserved: 2", traits="CUSTOM_RACK_17, HW_CPU_X86_AVX")),
        _file(_PROVIDER_FILE.format(total=1, more="allocation_ratio: 1.5", traits="")),
        _file(_PROVIDER_FILE.format(total=2147483647, more="min_unit: 3", traits="CUSTOM_A, CUSTOM_A_")),
        _file("# nothing\nmeta: {schema_version: '1.0'}\nproviders: []\n"),
        _file("meta: {schema_version: '1.9'}\nproviders: []\nnew_key: 7\n"),
    ),
}

#: Values with which nova-compute 34 does not start, or fails each of its audits; few variants have one. A ratio of nan
#: or inf is not in the list: MariaDB refuses it in the compute node record, and the SQLite file here does not.
REFUSED: tuple[Choice, ...] = _lines(
    "[compute] cpu_shared_set = 0-1,^2-7",
    "[compute] cpu_shared_set = 0x1",
    "[compute] cpu_shared_set = 0 | [compute] cpu_dedicated_set = 0-1",
    "[compute] cpu_shared_set = 0,77",
    "[compute] cpu_dedicated_set = 99",
    "[compute] cpu_shared_set = ^0",
    "[compute] cpu_shared_set = 0 | [DEFAULT] reserved_host_cpus = 1",
    "[DEFAULT] reserved_host_cpus = 64",
    "[DEFAULT] reserved_host_cpus = 0x1",
    "[DEFAULT] ram_allocation_ratio = 1e39",
    "[DEFAULT] disk_allocation_ratio = 1,5",
    "[DEFAULT] reserved_host_memory_mb = 100000000",
    "[DEFAULT] reserved_host_memory_mb = 1e3",
    "[DEFAULT] reserved_host_disk_mb = 100000000",
    "[DEFAULT] reserved_host_disk_mb = -1",
    "[DEFAULT] reserved_huge_pages = node:0,size:2048",
    "[DEFAULT] reserved_huge_pages = node:0,size:2XB,count:1",
    "[DEFAULT] disk_allocation_ratio = 2 | [DEFAULT] initial_disk_allocation_ratio = some",
    "[libvirt] cpu_mode =",
    "[neutron_tunnel] numa_nodes = 0-0",
    "[neutron] physnets = two | [neutron_physnet_two] numa_nodes = 0,5",
    "[libvirt] virt_type = KVM2",
    "[libvirt] images_type = qcow3",
    f"[libvirt] images_type = LVM | [libvirt] images_volume_group = {GROUP}",
    "[libvirt] images_type = lvm | [libvirt] images_volume_group = no-such-group",
    "[libvirt] images_type = rbd",
    "[libvirt] cpu_mode = custom | [libvirt] cpu_models = NoSuchModel",
    "[libvirt] cpu_mode = Host-Model",
    "[libvirt] cpu_models = 486",
    "[libvirt] file_backed_memory = 1024",
    "[libvirt] file_backed_memory = -1",
    "[libvirt] file_backed_memory = 512 | [DEFAULT] ram_allocation_ratio = 1.0",
    "[libvirt] file_backed_memory = 9999999 | [DEFAULT] ram_allocation_ratio = 1.0",
    "[placement] certfile = /no/such.pem | [placement] keyfile = /no/such.key",
    "[placement] insecure = 1 | [placement] timeout = 0",
    "[placement] valid_interfaces = nonsense",
    "[placement] service_type = resources | [placement] service_name = x",
    "[DEFAULT] transport_url =",
    "[DEFAULT] my_ip = not an address",
    "[DEFAULT] reserved_huge_pages = node:0,size:2048,count:8,",
    "[DEFAULT] reserved_huge_pages =",
    "[libvirt] swtpm_enabled = yes | [libvirt] swtpm_user = no-such-user",
    "[libvirt] pmem_namespaces = 128G:ns0",
    "[libvirt] hw_machine_type = $nobody",
    "[pci] device_spec = {vendor_id: 1af4}",
    '[pci] device_spec = {"vendor_id": "1af4x"}',
    '[pci] device_spec = {"vendor_id": "1af4", "x": {"y": [1]}}',
    '[pci] device_spec = {"vendor_id": "1af4", "live_migratable": "yes"}',
    '[pci] device_spec = {"vendor_id": "1af4", "one_time_use": "true"}',
    '[pci] report_in_placement = true | [pci] device_spec = {"address": "0000:00:05.0", "devname": "eth0"}',
    '[pci] report_in_placement = true | [pci] device_spec = {"devname": "eth0"}',
    "[devices] enabled_mdev_types = a,b",
    "[devices] enabled_mdev_types = a | [mdev_a] mdev_class = no class",
    "[neutron] physnets = one",
    "[neutron] physnets = one | [neutron_physnet_one] numa_nodes =",
    "[neutron_tunnel] numa_nodes = x",
    "[DEFAULT] instances_path = instances",
    "[DEFAULT] instances_path = $nobody/instances",
    "[DEFAULT] service_down_time = soon",
)
