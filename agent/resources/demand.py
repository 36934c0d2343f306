"""What a flavor asks of Placement, class by class.

Follows nova/scheduler/utils.py: DISK_GB = root (0 if volume-backed) + ephemeral
+ swap rounded up; dedicated CPUs are PCPU; persistent memory by its labels;
``resources:X=N`` overrides, and 0 takes the class away. Zero amounts are no demand.
"""

from __future__ import annotations

from collections import Counter

import os_resource_classes

from agent.model.nova import Flavor
from agent.model.units import mib_to_gib_ceil

PMEM_PREFIX = "CUSTOM_PMEM_NAMESPACE_"
_OVERRIDE = "resources:"


def demand(flavor: Flavor, *, boots_from_volume: bool) -> dict[str, int]:
    """Amounts by resource class: vCPUs, MiB, GiB."""
    specs = dict(flavor.extra_specs)
    disk = (0 if boots_from_volume else flavor.root_gib) + flavor.ephemeral_gib + mib_to_gib_ceil(flavor.swap_mib)
    wanted = {"MEMORY_MB": flavor.memory_mib, "DISK_GB": disk, **_cpus(flavor.vcpus, specs), **_pmem(specs)}
    wanted.update(_overrides(specs))
    return {resource_class: amount for resource_class, amount in sorted(wanted.items()) if amount > 0}


def _cpus(vcpus: int, specs: dict[str, str]) -> dict[str, int]:
    policy = specs.get("hw:cpu_policy", "")
    # An isolated emulator thread takes one more dedicated CPU (hw:emulator_threads_policy).
    extra = 1 if specs.get("hw:emulator_threads_policy") == "isolate" else 0
    if policy == "dedicated":
        return {"PCPU": vcpus + extra}
    if policy == "mixed":
        # Without a mask of its own the real-time CPUs are the dedicated ones.
        mask = specs.get("hw:cpu_dedicated_mask") or specs.get("hw:cpu_realtime_mask", "")
        dedicated = _mask_size(mask, vcpus)
        return {"PCPU": dedicated + extra, "VCPU": vcpus - dedicated}
    return {"VCPU": vcpus}


def pmem_class(label: str) -> str:
    """The class of a label of persistent memory: upper case, each run of other characters one underscore."""
    return str(os_resource_classes.normalize_name(f"PMEM_NAMESPACE_{label}"))


def _pmem(specs: dict[str, str]) -> dict[str, int]:
    """``hw:pmem`` lists a label for each namespace, so one that is there twice asks for two (nova's get_vpmems)."""
    labels = (label.strip() for label in specs.get("hw:pmem", "").split(","))
    return Counter(pmem_class(label) for label in labels if label)


def _mask_size(mask: str, vcpus: int) -> int:
    from agent.model.cpuset import parse_cpu_list

    try:
        if mask.startswith("^"):
            mask = f"0-{vcpus - 1},{mask}"
        return len([cpu for cpu in parse_cpu_list(mask) if cpu < vcpus])
    except ValueError:
        return 0


def _overrides(specs: dict[str, str]) -> dict[str, int]:
    found = {}
    for key, value in specs.items():
        if key.startswith(_OVERRIDE) and value.isdecimal():
            found[key.removeprefix(_OVERRIDE)] = int(value)
    return found
