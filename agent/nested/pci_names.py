"""Names that a PCI device gets in Placement: resource class and traits of its spec (hypervisor-audit 7.5, 9).

Normalised exactly as nova-compute does, because nova's API normalises the names of
a PCI alias by the same rules, and only equal names meet. So a blank after a comma
in ``traits`` counts: "A, B" gives CUSTOM_A and CUSTOM__B.
"""

from __future__ import annotations

import os_resource_classes
import os_traits

from agent.model.host.device_spec import DeviceSpec
from agent.text.custom_names import NAME_LIMIT, is_custom_name

MANAGED: str = os_traits.COMPUTE_MANAGED_PCI_DEVICE
CLASS_LIMIT = NAME_LIMIT
_STANDARD_TRAITS = frozenset(os_traits.get_traits())


def class_of(spec: DeviceSpec, vendor_id: str, product_id: str) -> str:
    """The resource class of a device that this spec matches."""
    asked = spec.tag("resource_class")
    if not asked:
        return f"CUSTOM_PCI_{vendor_id}_{product_id}".upper()
    name = asked.upper()
    if name in os_resource_classes.STANDARDS or os_resource_classes.is_custom(name):
        return name
    return str(os_resource_classes.normalize_name(name))


def traits_of(spec: DeviceSpec) -> frozenset[str]:
    """All traits of a provider whose devices this spec matches, but for its owner's."""
    asked = (spec.tag("traits") or "").split(",")
    traits = {_trait(name) for name in asked if name} | {MANAGED}
    if spec.tag("live_migratable") == "true":
        traits.add(os_traits.HW_PCI_LIVE_MIGRATABLE)
    if spec.tag("one_time_use") == "true":
        traits.add(os_traits.HW_PCI_ONE_TIME_USE)
    return frozenset(traits)


def _trait(name: str) -> str:
    if name in _STANDARD_TRAITS:
        return name
    upper = name.upper()
    return upper if os_traits.is_custom(upper) else str(os_traits.normalize_name(upper))


def is_valid_name(name: str) -> bool:
    """Whether Placement takes it as a class or a trait: a standard one, or one of the operator's own."""
    return name in _STANDARD_TRAITS or name in os_resource_classes.STANDARDS or is_custom_name(name)
