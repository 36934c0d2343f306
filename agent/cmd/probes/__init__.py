"""Ask every service and folder that the agent uses whether it answers, for ``stocktake config check --live``.

The probes change nothing.

Begin with probe.py: what a probe is, and how all probes run at the same time. Each other module has the probes of one
subject: a function that returns the probes for a configuration. ``FAMILIES`` lists these functions.

To add a probe, write such a function and add it to ``FAMILIES``. The probe's ``ask`` returns one sentence about what
answered, or raises an AgentError or OSError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent.cmd.probes.broker import broker_probes
from agent.cmd.probes.folders import folder_probes
from agent.cmd.probes.host import libvirt_probes, volume_group_probes
from agent.cmd.probes.monitoring import monitoring_probes
from agent.cmd.probes.placement import placement_probes
from agent.cmd.probes.probe import Probe
from agent.cmd.probes.state import state_probes
from agent.config.loaded import Loaded

#: The functions that make the probes, in the order of the output.
FAMILIES: tuple[Callable[[Loaded], Iterable[Probe]], ...] = (
    placement_probes,
    state_probes,
    libvirt_probes,
    volume_group_probes,
    broker_probes,
    folder_probes,
    monitoring_probes,
)


def probes_for(loaded: Loaded) -> tuple[Probe, ...]:
    """Return every probe for this configuration, in the order of the output; the probes have not been asked yet."""
    return tuple(probe for family in FAMILIES for probe in family(loaded))
