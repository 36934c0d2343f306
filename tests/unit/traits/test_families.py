"""All families together: no trait has two answers, Placement accepts every name, and other owners' traits stay."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.host.capabilities import MissingPart, Part
from agent.model.host.devices import Devices
from agent.model.plan import PutTraits
from agent.model.settings import GuestCpu, Tpm
from agent.model.snapshot import LIBVIRT, STATE
from agent.traits import BUILTIN
from agent.traits.standard_names import STANDARD
from tests.rigs.capabilities import UNREADABLE, capable, emulator, world
from tests.rigs.facts import decided, root, settings, snapshot, usual_traits, view

FLAGS = ("aes", "avx2", "pni", "sse4.1", "svm", "vmx", "sev", "x2apic")

emulators = st.builds(
    emulator,
    st.sampled_from(("x86_64", "i686", "aarch64", "riscv64", "armv7l", "")),
    st.sampled_from(("pc", "q35", "virt")),
    buses=st.frozensets(st.sampled_from(("ide", "virtio", "xen", "sd", "nvme"))),
    video_models=st.frozensets(st.sampled_from(("vga", "ramfb", "none", "virtio"))),
    loader_secure=st.frozensets(st.sampled_from(("yes", "no"))),
    tpm_models=st.frozensets(st.sampled_from(("tpm-tis", "tpm-crb", "tpm-spapr"))),
    tpm_backends=st.frozensets(st.sampled_from(("emulator", "passthrough", "external"))),
    tpm_versions=st.none() | st.frozensets(st.sampled_from(("1.2", "2.0"))),
)
capability_sets = st.builds(
    lambda domain, arch, features, missing: capable(*domain, arch=arch, features=features, missing=missing),
    st.lists(emulators, max_size=4),
    st.sampled_from(("x86_64", "aarch64", "s390x", "wonder", "")),
    st.none() | st.frozensets(st.sampled_from(FLAGS)),
    st.sampled_from(((), (UNREADABLE,), (MissingPart(part=Part.HOST_CPU, why="?"),))),
)
worlds = st.builds(
    world,
    st.none() | capability_sets,
    libvirt_version=st.sampled_from((7_000_000, 9_000_000, 11_000_000)),
    hypervisor_version=st.sampled_from((0, 6_000_000, 9_000_000)),
    driver=st.sampled_from(("QEMU", "LXC", "TEST")),
    devices=st.sampled_from((None, Devices())),
    kernel_parameters=st.sampled_from(((), (("kvm_amd/sev", "Y"),))),
)
choices = st.builds(
    settings,
    virt_type=st.sampled_from(("kvm", "qemu", "lxc", "parallels")),
    guest_cpu=st.builds(
        GuestCpu,
        mode=st.sampled_from((None, "none", "custom", "host-model", "host-passthrough")),
        extra_flags=st.lists(st.sampled_from(("aes", "-avx2", "+xop"))).map(tuple),
    ),
    tpm=st.builds(Tpm, enabled=st.booleans()),
    images_type=st.sampled_from(("qcow2", "lvm", "rbd")),
    force_raw_images=st.booleans(),
    file_backed_memory_mib=st.sampled_from((0, 1024)),
    image_types_excluded=st.frozensets(st.sampled_from(("raw", "qcow2", "vmdk"))),
)


def wishes(facts, chosen):
    return {wish.__module__: wish(facts, chosen) for wish in BUILTIN}


@given(worlds, choices)
def test_each_trait_is_decided_by_at_most_one_trait_family(facts, chosen):
    """A trait family is a rule for a few traits. No two trait families set or remove the same trait."""
    told = wishes(facts, chosen)
    for (first, one), (second, other) in itertools.combinations(told.items(), 2):
        both = (one.wanted | one.unwanted) & (other.wanted | other.unwanted)
        assert not both, f"{first} and {second} both decide {sorted(both)}"


@given(worlds, choices)
def test_no_trait_family_both_sets_and_removes_a_trait(facts, chosen):
    """A trait family is a rule for a few traits. No trait family both sets and removes the same trait."""
    for name, wish in wishes(facts, chosen).items():
        assert not wish.wanted & wish.unwanted, name
        assert all(trait in STANDARD or trait.startswith("CUSTOM_") for trait in wish.wanted | wish.unwanted), name


@given(worlds, choices)
def test_s109_the_agent_changes_only_its_own_custom_trait(facts, chosen):
    """The agent sets or removes no custom trait on the root provider except CUSTOM_OWNER_STOCKTAKE."""
    decided_names = frozenset().union(*(wish.wanted | wish.unwanted for wish in wishes(facts, chosen).values()))
    assert decided_names - STANDARD == {"CUSTOM_OWNER_STOCKTAKE"}


@given(capability_sets, choices)
def test_the_order_of_capabilities_does_not_change_the_traits(capabilities, chosen):
    """The agent sets and removes the same traits if libvirt reports the same capabilities in another order."""
    turned = dataclasses.replace(
        capabilities,
        domain=tuple(reversed(capabilities.domain or ())),
        missing=tuple(reversed(capabilities.missing)),
    )
    assert wishes(world(capabilities), chosen) == wishes(world(turned), chosen)


@given(capability_sets, choices)
def test_supported_traits_stay_if_capabilities_are_unknown(capabilities, chosen):
    """If libvirt's capabilities could not be read, the agent removes no trait that the host supports."""
    whole, nothing = wishes(world(capabilities), chosen), wishes(world(None, hypervisor_version=0), chosen)
    for name, wish in whole.items():
        assert not wish.wanted & nothing[name].unwanted, name
        assert not wish.unwanted & nothing[name].wanted, name


