"""Memory encryption: which kinds have a provider, and what the kernel, QEMU and libvirt each contribute."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.capabilities import HostCpu, MissingPart, Part
from agent.model.host.facts import Unread
from agent.model.placement import Inventory
from agent.model.plan import PutTraits
from agent.model.snapshot import LIBVIRT
from tests.rigs.facts import NODE, ROOT_UUID, decided, host, inventory, snapshot
from tests.rigs.nested import (
    SEV,
    below,
    child,
    encrypting,
    kernel,
    machine,
    on,
    passing_through,
    standing,
    totals,
    tree_of,
    with_tdx,
    x86,
)

CONTEXT = "MEM_ENCRYPTION_CONTEXT"
SNP_MACHINE = machine(sev=SEV, launch_security=frozenset({"sev", "sev-snp"}))


def test_s103_amd_sev_has_a_child_provider_with_max_unit_1():
    """A host with AMD SEV gets a child provider with MEM_ENCRYPTION_CONTEXT. One guest can take one context."""
    tree = tree_of(snapshot(libvirt=encrypting(sev="Y")))
    found = below(tree)
    assert list(found) == ["amd_sev"]
    sev = found["amd_sev"]
    assert sev.inventories == (
        Inventory(
            resource_class=CONTEXT, total=16, reserved=0, min_unit=1, max_unit=1, step_size=1, allocation_ratio=1.0
        ),
    )
    assert (sev.name, sev.parent_uuid) == (f"{NODE}_amd_sev", ROOT_UUID)
    assert sev.traits_wanted == {"HW_CPU_X86_AMD_SEV", "CUSTOM_OWNER_STOCKTAKE"}
    assert tree.root.inventory(CONTEXT) is None


def test_s104_sev_and_sev_es_have_separate_child_providers():
    """A host with AMD SEV and SEV-ES gets one child provider for each of the two, each with its own total."""
    tree = tree_of(snapshot(libvirt=encrypting(sev="1", sev_es="1")))
    assert totals(tree) == {"amd_sev": {CONTEXT: 16}, "amd_sev_es": {CONTEXT: 17}}
    assert below(tree)["amd_sev_es"].traits_wanted == {"HW_CPU_X86_AMD_SEV_ES", "CUSTOM_OWNER_STOCKTAKE"}


def test_s105_a_sev_snp_provider_takes_the_place_of_sev_es():
    """A host with AMD SEV-SNP gets child providers for SEV and SEV-SNP, and no child provider for SEV-ES."""
    tree = tree_of(snapshot(libvirt=encrypting(x86(SNP_MACHINE), sev="Y", sev_es="Y", sev_snp="Y")))
    assert totals(tree) == {"amd_sev": {CONTEXT: 16}, "amd_sev_snp": {CONTEXT: 17}}
    assert below(tree)["amd_sev_snp"].traits_wanted == {"HW_CPU_X86_AMD_SEV_SNP", "CUSTOM_OWNER_STOCKTAKE"}


NONE = dataclasses.replace(SEV, max_guests=0, max_es_guests=0)
KINDS = {
    "s94 the platform takes none": (encrypting(x86(machine(sev=NONE)), sev="Y", sev_es="Y"), set()),
    "the kernel has it switched off": (encrypting(sev="N"), set()),
    "the module is not loaded": (encrypting(sev=None), set()),
    "a kernel that says ES but not SEV": (encrypting(sev="N", sev_es="Y"), set()),
    "no machine type has it": (encrypting(x86(machine()), sev="Y", sev_es="Y"), set()),
    "no machine type has it: QEMU's version matters not": (
        encrypting(x86(machine()), qemu=0, sev="Y", sev_es="Y"),
        set(),
    ),
    "libvirt cannot run an x86_64 emulator": (encrypting(x86(), sev="Y"), set()),
    "another machine type has it": (encrypting(x86(machine("a"), machine("b", sev=SEV)), sev="Y"), {"amd_sev"}),
    "SEV-ES needs QEMU 8": (encrypting(qemu=7_002_001, sev="Y", sev_es="Y"), {"amd_sev"}),
    "SEV-ES is there, its number is 0": (
        encrypting(x86(machine(sev=dataclasses.replace(SEV, max_es_guests=0))), sev="Y", sev_es="Y"),
        {"amd_sev"},
    ),
    # If the kernel supports SNP but libvirt or QEMU does not, there is neither SNP nor SEV-ES.
    "SNP in the kernel alone": (encrypting(sev="Y", sev_es="Y", sev_snp="Y"), {"amd_sev"}),
    "SNP in libvirt alone": (encrypting(x86(SNP_MACHINE), sev="Y"), {"amd_sev"}),
    "another architecture": (
        encrypting(x86(machine(sev=SEV), host_cpu=HostCpu(arch="aarch64")), sev="Y"),
        set(),
    ),
    "only another architecture's guests": (encrypting(x86(machine(arch="i686", sev=SEV)), sev="Y"), set()),
    "any word for true": (encrypting(sev=" yes\n"), {"amd_sev"}),
}


@pytest.mark.parametrize(("libvirt", "expected"), KINDS.values(), ids=KINDS.keys())
def test_sev_providers_need_kernel_qemu_and_libvirt_support(libvirt, expected):
    """A host gets a child provider only for kinds of AMD SEV that the kernel, QEMU and libvirt all support."""
    tree = tree_of(snapshot(libvirt=libvirt))
    assert set(below(tree)) == expected
    assert tree.frozen_families == ()


@pytest.mark.parametrize(("libvirt", "expected"), KINDS.values(), ids=KINDS.keys())
def test_the_provider_of_an_unsupported_sev_kind_is_removed(libvirt, expected):
    """If the host does not support a kind of AMD SEV, the agent removes the child provider of this kind."""
    old = {kind: child(kind, inventory(CONTEXT, 3, max_unit=1)) for kind in ("amd_sev", "amd_sev_es", "amd_sev_snp")}
    tree = tree_of(snapshot(libvirt=libvirt, placement=standing(*old.values())))
    assert set(tree.obsolete) == {provider.uuid for kind, provider in old.items() if kind not in expected}
    assert {found.uuid for found in below(tree).values()} == {old[kind].uuid for kind in expected}


MISSING = MissingPart(part=Part.MACHINE, detail="x86_64 q35", why="libvirt: internal error")
NO_ANSWER = Unread("EMFILE: Too many open files")
UNKNOWN = {
    "the kernel could not be asked": (
        encrypting(sev=NO_ANSWER, sev_es="Y"),
        (),
        "the kernel's parameters could not be read (kvm_amd/sev: EMFILE: Too many open files)",
    ),
    "the kernel could be asked in part": (
        encrypting(sev="Y", sev_es="Y", sev_snp=NO_ANSWER),
        (),
        "the kernel's parameters could not be read (kvm_amd/sev_snp: EMFILE: Too many open files)",
    ),
    "capabilities are not there yet": (
        host(kernel_parameters=kernel(sev="Y")),
        (),
        "libvirt has not reported its capabilities yet",
    ),
    "a libvirt that has no such call": (
        encrypting(x86(domain=None), sev="Y"),
        (),
        "memory encryption support is unknown (the libvirt driver does not report it)",
    ),
    "they could not be asked for": (
        encrypting(x86(domain=None, missing=(dataclasses.replace(MISSING, part=Part.GUESTS, detail=""),)), sev="Y"),
        (),
        "memory encryption support is unknown (guests: libvirt: internal error)",
    ),
    "QEMU's version is missing": (
        encrypting(qemu=0, sev="Y", sev_es="Y"),
        (),
        "the hypervisor's version could not be read",
    ),
    "part of it is missing": (
        encrypting(x86(machine("pc"), missing=(MISSING,)), sev="Y"),
        (),
        "memory encryption support is partly unknown (domain capabilities of x86_64 q35: libvirt: internal error)",
    ),
    "libvirt was not read": (encrypting(sev="N"), (LIBVIRT,), "libvirt could not be read"),
}


@pytest.mark.parametrize(("libvirt", "lost", "why"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_sev_providers_are_kept_if_support_is_unknown(libvirt, lost, why):
    """If the agent cannot find out whether the host supports AMD SEV, the child providers for SEV stay unchanged."""
    old = child("amd_sev", inventory(CONTEXT, 16, max_unit=1))
    tree = tree_of(snapshot(libvirt=libvirt, lost=lost, placement=standing(old)))
    assert below(tree) == {}
    assert tree.obsolete == ()
    assert ("memory-encryption", why) in {(family.name, family.why) for family in tree.frozen_families}


def test_an_unknown_cpu_model_blocks_no_sev_provider():
    """If libvirt does not know a CPU model, the agent still updates the child provider for AMD SEV."""
    other = MissingPart(part=Part.MODEL_FEATURES, detail="Opteron", why="unknown CPU model")
    known = encrypting(x86(machine(), missing=(other,)), sev="Y")
    assert tree_of(snapshot(libvirt=known)).frozen_families == ()


def test_sev_needs_only_one_readable_machine_type():
    """One QEMU machine type with AMD SEV is enough for a child provider, even if another type is unreadable."""
    known = encrypting(x86(machine("pc", sev=SEV), missing=(MISSING,)), sev="Y")
    assert totals(tree_of(snapshot(libvirt=known))) == {"amd_sev": {CONTEXT: 16}}


def test_a_host_without_sev_needs_no_libvirt_capabilities():
    """If the kernel has no SEV support, the agent does not wait for libvirt's capabilities to decide on SEV."""
    tree = tree_of(snapshot(libvirt=host(kernel_parameters=kernel(sev=None))))
    assert (tree.frozen_families, below(tree)) == ((), {})


