"""Memory encryption (AMD SEV, SEV-ES, SEV-SNP, Intel TDX): a child provider for each kind that guests can have.

A guest takes one context whatever its size, so ``max_unit`` is 1. The provider of an unsupported kind is deleted.
traits/memory_encryption.py decides which kinds exist.
"""

from __future__ import annotations

from collections.abc import Mapping

import os_traits

from agent.model.placement import Inventory, Provider, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.nested.base import Nested, NestedFamily, UnknownChildren
from agent.traits.base import Wish
from agent.traits.memory_encryption import CONTEXT, EncryptionModel, models, unknown_because

KIND = "memory-encryption"
# The names of the kinds in traits/memory_encryption.py. That module cannot list them while the host is unknown.
NAMES = frozenset({"amd_sev", "amd_sev_es", "amd_sev_snp", "intel_tdx"})


class MemoryEncryption(NestedFamily):
    """Providers named ``<node>_amd_sev``, ``_amd_sev_es``, ``_amd_sev_snp`` and ``_intel_tdx``."""

    name = KIND
    root_classes = frozenset({CONTEXT})

    def is_asked_for(self, settings: Settings) -> bool:  # noqa: ARG002
        """Return False: the hardware and the kernel decide; an option only sets the number of Intel TDX guests."""
        return False

    def is_configured(self, settings: Settings) -> bool:  # noqa: ARG002
        """Return True: the hardware and the kernel decide which kinds exist."""
        return True

    def flavor_classes(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the class of a context.

        An image can request a context too. No flavor shows such a request, so the promised book does not contain it.
        """
        return frozenset({CONTEXT})

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return libvirt; the agent reads the kernel's parameters together with it."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return why it is unknown whether guests can have a kind of encryption, or how many guests can; or None."""
        return unknown_because(snapshot.host.value, settings) if snapshot.host.value else None

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:  # noqa: ARG002
        """Whether the name is that of a kind."""
        return name in NAMES

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """Return one child for each kind that takes guests."""
        return tuple(
            Nested(
                key=_key(model),
                inventories=(Inventory(resource_class=CONTEXT, total=model.contexts, max_unit=1),),
                traits=Wish(wanted=frozenset({model.trait})),
            )
            for model in _models(snapshot, settings)
            if model.contexts > 0
        )

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """Return the children of the kinds that take no guests."""
        return frozenset(_key(model) for model in _models(snapshot, settings) if model.contexts <= 0)

    def belongs(
        self,
        consumer_uuid: str,  # noqa: ARG002
        resource_class: str,  # noqa: ARG002
        snapshot: Snapshot,
        settings: Settings,
    ) -> Mapping[ProviderKey, int] | UnknownChildren:
        """Return one context of AMD SEV: a nova-compute that had the class on the root knew no other kind."""
        for model in _models(snapshot, settings):
            if model.trait == os_traits.HW_CPU_X86_AMD_SEV and model.contexts > 0:
                return {_key(model): 1}
        return UnknownChildren("a context on the root is an AMD SEV context, and this host offers guests no AMD SEV")


def _models(snapshot: Snapshot, settings: Settings) -> tuple[EncryptionModel, ...]:
    return models(snapshot.host.value, settings) if snapshot.host.value else ()


def _key(model: EncryptionModel) -> ProviderKey:
    return ProviderKey(KIND, model.name)
