"""When the agent queries libvirt again for facts that hardly ever change."""

import pytest

from agent.model.host.capabilities import Capabilities, HostCpu, MissingPart, Part
from agent.sources.libvirt.connection_info import ASK_MISSING_AGAIN_S, Nature
from agent.sources.libvirt.topology_xml import HostTopology

REFUSED = (MissingPart(part=Part.DOMAIN, why="no right"),)
YEARS_S = 1e8


def nature(missing=()):
    return Nature(
        topology=HostTopology(),
        online=(True, False),
        hypervisor_version=7002000,
        capabilities=Capabilities(host_cpu=HostCpu(arch="x86_64"), missing=missing),
        asked_at=1000.0,
    )


@pytest.mark.parametrize(
    ("missing", "online", "later_s", "holds"),
    [
        ((), (True, False), YEARS_S, True),
        ((), (True, True), 0.0, False),
        ((), (True,), 0.0, False),
        (REFUSED, (True, False), ASK_MISSING_AGAIN_S - 1, True),
        (REFUSED, (True, False), ASK_MISSING_AGAIN_S, False),
    ],
    ids=["for ever", "a CPU came online", "a CPU went", "refused a while ago", "refused long ago"],
)
def test_cached_host_facts_expire_if_a_cpu_changes(missing, online, later_s, holds):
    """Cached facts about the host expire if a CPU goes online or offline, so the agent asks libvirt anew."""
    assert nature(missing).still_holds(online, 1000.0 + later_s) == holds
