"""HW_CPU_X86_AMD_SEV on the root: it is removed when the child has it, and at no other time."""

from __future__ import annotations

import pytest

from agent.model.snapshot import LIBVIRT
from agent.traits import memory_encryption
from tests.rigs.facts import ROOT_UUID, host, inventory, settings, snapshot
from tests.rigs.nested import encrypting, kernel, on, standing

IN_USE = standing(
    held=(on(ROOT_UUID, "c", "MEM_ENCRYPTION_CONTEXT", 1),), inventories=(inventory("MEM_ENCRYPTION_CONTEXT", 16),)
)
CASES = {
    "the child has it": (snapshot(libvirt=encrypting(sev="Y")), {"HW_CPU_X86_AMD_SEV"}),
    "no SEV: nothing is said of a trait that somebody may have set": (snapshot(libvirt=encrypting(sev="N")), set()),
    "contexts are still in use on the root": (snapshot(libvirt=encrypting(sev="Y"), placement=IN_USE), set()),
    "capabilities are not known": (snapshot(libvirt=host(kernel_parameters=kernel(sev="Y"))), set()),
    "libvirt was not read": (snapshot(libvirt=encrypting(sev="Y"), lost=[LIBVIRT]), set()),
}


@pytest.mark.parametrize(("world", "unwanted"), CASES.values(), ids=CASES.keys())
def test_the_root_loses_the_sev_trait_only_if_a_child_has_it(world, unwanted):
    """The agent removes HW_CPU_X86_AMD_SEV from the root provider only if a child provider has the trait."""
    wish = memory_encryption.wish(world, settings())
    assert (wish.wanted, wish.unwanted) == (frozenset(), unwanted)
