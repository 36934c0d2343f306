"""Decide whether libvirt and the hypervisor are new enough for a feature that no capability document lists.

Versions are integers, major × 1,000,000 + minor × 1,000 + micro, as libvirt reports them. The hypervisor's version is
0 while libvirt has not reported it, and ``at_least`` takes this 0 for an old version. So call ``hypervisor_known``
before ``at_least``.
"""

from __future__ import annotations

from agent.model.host.facts import HostFacts

Version = tuple[int, int, int]


def at_least(
    host: HostFacts, *, libvirt: Version | None = None, qemu: Version | None = None, driver: str | None = None
) -> bool:
    """Return whether libvirt and QEMU have at least these versions, and whether libvirt's driver is ``driver``.

    An argument that is None is not checked.
    """
    return (
        (libvirt is None or host.libvirt_version >= as_integer(libvirt))
        and (qemu is None or host.hypervisor_version >= as_integer(qemu))
        and (driver is None or host.driver == driver)
    )


def hypervisor_known(host: HostFacts) -> bool:
    """Return whether libvirt has reported the hypervisor's version."""
    return host.capabilities is not None and host.hypervisor_version > 0


def as_integer(version: Version) -> int:
    """Return the version as libvirt writes it: (8, 2, 1) becomes 8002001."""
    major, minor, micro = version
    return (major * 1000 + minor) * 1000 + micro
