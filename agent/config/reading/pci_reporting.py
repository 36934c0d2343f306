"""Find entries of ``[pci] device_spec`` that conflict with ``[pci] report_in_placement``.

Conflicts that only the real devices show are not found here, for example entries that
match both a physical function and its virtual functions. agent/nested/pci.py finds those
at the audit, and the rest of the host is still audited.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.host.device_spec import DeviceSpec, PciSettings
from agent.nested.pci_names import CLASS_LIMIT, class_of, is_valid_name, traits_of


def placement_problems(settings: PciSettings) -> tuple[str, ...]:
    """Return a sentence for each conflict between a spec and ``report_in_placement``."""
    if not settings.report_in_placement:
        return tuple(
            f"{spec.text}: one_time_use needs [pci] report_in_placement = true"
            for spec in settings.specs
            if spec.tag("one_time_use") == "true"
        )
    return tuple(f"{spec.text}: {problem}" for spec in settings.specs for problem in _unreportable(spec))


def _unreportable(spec: DeviceSpec) -> Iterable[str]:
    if spec.devname is not None:
        yield "devname cannot be used with [pci] report_in_placement; name the device by its address"
    if spec.tag("physical_network"):
        return
    names = [("resource_class", class_of(spec, "0000", "0000"))]
    names += [("traits", trait) for trait in sorted(traits_of(spec))]
    for tag, name in names:
        if not is_valid_name(name):
            shown = name if len(name) <= CLASS_LIMIT else f"{name[:40]}..."
            yield (
                f"{tag} leads to the name {shown!r}, which Placement refuses: "
                f"A-Z, 0-9 and _ only, and at most {CLASS_LIMIT} characters"
            )
