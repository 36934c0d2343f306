"""Compute what a flavor requests from Placement, class by class.

The rules are those of nova/scheduler/utils.py:ResourceRequest. DISK_GB = root (0 if volume-backed) + ephemeral + swap
rounded up to GiB. Dedicated CPUs are PCPU. Each label of persistent memory has a class. A guest with encrypted memory
takes one MEM_ENCRYPTION_CONTEXT.

An extra spec ``resources:X=N`` replaces the flavor's own number for VCPU, MEMORY_MB or DISK_GB, and N=0 removes the
class. With ``resources:PCPU=N``, the flavor's own VCPU do not count. ``hw:cpu_policy`` and ``hw:pmem`` take precedence
over ``resources:X=N``. ``hw:mem_encryption`` adds one context. An extra spec may belong to a numbered or named group
(``resources1:X=N``, ``resources_NAME:X=N``). The amounts of a class in all groups are added up. Zero amounts are left
out. Requests of an image, a port or a device profile are not part of a flavor.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping

import os_resource_classes

from agent.model.host.cpuset import parse_cpu_list
from agent.model.nova import Flavor
from agent.model.units import mib_to_gib_ceil

PMEM_PREFIX = "CUSTOM_PMEM_NAMESPACE_"
CONTEXT = "MEM_ENCRYPTION_CONTEXT"
# Matches an extra spec that requests a class. Group 1: the suffix of a numbered or named group, if any; group 2: the
# class.
ASKED = re.compile(r"resources([a-zA-Z0-9_-]{1,64})?:(.+)")
# The texts that oslo.utils' strutils.bool_from_string treats as true.
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})


# Cached: every resource calls this function for every instance, but 1,000 guests have only a few flavors.
@functools.lru_cache(maxsize=512)
def demand(flavor: Flavor, *, boots_from_volume: bool) -> Mapping[str, int]:
    """Return the amount of each resource class that the flavor requests, in the unit of the class."""
    specs = dict(flavor.extra_specs)
    wanted = _asked(specs)
    wanted.update(_policy_cpus(flavor.vcpus, specs))
    if "VCPU" not in wanted and "PCPU" not in wanted:
        wanted["VCPU"] = flavor.vcpus
    disk = (0 if boots_from_volume else flavor.root_gib) + flavor.ephemeral_gib + mib_to_gib_ceil(flavor.swap_mib)
    wanted.setdefault("MEMORY_MB", flavor.memory_mib)
    wanted.setdefault("DISK_GB", disk)
    wanted.update(_pmem(specs))
    if specs.get("hw:mem_encryption", "").strip().lower() in _TRUE:
        wanted[CONTEXT] += 1
    return {resource_class: amount for resource_class, amount in sorted(wanted.items()) if amount > 0}


def _asked(specs: Mapping[str, str]) -> Counter[str]:
    """Return, by class, the amounts in ``resources:X=N`` extra specs, summed over numbered and named groups."""
    found: Counter[str] = Counter()
    for key, value in specs.items():
        if (match := ASKED.fullmatch(key)) and value.isdecimal():
            found[match[2]] += int(value)
    return found


def _policy_cpus(vcpus: int, specs: Mapping[str, str]) -> dict[str, int]:
    """Return the CPU classes that ``hw:cpu_policy`` requests; empty if it requests no dedicated CPU."""
    policy = specs.get("hw:cpu_policy", "")
    # An isolated emulator thread takes one more dedicated CPU (hw:emulator_threads_policy).
    extra = 1 if specs.get("hw:emulator_threads_policy") == "isolate" else 0
    if policy == "dedicated":
        return {"PCPU": vcpus + extra}
    if policy == "mixed":
        # If hw:cpu_dedicated_mask is not set, hw:cpu_realtime_mask names the dedicated CPUs.
        mask = specs.get("hw:cpu_dedicated_mask") or specs.get("hw:cpu_realtime_mask", "")
        dedicated = _mask_size(mask, vcpus)
        return {"PCPU": dedicated + extra, "VCPU": vcpus - dedicated}
    return {}


def pmem_class(label: str) -> str:
    """Return the class for a label of persistent memory: CUSTOM_PMEM_NAMESPACE_MY_LABEL for "my-label"."""
    return str(os_resource_classes.normalize_name(f"PMEM_NAMESPACE_{label}"))


def _pmem(specs: Mapping[str, str]) -> dict[str, int]:
    """Return the persistent memory that ``hw:pmem`` requests.

    ``hw:pmem`` has one label per namespace, so a label that appears twice requests two namespaces (nova's get_vpmems).
    """
    labels = (label.strip() for label in specs.get("hw:pmem", "").split(","))
    return Counter(pmem_class(label) for label in labels if label)


def _mask_size(mask: str, vcpus: int) -> int:
    try:
        if mask.startswith("^"):
            mask = f"0-{vcpus - 1},{mask}"
        return len([cpu for cpu in parse_cpu_list(mask) if cpu < vcpus])
    except ValueError:
        return 0
