"""Query facts that stay constant while a connection to libvirt lasts: topology, hypervisor version, all capabilities.

After its start the libvirt daemon probes each QEMU binary before it answers (4 s, measured). The agent therefore
queries once per connection, on a separate thread. In three cases the agent queries again:

- The set of online CPUs has changed: the capabilities list neither core nor socket for an offline CPU.
- A part is missing and ten minutes have passed: an operator may have given the agent the missing permission since then.
- A part is missing because stocktake-probe did not answer: the next read asks again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from oslo_log import log as logging

from agent.model.host.capabilities import Capabilities
from agent.sources.libvirt.capabilities import Asker, read_capabilities, read_version
from agent.sources.libvirt.capabilities_xml import capabilities_document
from agent.sources.libvirt.topology_xml import HostTopology, topology_of

LOG = logging.getLogger("stocktake.source")

ASK_MISSING_AGAIN_S = 600.0

_SLOW_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Nature:
    """What libvirt says about the host and QEMU. It is valid while the set of online CPUs equals ``online``.

    ``asked_at`` is the time of the answers in monotonic seconds.
    """

    topology: HostTopology
    online: tuple[bool, ...]
    hypervisor_version: int
    capabilities: Capabilities
    asked_at: float

    def still_holds(self, online: tuple[bool, ...], now: float) -> bool:
        """Return whether the answers are still valid, so that no new query is needed."""
        if online != self.online:
            return False
        missing = self.capabilities.missing
        if any(part.passing for part in missing):
            return False
        return not missing or now - self.asked_at < ASK_MISSING_AGAIN_S


def learn(asker: Asker, online: tuple[bool, ...]) -> Nature:
    """Ask libvirt about the host and QEMU. Raises libvirtError, or SourceInconsistent for a contradictory topology."""
    started = time.monotonic()
    document = capabilities_document(asker.connection.getCapabilities())
    topology = topology_of(document)
    version, missing = read_version(asker.connection)
    capabilities = read_capabilities(document, asker)
    took_s = time.monotonic() - started
    if took_s > _SLOW_S:
        LOG.warning(
            "libvirt took long to report its capabilities. Two possible causes: libvirt had to renew its cache of "
            "QEMU's capabilities, or QEMU's user cannot open /dev/kvm (then every call is slow)",
            extra={"seconds": round(took_s, 1)},
        )
    return Nature(
        topology=topology,
        online=online,
        hypervisor_version=version,
        capabilities=replace(capabilities, missing=(*missing, *capabilities.missing)),
        asked_at=time.monotonic(),
    )