NO_CPU = MissingPart(part=Part.HOST_CPU, why="no <arch>")


def test_sev_providers_are_kept_if_the_host_cpu_is_unknown():
    """If libvirt's description of the host CPU is unreadable, child providers for AMD SEV stay unchanged."""
    odd = encrypting(x86(machine(sev=SEV), host_cpu=HostCpu(arch=""), missing=(NO_CPU,)), sev="Y")
    tree = tree_of(snapshot(libvirt=odd, placement=standing(child("amd_sev", inventory(CONTEXT, 16, max_unit=1)))))
    assert (below(tree), tree.obsolete) == ({}, ())
    assert [f.why for f in tree.frozen_families] == ["memory encryption support is unknown (host CPU: no <arch>)"]


def test_intel_tdx_has_a_child_provider_with_max_unit_1():
    """A host with Intel TDX gets a child provider with MEM_ENCRYPTION_CONTEXT. One guest can take one context."""
    tree = tree_of(snapshot(libvirt=with_tdx(31)), passing_through())
    found = below(tree)
    assert list(found) == ["intel_tdx"]
    tdx = found["intel_tdx"]
    assert tdx.inventories == (
        Inventory(
            resource_class=CONTEXT, total=31, reserved=0, min_unit=1, max_unit=1, step_size=1, allocation_ratio=1.0
        ),
    )
    assert (tdx.name, tdx.parent_uuid) == (f"{NODE}_intel_tdx", ROOT_UUID)
    assert tdx.traits_wanted == {"HW_CPU_X86_INTEL_TDX", "CUSTOM_OWNER_STOCKTAKE"}
    assert tree.root.inventory(CONTEXT) is None


