"""Whether libvirt and the hypervisor are new enough for something that no capability document tells.

Versions are integers, major × 1,000,000 + minor × 1,000 + micro, as libvirt gives
them. A hypervisor's version of 0 is one that libvirt has not told (yet): ask
``hypervisor_known`` first, for ``at_least`` only compares.
"""

from __future__ import annotations

from agent.model.host.facts import HostFacts

Version = tuple[int, int, int]


def at_least(
    host: HostFacts, *, libvirt: Version | None = None, qemu: Version | None = None, driver: str | None = None
) -> bool:
    """Every part that is given holds: libvirt, the hypervisor (QEMU's), the driver's type (hypervisor-audit 2)."""
    return (
        (libvirt is None or host.libvirt_version >= as_integer(libvirt))
        and (qemu is None or host.hypervisor_version >= as_integer(qemu))
        and (driver is None or host.driver == driver)
    )


def hypervisor_known(host: HostFacts) -> bool:
    """Whether libvirt has told the version of the hypervisor."""
    return host.capabilities is not None and host.hypervisor_version > 0


def as_integer(version: Version) -> int:
    """(8, 2, 1) as libvirt writes it: 8002001."""
    major, minor, micro = version
    return (major * 1000 + minor) * 1000 + micro
