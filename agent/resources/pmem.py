"""Decide CUSTOM_PMEM_NAMESPACE_*: persistent memory, one class for each label of ``[libvirt] pmem_namespaces``.

One guest gets a whole namespace, so a class counts namespaces, not bytes. If one configured namespace is missing, the
agent leaves all these classes unchanged: a smaller total would be a guess, and nova-compute would refuse to start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agent.model.claim import Claim
from agent.model.occupancy import Occupancy
from agent.model.placement import Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import PMEM, Snapshot
from agent.resources.base import Resource, on_root, promised_of, whole
from agent.resources.demand import PMEM_PREFIX, demand, pmem_class


class Pmem(Resource):
    """The resource classes CUSTOM_PMEM_NAMESPACE_* of the root provider: persistent memory."""

    name = "pmem"
    classes: frozenset[str] = frozenset()

    def owns(self, resource_class: str) -> bool:
        """Return whether the class counts persistent memory, even if its label is no longer configured."""
        return resource_class.startswith(PMEM_PREFIX)

    def needs(self, settings: Settings) -> frozenset[str]:
        """Return the source ``pmem`` (ndctl) if labels are configured; without a label there is nothing to count."""
        return frozenset({PMEM}) if settings.pmem_labels else frozenset()

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return which configured names ndctl does not list, or lists several times; None if ndctl lists each once."""
        listed = Counter(namespace.name for namespace in snapshot.stored.pmem_namespaces)
        named = sorted({name for label in settings.pmem_labels for name in label.namespaces})
        if missing := [name for name in named if not listed[name]]:
            return f"[libvirt] pmem_namespaces: ndctl lists no devdax namespace of this name: {', '.join(missing)}"
        if twice := [name for name in named if listed[name] > 1]:
            return f"[libvirt] pmem_namespaces: ndctl lists several namespaces of this name: {', '.join(twice)}"
        return None

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:  # noqa: ARG002
        """Return one inventory per class. Its total is the number of configured namespaces of this class."""
        totals: Counter[str] = Counter()
        for label in settings.pmem_labels:
            totals[pmem_class(label.label)] += len(label.namespaces)
        return tuple(entry for name, total in sorted(totals.items()) for entry in on_root(whole(name, total, (), 1.0)))

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:  # noqa: ARG002
        """Return no claim, because the agent does not read from a guest's XML which namespaces the guest uses."""
        return ()

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:  # noqa: ARG002
        """Return the namespaces that the flavors request, by class."""
        taken = tuple(occupancies)
        asked = {
            name
            for one in taken
            for name in demand(one.flavor, boots_from_volume=one.instance.boots_from_volume)
            if self.owns(name)
        }
        return tuple(claim for name in sorted(asked) for claim in promised_of(name, taken))
