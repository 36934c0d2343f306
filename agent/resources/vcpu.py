"""Compute the inventory and the claims of the resource class VCPU: host CPUs that guests share.

``max_unit`` is the number of CPUs, because one guest cannot have more CPUs than the host, whatever the ratio.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.claim import Claim
from agent.model.occupancy import Occupancy
from agent.model.placement import Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.resources import cpus
from agent.resources.base import held_of_guests, on_root, promised_of, ratio, whole


class Vcpu(cpus.CpuResource):
    """The resource class VCPU of the root provider: CPUs that guests share."""

    name = "vcpu"
    classes = frozenset({"VCPU"})

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:
        """Return the inventory of VCPU: the number of shared CPUs, with ``reserved_host_cpus`` as ``reserved``."""
        host = snapshot.host.value
        total = len(cpus.shared_cpus(host, settings)) if host else 0
        own = self.own_reserve(snapshot, settings)
        return on_root(whole("VCPU", total, own, ratio(settings.cpu_ratio, snapshot, "VCPU")))

    def own_reserve(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[str, int], ...]:  # noqa: ARG002
        """Return ``reserved_host_cpus``."""
        return (("reserved_host_cpus", settings.reserved_host_cpus),)

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:
        """Return the number of vCPUs of each defined guest that is not pinned to dedicated CPUs."""
        host = snapshot.host.value
        guests = () if host is None else (d for d in host.domains if not cpus.is_pinned(d, settings))
        return held_of_guests("VCPU", ((domain, domain.vcpus) for domain in guests))

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:
        """Return the amount of VCPU that each instance's flavor asks for.

        If ``cpu_dedicated_set`` is empty, the amounts of PCPU are added, because nova then uses VCPU instead of PCPU.
        """
        also = frozenset() if cpus.dedicated_cpus(settings) else frozenset({"PCPU"})
        return promised_of("VCPU", occupancies, also)
