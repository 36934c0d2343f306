"""Decide the inventory of PCPU, the CPUs that one guest has to itself: ratio 1.0, and nothing is reserved."""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.claim import Claim
from agent.model.occupancy import Occupancy
from agent.model.placement import Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.resources import cpus
from agent.resources.base import held_of_guests, on_root, promised_of, whole


class Pcpu(cpus.CpuResource):
    """The resource class PCPU of the root provider: dedicated CPUs."""

    name = "pcpu"
    classes = frozenset({"PCPU"})

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:  # noqa: ARG002
        """Return the inventory of PCPU. Its total is the number of CPUs in ``[compute] cpu_dedicated_set``."""
        return on_root(whole("PCPU", len(cpus.dedicated_cpus(settings)), (), 1.0))

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:
        """Return, for each defined guest that is pinned to dedicated CPUs, the number of its vCPUs."""
        host = snapshot.host.value
        guests = () if host is None else (d for d in host.domains if cpus.is_pinned(d, settings))
        return held_of_guests("PCPU", ((domain, domain.vcpus) for domain in guests))

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:
        """Return, for each instance whose flavor requests PCPU, the requested amount.

        If ``cpu_dedicated_set`` is not set, the result is empty: the host has no PCPU, and vcpu.py counts the requested
        CPUs as VCPU.
        """
        return promised_of("PCPU", occupancies) if cpus.dedicated_cpus(settings) else ()
