"""Memory encryption (AMD SEV, SEV-ES, SEV-SNP, Intel TDX): a child provider for each kind that guests can have.

A guest takes one context whatever its size, so ``max_unit`` is 1. A kind that is not
supported takes its provider away. Which kinds there are: traits/memory_encryption.py.
"""

from __future__ import annotations

from collections.abc import Mapping

import os_traits

from agent.model.placement import Inventory, Provider, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.nested.base import Nested, NotTold
from agent.traits.base import Wish
from agent.traits.memory_encryption import CONTEXT, EncryptionModel, models, unknown_because

KIND = "memory-encryption"
# As traits/memory_encryption.py names the kinds, which cannot be asked while the host is not known.
NAMES = frozenset({"amd_sev", "amd_sev_es", "amd_sev_snp", "intel_tdx"})


class MemoryEncryption:
    """Providers ``<node>_amd_sev``, ``_amd_sev_es`` and ``_amd_sev_snp`` (hypervisor-audit 6), and ``_intel_tdx``."""

    name = KIND
    root_classes = frozenset({CONTEXT})

    def is_asked_for(self, settings: Settings) -> bool:  # noqa: ARG002
        """No: the hardware and the kernel say it, or, of Intel TDX, how many."""
        return False

    def is_configured(self, settings: Settings) -> bool:  # noqa: ARG002
        """Always: the hardware and the kernel say which kinds there are."""
        return True

    def flavor_classes(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """A context. An image can ask for it too, which no flavor says: then nothing is known of it."""
        return frozenset({CONTEXT})

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Libvirt and what the kernel says, which are read together."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """The host may have a kind, and it is not known whether guests can have it, or how many of them."""
        return unknown_because(snapshot.host.value, settings) if snapshot.host.value else None

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:  # noqa: ARG002
        """Whether it is a kind's name."""
        return name in NAMES

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """One for each kind that takes guests."""
        return tuple(_nested(model) for model in _models(snapshot, settings) if model.contexts > 0)

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """The kinds that take none."""
        return frozenset(_key(model) for model in _models(snapshot, settings) if model.contexts <= 0)

    def belongs(
        self,
        consumer_uuid: str,  # noqa: ARG002
        resource_class: str,  # noqa: ARG002
        snapshot: Snapshot,
        settings: Settings,
    ) -> Mapping[ProviderKey, int] | NotTold:
        """One context of AMD SEV: a nova-compute that kept the class on the root knew no other kind."""
        sev = [m for m in _models(snapshot, settings) if m.trait == os_traits.HW_CPU_X86_AMD_SEV and m.contexts > 0]
        if not sev:
            return NotTold(why="a context on the root is one of AMD SEV, and this host offers guests none of it")
        return {_key(sev[0]): 1}


def _models(snapshot: Snapshot, settings: Settings) -> tuple[EncryptionModel, ...]:
    return models(snapshot.host.value, settings) if snapshot.host.value else ()


def _key(model: EncryptionModel) -> ProviderKey:
    return ProviderKey(KIND, model.name)


def _nested(model: EncryptionModel) -> Nested:
    return Nested(
        key=_key(model),
        inventories=(Inventory(resource_class=CONTEXT, total=model.contexts, max_unit=1),),
        traits=Wish(wanted=frozenset({model.trait})),
    )
