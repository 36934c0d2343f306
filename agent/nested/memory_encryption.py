"""Memory encryption (AMD SEV, SEV-ES, SEV-SNP, Intel TDX): a child provider for each kind that guests can use.

A guest of any size takes one encryption context, so ``max_unit`` is 1. The provider of an unsupported kind is deleted.
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
# The names of all kinds of memory encryption. They are fixed, and not read from the host: even if the host could not be
# read, the agent must recognize the child providers with these names.
NAMES = frozenset({"amd_sev", "amd_sev_es", "amd_sev_snp", "intel_tdx"})


class MemoryEncryption(NestedFamily):
    """Providers named ``<node>_amd_sev``, ``_amd_sev_es``, ``_amd_sev_snp`` and ``_intel_tdx``."""

    name = KIND
    root_classes = frozenset({CONTEXT})

    def is_asked_for(self, settings: Settings) -> bool:  # noqa: ARG002
        """Return False: no option enables memory encryption; an option only sets the number of Intel TDX guests."""
        return False

    def is_configured(self, settings: Settings) -> bool:  # noqa: ARG002
        """Return True: no option turns memory encryption off; the hardware and the kernel decide which kinds exist."""
        return True

    def flavor_classes(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the resource class of an encryption context.

        An image can request a context too. The agent does not see such a request, because it reads only flavors.
        """
        return frozenset({CONTEXT})

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the source ``libvirt``; the agent reads the kernel's parameters together with libvirt's data."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return why the agent does not know how many guests can use memory encryption; None if the agent knows."""
        return unknown_because(snapshot.host.value, settings) if snapshot.host.value else None

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:  # noqa: ARG002
        """Whether ``name`` is the name of a kind of memory encryption."""
        return name in NAMES

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """Return one child for each kind of memory encryption that at least one guest can use."""
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
        """Return the keys of the child providers for memory encryption that no guest can use."""
        return frozenset(_key(model) for model in _models(snapshot, settings) if model.contexts <= 0)

    def belongs(
        self,
        consumer_uuid: str,  # noqa: ARG002
        resource_class: str,  # noqa: ARG002
        snapshot: Snapshot,
        settings: Settings,
    ) -> Mapping[ProviderKey, int] | UnknownChildren:
        """Return the child provider for AMD SEV with the amount 1, because a guest takes one encryption context.

        Only an old nova-compute allocates encryption contexts on the root. It supports no encryption except AMD SEV.
        """
        for model in _models(snapshot, settings):
            if model.trait == os_traits.HW_CPU_X86_AMD_SEV and model.contexts > 0:
                return {_key(model): 1}
        return UnknownChildren(
            "an encryption context on the root provider is for AMD SEV, but this host offers no AMD SEV to guests"
        )


def _models(snapshot: Snapshot, settings: Settings) -> tuple[EncryptionModel, ...]:
    return models(snapshot.host.value, settings) if snapshot.host.value else ()


def _key(model: EncryptionModel) -> ProviderKey:
    return ProviderKey(KIND, model.name)
