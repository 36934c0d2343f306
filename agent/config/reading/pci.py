"""Read which PCI devices guests may get, and whether the devices are providers in Placement."""

from __future__ import annotations

from collections.abc import Iterator

from agent.config.load import Loaded
from agent.config.reading.device_spec import parse_device_specs
from agent.config.reading.device_spec_notices import earlier_twin, oddities
from agent.config.reading.pci_reporting import placement_problems
from agent.config.reading.problems import refuse
from agent.model.host.device_spec import DeviceSpec, PciSettings


def pci(loaded: Loaded) -> PciSettings:
    """Return ``[pci]``. Raises ConfigError for each spec that is malformed or cannot be reported to Placement."""
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
        for spec in _readable(text):
            quoted = f"{origin}: [pci] device_spec = {spec.text}"
            yield from (f"{quoted}: {odd}" for odd in oddities(spec))
            if twin := earlier_twin(spec, earlier):
                yield f"{quoted}: has no effect, because {twin.text} matches the same devices and comes before it"
            earlier.append(spec)


def _readable(text: str) -> tuple[DeviceSpec, ...]:
    try:
        return parse_device_specs([text])
    except ValueError:
        return ()
