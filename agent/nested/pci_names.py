"""The names of a PCI device in Placement: the resource class and the traits of its spec.

The names are normalised exactly as by nova-compute. nova's API normalises the names of a PCI alias by the same rules,
and only equal names match. So this module must not correct a name that nova would not correct. For example, a blank
after a comma in ``traits`` becomes part of the name: "A, B" becomes CUSTOM_A and CUSTOM__B.
"""

from __future__ import annotations

import os_resource_classes
import os_traits

from agent.model.host.device_spec import DeviceSpec
from agent.text.custom_names import NAME_LIMIT, is_custom_name
from agent.traits.standard_names import ONE_TIME_USE, STANDARD

MANAGED: str = os_traits.COMPUTE_MANAGED_PCI_DEVICE
CLASS_LIMIT = NAME_LIMIT


def class_of(spec: DeviceSpec, vendor_id: str, product_id: str) -> str:
    """Return the resource class of a device that this spec matches."""
    asked = spec.tag("resource_class")
    if not asked:
        return f"CUSTOM_PCI_{vendor_id}_{product_id}".upper()
    name = asked.upper()
    if name in os_resource_classes.STANDARDS or os_resource_classes.is_custom(name):
        return name
    return str(os_resource_classes.normalize_name(name))


def traits_of(spec: DeviceSpec) -> frozenset[str]:
    """Return the traits that a provider has if ``spec`` matches its devices. The owner trait is not among them."""
    asked = (spec.tag("traits") or "").split(",")
    traits = {_trait(name) for name in asked if name} | {MANAGED}
    if spec.tag("live_migratable") == "true":
        traits.add(os_traits.HW_PCI_LIVE_MIGRATABLE)
    if spec.tag("one_time_use") == "true":
        traits.add(ONE_TIME_USE)
    return frozenset(traits)


def _trait(name: str) -> str:
    if name in STANDARD:
        return name
    upper = name.upper()
    return upper if os_traits.is_custom(upper) else str(os_traits.normalize_name(upper))


def is_valid_name(name: str) -> bool:
    """Whether Placement accepts the name as a resource class or trait: a standard name, or a valid CUSTOM_ name."""
    return name in STANDARD or name in os_resource_classes.STANDARDS or is_custom_name(name)
