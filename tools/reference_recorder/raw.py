"""nova-compute's inputs from a host, read once more for the recording: libvirt's answers, /proc, /sys, lvm2.

The calls are nova 34's: for which architectures and machine types it requests domain capabilities (virt/libvirt/host.py
get_domain_capabilities), and how it requests a CPU model's features (driver.py _get_cpu_feature_traits).
"""

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

import libvirt

from agent.sources.storage import lvm_json
from reference_recorder import options
from reference_recorder.options import Options
from reference_recorder.surroundings import Scratch

_EXPAND = libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
_DEFAULT_MACHINES = {
    "armv7l": "virt",
    "aarch64": "virt",
    "ppc64le": "pseries",
    "s390": "s390-ccw-virtio",
    "s390x": "s390-ccw-virtio",
    "i686": "pc",
    "x86_64": "pc",
}
_DEFAULT_MODELS = {"x86_64": "qemu64", "i686": "qemu32", "ppc64le": "POWER8", "aarch64": "max"}
_PARAMETERS = ("sev", "sev_es", "sev_snp")
_DEVICES = (
    libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_VDPA
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV_TYPES
)


def read_texts(
    connection: libvirt.virConnect, conf: Options, scratch: Scratch, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the texts by name of the recorded file."""
    texts = {"capabilities.xml": connection.getCapabilities()}
    capabilities = ET.fromstring(texts["capabilities.xml"])
    texts |= _baselines(connection, capabilities.find("host/cpu"), conf)
    for name, arguments in domain_capability_questions(capabilities, conf):
        texts[f"domain_capabilities/{name}.xml"] = connection.getDomainCapabilities(*arguments, 0)
    for device in connection.listAllDevices(_DEVICES):
        texts[f"node_devices/{device.name()}.xml"] = device.XMLDesc(0)
    texts["meminfo.txt"] = Path("/proc/meminfo").read_text()
    texts["host.json"] = json.dumps(_host(connection, scratch), indent=1) + "\n"
    if options.value(conf, "libvirt", "images_type", "default") == "lvm":
        texts |= _volume_group(options.value(conf, "libvirt", "images_volume_group", ""), environment)
    return texts


def domain_capability_questions(
    capabilities: ET.Element, conf: Options
) -> Iterator[tuple[str, tuple[str | None, str, str | None, str]]]:
    """Yield (name, (emulator, arch, machine, virt_type)) of each of nova's calls, in the order of the capabilities."""
    virt_type = options.value(conf, "libvirt", "virt_type", "kvm")
    configured = dict(
        entry.split("=", 1) for entry in options.value(conf, "libvirt", "hw_machine_type", "").split(",") if entry
    )
    for arch in capabilities.findall("guest/arch"):
        name = arch.get("name", "")
        domain = next((found for found in arch.findall("domain") if found.get("type") == virt_type), arch)
        emulator = domain.findtext("emulator") or arch.findtext("emulator")
        listed = domain.findall("machine") or arch.findall("machine")
        aliases = {machine.text for machine in listed if machine.get("canonical")}
        for machine in sorted(aliases | {configured.get(name, _DEFAULT_MACHINES.get(name))}, key=str):
            yield f"{name}-{machine or 'default'}-{virt_type}", (emulator, name, machine, virt_type)


def _baselines(connection: libvirt.virConnect, cpu: ET.Element, conf: Options) -> dict[str, str]:
    """Return the features of the host's CPU, and of the models that cpu_mode none and custom use.

    If libvirt refuses a model, NAME.error.txt has the error's text.
    """
    texts = {"expanded_cpu.xml": connection.baselineCPU([ET.tostring(cpu, encoding="unicode")], _EXPAND)}
    arch = cpu.findtext("arch", "")
    known = connection.getCPUModelNames(arch)
    texts["cpu_model_names.json"] = json.dumps(known, indent=1) + "\n"
    spelled = {name.lower(): name for name in known}
    configured = options.value(conf, "libvirt", "cpu_models", "").lower().split(",")
    asked = {spelled[name.strip()] for name in configured if name.strip()}
    for model in sorted(asked | {_DEFAULT_MODELS.get(arch, "")} - {""}):
        question = ET.Element("cpu")
        for name in ("arch", "vendor", "topology"):
            if (found := cpu.find(name)) is not None:
                question.append(found)
        ET.SubElement(question, "model").text = model
        try:
            texts[f"baseline/{model}.xml"] = connection.baselineCPU(
                [ET.tostring(question, encoding="unicode")], _EXPAND
            )
        except libvirt.libvirtError as error:
            texts[f"baseline/{model}.error.txt"] = f"{error.get_error_code()} {error}\n"
    return texts


def _host(connection: libvirt.virConnect, scratch: Scratch) -> dict[str, object]:
    found = os.statvfs(scratch.instances)
    uptime = subprocess.run(["env", "LANG=C", "uptime"], check=True, capture_output=True, text=True, timeout=30)
    return {
        "lib_version": connection.getLibVersion(),
        "version": connection.getVersion(),
        "type": connection.getType(),
        "info": connection.getInfo(),
        "cpu_map": connection.getCPUMap(),
        "statvfs": {name: getattr(found, name) for name in ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail")},
        "image_cache": _image_cache(scratch),
        "module_parameters": {
            f"kvm_amd/{name}": _text(Path(f"/sys/module/kvm_amd/parameters/{name}")) for name in _PARAMETERS
        },
        "cgroup_misc_capacity": _text(Path("/sys/fs/cgroup/misc.capacity")),
        "uptime": uptime.stdout,
    }


def _image_cache(scratch: Scratch) -> dict[str, object] | None:
    if not scratch.images.is_dir():
        return None
    return {
        "same_device": scratch.images.stat().st_dev == scratch.instances.stat().st_dev,
        "files": [
            {
                "name": path.name,
                "directory": path.is_dir(),
                "st_size": path.lstat().st_size,
                "st_blocks": path.lstat().st_blocks,
            }
            for path in sorted(scratch.images.iterdir())
        ],
    }


def _volume_group(group: str, environment: Mapping[str, str]) -> dict[str, str]:
    ours = ("--noheadings", "--nosuffix", "--separator", "|", "--units", "b", "-o", "vg_size,vg_free", group)
    commands = {
        "vgs_of_nova.txt": ("vgs", *ours),
        "vgs.json": ("vgs", *lvm_json.FORMAT, "-o", lvm_json.GROUP_COLUMNS),
        "lvs.json": ("lvs", "-a", *lvm_json.FORMAT, "-o", lvm_json.VOLUME_COLUMNS, group),
    }
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    fixed = {"PATH": path, "LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"}
    return {
        name: subprocess.run(
            argv, check=True, capture_output=True, text=True, timeout=30, env={**os.environ, **fixed, **environment}
        ).stdout
        for name, argv in commands.items()
    }


def _text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None