def test_s108_s109_unsupported_traits_go_and_custom_traits_stay():
    """An audit removes unsupported traits from the root provider, and keeps the operator's trait CUSTOM_X."""
    facts = world(capable(emulator(buses=frozenset({"virtio"})), features={"aes"})).host.value
    before = STANDARD - {"OWNER_NOVA"} | {"CUSTOM_OWNER_STOCKTAKE", "CUSTOM_X"}
    plan = decided(snapshot(placement=view(provider=root(traits=before)), libvirt=facts)).plan
    (put,) = [write for write in plan.writes if isinstance(write, PutTraits)]
    after = set(put.traits)
    assert {"CUSTOM_X", "HW_CPU_X86_AESNI", "COMPUTE_STORAGE_BUS_VIRTIO", "COMPUTE_IMAGE_TYPE_VMDK"} <= after
    assert not after & {"HW_CPU_X86_AVX", "COMPUTE_STORAGE_BUS_IDE", "COMPUTE_SAME_HOST_COLD_MIGRATE"}
    again = decided(snapshot(placement=view(provider=root(traits=frozenset(after))), libvirt=facts)).plan
    assert [write for write in again.writes if isinstance(write, PutTraits)] == []


@pytest.mark.parametrize("lost", [[], [LIBVIRT], [LIBVIRT, STATE]])
def test_s115_the_owner_trait_is_set_even_without_libvirt(lost):
    """The agent sets COMPUTE_NODE and CUSTOM_OWNER_STOCKTAKE even if libvirt or nova's database could not be read."""
    told = wishes(snapshot(lost=lost), settings())
    assert {"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"} <= frozenset().union(*(wish.wanted for wish in told.values()))


def test_no_two_trait_families_have_the_same_name():
    names = [wish.__module__ for wish in BUILTIN]
    assert len(set(names)) == len(names)


def test_the_helper_usual_traits_returns_os_traits():
    """The test helper usual_traits returns traits of os-traits, among them COMPUTE_SOUND_MODEL_USB."""
    assert {"COMPUTE_SOUND_MODEL_USB", "COMPUTE_NET_VIRTIO_PACKED", "COMPUTE_IMAGE_TYPE_RAW"} <= usual_traits()