AARCH64 = HostCpu(arch="aarch64")
# The expected totals are nova 34's own: driver.py and host.py, read on 2026-11-21.
TDX = {
    "the kernel says how many": (with_tdx(31), passing_through(), 31),
    "the option says fewer": (with_tdx(31), passing_through(8), 8),
    # nova logs a warning and reports the option's number; the option's help says the lower of the two.
    "the option says more": (with_tdx(31), passing_through(40), 40),
    "the option alone says it": (with_tdx(None), passing_through(8), 8),
    "the option says none": (with_tdx(31), passing_through(0), None),
    "the kernel has no key": (with_tdx(0), passing_through(), None),
    "keys and an option, and libvirt has none": (with_tdx(31, x86(machine())), passing_through(8), None),
    "another machine type has it": (with_tdx(31, x86(machine("pc"), machine("q35", tdx=True))), passing_through(), 31),
    "one of i686 alone has it": (with_tdx(31, x86(machine(arch="i686", tdx=True))), passing_through(), None),
    "another architecture": (with_tdx(31, x86(machine(tdx=True), host_cpu=AARCH64)), passing_through(), None),
    "the guests' CPU is not set": (with_tdx(31), passing_through(mode=None), None),
    "the guests' CPU is a model": (with_tdx(31), passing_through(8, mode="host-model"), None),
}


@pytest.mark.parametrize(("libvirt", "chosen", "expected"), TDX.values(), ids=TDX.keys())
def test_the_number_of_tdx_contexts_equals_that_of_nova(libvirt, chosen, expected):
    """For the same kernel, libvirt and nova options, the agent publishes as many Intel TDX contexts as nova-compute."""
    tree = tree_of(snapshot(libvirt=libvirt), chosen)
    assert totals(tree) == ({"intel_tdx": {CONTEXT: expected}} if expected else {})
    assert tree.frozen_families == ()


@pytest.mark.parametrize(("libvirt", "chosen", "expected"), TDX.values(), ids=TDX.keys())
def test_the_provider_of_unsupported_tdx_is_removed(libvirt, chosen, expected):
    """If the host or its configuration no longer supports Intel TDX, the agent removes the child provider for TDX."""
    old = child("intel_tdx", inventory(CONTEXT, 3, max_unit=1))
    tree = tree_of(snapshot(libvirt=libvirt, placement=standing(old)), chosen)
    assert tree.obsolete == (() if expected else (old.uuid,))
    assert [found.uuid for found in below(tree).values()] == ([old.uuid] if expected else [])


