"""Pure: which ``[pci] device_spec`` cannot stand beside ``[pci] report_in_placement`` (hypervisor-audit 7.2, 7.5).

What only the devices can tell (a function and its virtual ones both named) is not
here: agent/nested/pci.py finds it, and keeps the rest of the host going.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.host.device_spec import DeviceSpec, PciSettings
from agent.nested.pci_names import CLASS_LIMIT, class_of, is_valid_name, traits_of


def placement_problems(settings: PciSettings) -> tuple[str, ...]:
    """What cannot work between the specs and ``report_in_placement`` (hypervisor-audit 7.2, 7.5), a sentence each."""
    if not settings.report_in_placement:
        return tuple(
            f"{spec.text}: one_time_use needs [pci] report_in_placement = true"
            for spec in settings.specs
            if spec.tag("one_time_use") == "true"
        )
    return tuple(f"{spec.text}: {problem}" for spec in settings.specs for problem in _unreportable(spec))


def _unreportable(spec: DeviceSpec) -> Iterable[str]:
    if spec.devname is not None:
        yield "devname cannot stand beside [pci] report_in_placement; name the device by its address"
    if spec.tag("physical_network"):
        return
    names = [("resource_class", class_of(spec, "0000", "0000"))]
    names += [("traits", trait) for trait in sorted(traits_of(spec))]
    for tag, name in names:
        if not is_valid_name(name):
            shown = name if len(name) <= CLASS_LIMIT else f"{name[:40]}..."
            yield (
                f"{tag} gives {shown!r}, which Placement refuses: "
                f"A-Z, 0-9 and _ only, and at most {CLASS_LIMIT} characters"
            )
