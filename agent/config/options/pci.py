"""[pci]: the PCI devices that guests may get. The options have the names and the meaning that they have in nova.conf.

This module cannot find conflicts that only the real devices show, for example entries that match both a physical
function and its virtual functions. agent/nested/pci_offers.py finds these conflicts in each audit. They do not end the
audit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from oslo_config import cfg

from agent.config.loaded import Loaded
from agent.config.options.device_spec import earlier_twin, oddities, parse_device_specs
from agent.config.problems import refuse
from agent.model.host.device_spec import DeviceSpec, PciSettings

GROUP = "pci"

OPTS = FROM_NOVA = [
    cfg.MultiStrOpt(
        "device_spec",
        default=[],
        deprecated_opts=[
            cfg.DeprecatedOpt("passthrough_whitelist", group=GROUP),
            cfg.DeprecatedOpt("pci_passthrough_whitelist", group="DEFAULT"),
        ],
        help="PCI devices that guests may get: a JSON object or a list of objects, as in "
        '{"vendor_id": "10de", "product_id": "1eb8", "resource_class": "CUSTOM_T4"}. The option may be set several '
        "times. If several objects match a device, the first object applies. A new value needs a restart.",
    ),
    cfg.BoolOpt(
        "report_in_placement",
        default=False,
        help="Report the devices of device_spec as providers in Placement, except those with physical_network. Nova "
        "has the same default. nova-compute does not start if the option is false and Placement still has "
        "providers of PCI devices. A new value needs a restart.",
    ),
]


def pci(loaded: Loaded) -> PciSettings:
    """Return the PCI settings. Raises ConfigError with each spec that is malformed or that Placement would refuse."""
    report = loaded.value("pci", "report_in_placement")
    problems: list[str] = []
    specs: list[DeviceSpec] = []
    for text, origin in loaded.entries("pci", "device_spec"):
        try:
            parsed = parse_device_specs([text])
            found = placement_problems(PciSettings(specs=parsed, report_in_placement=report))
            specs += parsed
        except ValueError as error:
            found = error.args
        problems += [f"{origin}: [pci] device_spec = {problem}" for problem in found]
    refuse(problems)
    return PciSettings(specs=tuple(specs), report_in_placement=report)


def pci_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice for each valid entry that matches every device, has no effect, or has keys without effect."""
    earlier: list[DeviceSpec] = []
    for text, origin in loaded.entries("pci", "device_spec"):
        specs: tuple[DeviceSpec, ...] = ()
        with contextlib.suppress(ValueError):
            specs = parse_device_specs([text])
        for spec in specs:
            quoted = f"{origin}: [pci] device_spec = {spec.text}"
            yield from (f"{quoted}: {odd}" for odd in oddities(spec))
            if twin := earlier_twin(spec, earlier):
                yield f"{quoted}: has no effect, because {twin.text} matches the same devices and comes before it"
            earlier.append(spec)


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
    # Import late: the import takes 50 ms, and commands such as `stocktake status` do not need this module.
    from agent.nested.pci_names import CLASS_LIMIT, class_of, is_valid_name, traits_of

    names = [("resource_class", class_of(spec, "0000", "0000"))]
    names += [("traits", trait) for trait in sorted(traits_of(spec))]
    for tag, name in names:
        if not is_valid_name(name):
            shown = name if len(name) <= CLASS_LIMIT else f"{name[:40]}..."
            yield (
                f"{tag} leads to the name {shown!r}, which Placement refuses: "
                f"a valid name has only A-Z, 0-9 and _, and at most {CLASS_LIMIT} characters"
            )
