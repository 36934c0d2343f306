"""Memory encryption (AMD SEV, SEV-ES, SEV-SNP): a child provider for each kind that the host can give its guests.

A guest takes one context whatever its size, so ``max_unit`` is 1. A kind that is not
supported takes its provider away. Which kinds there are: traits/memory_encryption.py.
"""

from __future__ import annotations

from agent.model.placement import Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.nested.base import Nested
from agent.traits.base import Wish
from agent.traits.memory_encryption import CONTEXT, EncryptionModel, models, unknown_because

KIND = "memory-encryption"


class MemoryEncryption:
    """Providers ``<node>_amd_sev``, ``<node>_amd_sev_es`` and ``<node>_amd_sev_snp`` (hypervisor-audit 6)."""

    name = KIND
    root_classes = frozenset({CONTEXT})

    def is_configured(self, settings: Settings) -> bool:  # noqa: ARG002
        """Always: there is no option, the hardware and the kernel say it."""
        return True

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Libvirt and the kernel's parameters, which are read together."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:  # noqa: ARG002
        """The kernel has SEV, and libvirt has not said what its guests can have."""
        return unknown_because(snapshot.host.value) if snapshot.host.value else None

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:  # noqa: ARG002
        """One for each kind that takes guests."""
        return tuple(_nested(model) for model in _models(snapshot) if model.contexts > 0)

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:  # noqa: ARG002
        """The kinds that take none."""
        return frozenset(_key(model) for model in _models(snapshot) if model.contexts <= 0)


def _models(snapshot: Snapshot) -> tuple[EncryptionModel, ...]:
    return models(snapshot.host.value) if snapshot.host.value else ()


def _key(model: EncryptionModel) -> ProviderKey:
    return ProviderKey(KIND, model.name)


def _nested(model: EncryptionModel) -> Nested:
    return Nested(
        key=_key(model),
        inventories=(Inventory(resource_class=CONTEXT, total=model.contexts, max_unit=1),),
        traits=Wish(wanted=frozenset({model.trait})),
    )
