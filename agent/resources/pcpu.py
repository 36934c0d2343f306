"""Decide PCPU: CPUs that one guest has to itself. The ratio is always 1.0 and nothing is reserved."""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.claim import Claim
from agent.model.occupancy import Occupancy
from agent.model.placement import Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.resources import cpus
from agent.resources.base import held_of_guests, on_root, promised_of, whole


class Pcpu:
    """Dedicated CPUs of the root provider."""

    name = "pcpu"
    classes = frozenset({"PCPU"})

    def owns(self, resource_class: str) -> bool:
        """Return whether the class is in ``classes``."""
        return resource_class in self.classes

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return libvirt: its CPU map is needed to check that the CPUs of cpu_dedicated_set exist."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return which CPU set names CPUs that are not online or do not exist, or None."""
        host = snapshot.host.value
        return cpus.obstacle(host, settings) if host else None

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:  # noqa: ARG002
        """Total: size of ``[compute] cpu_dedicated_set``."""
        return on_root(whole("PCPU", len(cpus.dedicated_cpus(settings)), (), 1.0))

    def own_reserve(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[str, int], ...]:  # noqa: ARG002
        """Return nothing: a dedicated CPU belongs to one guest alone."""
        return ()

    def reserve_needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return no source: libvirt lists the guests that the cloud does not know."""
        return frozenset()

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:
        """Return the VCPUs of each defined guest that is pinned to dedicated CPUs."""
        host = snapshot.host.value
        guests = () if host is None else (d for d in host.domains if cpus.is_pinned(d, settings))
        return held_of_guests("PCPU", ((domain, domain.vcpus) for domain in guests))

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:
        """Return the flavors' dedicated CPUs if there is a dedicated set; without one, vcpu.py counts them."""
        return promised_of("PCPU", occupancies) if cpus.dedicated_cpus(settings) else ()
