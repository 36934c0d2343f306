"""Which PCI devices guests may get, and whether they are providers in Placement (hypervisor-audit 7.2, 7.5)."""

from __future__ import annotations

from agent.config.device_spec import parse_device_specs
from agent.config.load import Loaded
from agent.config.pci_reporting import placement_problems
from agent.config.reading.problems import refuse
from agent.model.device_spec import DeviceSpec, PciSettings


def pci(loaded: Loaded) -> PciSettings:
    """``[pci]``. Raises ConfigError, a sentence for each spec that is malformed or cannot be reported."""
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