PARTLY = x86(machine("pc"), missing=(MISSING,))
TDX_UNKNOWN = {
    "nobody says how many": (
        with_tdx(None),
        (),
        "guests can have TDX, but the kernel does not report how many; set [libvirt] num_intel_tdx_guests",
    ),
    "capabilities are not there yet": (host(tdx_capacity=31), (), "libvirt has not reported its capabilities yet"),
    "a libvirt that has no such call": (
        with_tdx(31, x86(domain=None)),
        (),
        "memory encryption support is unknown (the libvirt driver does not report it)",
    ),
    "part of it is missing": (
        with_tdx(31, PARTLY),
        (),
        "memory encryption support is partly unknown (domain capabilities of x86_64 q35: libvirt: internal error)",
    ),
    "the host's CPU could not be read": (
        with_tdx(31, x86(machine(tdx=True), host_cpu=HostCpu(arch=""), missing=(NO_CPU,))),
        (),
        "memory encryption support is unknown (host CPU: no <arch>)",
    ),
    "libvirt was not read": (with_tdx(31), (LIBVIRT,), "libvirt could not be read"),
}


@pytest.mark.parametrize(("libvirt", "lost", "why"), TDX_UNKNOWN.values(), ids=TDX_UNKNOWN.keys())
def test_the_tdx_provider_is_kept_if_tdx_support_is_unknown(libvirt, lost, why):
    """If the agent cannot find out whether the host supports Intel TDX, the child provider for TDX stays unchanged."""
    old = child("intel_tdx", inventory(CONTEXT, 31, max_unit=1))
    tree = tree_of(snapshot(libvirt=libvirt, lost=lost, placement=standing(old)), passing_through())
    assert below(tree) == {}
    assert tree.obsolete == ()
    assert ("memory-encryption", why) in {(family.name, family.why) for family in tree.frozen_families}


@pytest.mark.parametrize("chosen", [passing_through(0), passing_through(mode="host-model"), passing_through(mode=None)])
def test_the_tdx_provider_is_removed_if_nova_conf_disables_tdx(chosen):
    """If nova.conf disables Intel TDX, the agent removes the TDX provider even without libvirt's capabilities."""
    old = child("intel_tdx", inventory(CONTEXT, 31, max_unit=1))
    tree = tree_of(snapshot(libvirt=host(tdx_capacity=31), placement=standing(old)), chosen)
    assert (tree.frozen_families, tree.obsolete) == ((), (old.uuid,))


def test_tdx_needs_only_one_readable_machine_type():
    """One QEMU machine type with Intel TDX is enough for a child provider, even if another type is unreadable."""
    known = with_tdx(31, x86(machine("q35", tdx=True), missing=(MISSING,)))
    assert totals(tree_of(snapshot(libvirt=known), passing_through())) == {"intel_tdx": {CONTEXT: 31}}


def test_sev_is_published_with_cpu_mode_host_passthrough():
    """With [libvirt] cpu_mode = host-passthrough, a host with AMD SEV still gets its child provider for SEV."""
    tree = tree_of(snapshot(libvirt=encrypting(sev="Y")), passing_through())
    assert (totals(tree), tree.frozen_families) == ({"amd_sev": {CONTEXT: 16}}, ())


OLD_ROOT = {"inventories": (inventory(CONTEXT, 16, max_unit=1),), "traits": frozenset({"HW_CPU_X86_AMD_SEV"})}


def _root_traits(decision):
    puts = [w for w in decision.plan.writes if isinstance(w, PutTraits) and w.provider_uuid == ROOT_UUID]
    return set(puts[0].traits)


def test_s107_a_sev_allocation_on_the_root_stays_there():
    """If the root provider has an allocation of AMD SEV, an audit leaves the allocation there and reports a finding."""
    world = snapshot(
        libvirt=encrypting(sev="Y"), placement=standing(held=(on(ROOT_UUID, "c", CONTEXT, 1),), **OLD_ROOT)
    )
    decision = decided(world)
    assert below(decision.tree) == {}
    (told,) = [f for f in decision.findings if f.code == "reshape-needed"]
    assert (told.resource_class, told.evidence[0].amount) == (CONTEXT, 1)
    assert "HW_CPU_X86_AMD_SEV" in _root_traits(decision)
    put = next(w for w in decision.plan.writes if w.provider_uuid == ROOT_UUID and hasattr(w, "inventories"))
    assert {i.resource_class for i in put.inventories} >= {CONTEXT, "VCPU", "MEMORY_MB", "DISK_GB"}


def test_s107_unused_sev_moves_from_the_root_to_a_child():
    """If nobody uses the root provider's AMD SEV inventory, the agent moves this inventory to a child provider."""
    decision = decided(snapshot(libvirt=encrypting(sev="Y"), placement=standing(**OLD_ROOT)))
    assert totals(decision.tree) == {"amd_sev": {CONTEXT: 16}}
    assert "HW_CPU_X86_AMD_SEV" not in _root_traits(decision)
    put = next(w for w in decision.plan.writes if w.provider_uuid == ROOT_UUID and hasattr(w, "inventories"))
    assert CONTEXT not in {i.resource_class for i in put.inventories}
