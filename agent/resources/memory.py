"""Decide MEMORY_MB: the host's memory in MiB, or the size in ``[libvirt] file_backed_memory``."""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.claim import Claim
from agent.model.occupancy import Occupancy
from agent.model.placement import Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.resources.base import Resource, held_of_guests, on_root, promised_of, ratio, whole


class Memory(Resource):
    """The resource class MEMORY_MB of the root provider."""

    name = "memory"
    classes = frozenset({"MEMORY_MB"})

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the source ``libvirt``, which reports the host's memory."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:  # noqa: ARG002
        """Return None: nothing prevents the inventory, because libvirt always reports the memory."""
        return None

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:
        """Return MEMORY_MB: the file-backed memory if configured, else the host's memory.

        Its ``reserved`` is the option ``reserved_host_memory_mb``.
        """
        host = snapshot.host.value
        total = settings.file_backed_memory_mib or (host.memory_mib if host else 0)
        memory_ratio = ratio(settings.memory_ratio, snapshot, "MEMORY_MB")
        return on_root(whole("MEMORY_MB", total, self.own_reserve(snapshot, settings), memory_ratio))

    def own_reserve(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[str, int], ...]:  # noqa: ARG002
        """Return ``reserved_host_memory_mb``."""
        return (("reserved_host_memory_mb", settings.reserved_host_memory_mib),)

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:  # noqa: ARG002
        """Return the maximum memory of each defined guest."""
        host = snapshot.host.value
        return held_of_guests("MEMORY_MB", ((d, d.memory_mib) for d in (host.domains if host else ())))

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:  # noqa: ARG002
        """Return the memory that the flavors request, one claim per instance or migration on this host."""
        return promised_of("MEMORY_MB", occupancies)
