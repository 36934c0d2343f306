"""The traits of the compute service's capabilities, as one table."""

from __future__ import annotations

import pytest

from agent.model.plan import PutTraits
from agent.model.snapshot import LIBVIRT
from agent.traits import compute_capabilities
from tests.rigs.capabilities import UNREADABLE, capable, emulator, world
from tests.rigs.facts import decided, host, root, settings, snapshot, usual_traits, view

ALWAYS = {
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
    "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
    "COMPUTE_TRUSTED_CERTS",
    "COMPUTE_ACCELERATORS",
    "COMPUTE_RESCUE_BFV",
    "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
}
NEVER = {"COMPUTE_SAME_HOST_COLD_MIGRATE", "COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS"}
SPACE = {"COMPUTE_ADDRESS_SPACE_PASSTHROUGH", "COMPUTE_ADDRESS_SPACE_EMULATED"}
FIRMWARE, VIRTIO_FS = "COMPUTE_SECURITY_STATELESS_FIRMWARE", "COMPUTE_STORAGE_VIRTIO_FS"
SECURE, BACKING = "COMPUTE_SECURITY_UEFI_SECURE_BOOT", "COMPUTE_MEM_BACKING_FILE"
GATED = {*SPACE, FIRMWARE, VIRTIO_FS, SECURE, BACKING}


def told(facts, **choice):
    wish = compute_capabilities.wish(facts, settings(**choice))
    assert wish.wanted >= ALWAYS
    assert wish.unwanted >= NEVER
    assert wish.wanted | wish.unwanted <= ALWAYS | NEVER | GATED
    return wish.wanted & GATED, wish.unwanted & GATED


def versions(libvirt, qemu=7002022, driver="QEMU"):
    return world(capable(), libvirt_version=libvirt, hypervisor_version=qemu, driver=driver)


VERSIONS = {
    "the reference's own host, libvirt 9.0.0 and QEMU 7.2.22": (versions(9000000), {*SPACE, FIRMWARE, VIRTIO_FS}),
    "libvirt 8.7.0": (versions(8007000), {*SPACE, FIRMWARE, VIRTIO_FS}),
    "libvirt 8.6.0": (versions(8006000), {FIRMWARE, VIRTIO_FS}),
    "libvirt 8.5.0": (versions(8005000), {VIRTIO_FS}),
    "libvirt 8.0.0 with QEMU 6.2.0": (versions(8000000, 6002000), {VIRTIO_FS}),
    "libvirt 7.10.0": (versions(7010000), set()),
    "QEMU 6.1.1": (versions(9000000, 6001001), {*SPACE, FIRMWARE}),
    "another driver": (versions(9000000, driver="LXC"), {FIRMWARE, VIRTIO_FS}),
}


@pytest.mark.parametrize(("facts", "expected"), VERSIONS.values(), ids=VERSIONS.keys())
def test_traits_depend_on_the_libvirt_and_qemu_versions(facts, expected):
    """The agent sets a trait such as COMPUTE_STORAGE_VIRTIO_FS only if the versions of libvirt and QEMU support it."""
    assert told(facts) == (expected, GATED - expected)


@pytest.mark.parametrize(("file_backed_mib", "there"), [(0, False), (1, True), (65536, True)])
def test_the_trait_of_file_backed_memory_follows_its_option(file_backed_mib, there):
    """The agent sets COMPUTE_MEM_BACKING_FILE if file_backed_memory is configured, and removes the trait if not."""
    wanted, unwanted = told(versions(9000000), file_backed_memory_mib=file_backed_mib)
    assert (BACKING in wanted, BACKING in unwanted) == (there, not there)


BOTH = frozenset({"yes", "no"})
SECURE_BOOT = {
    "one machine type": (capable(emulator(), emulator(machine="q35", loader_secure=BOTH)), True),
    "no loader": (capable(emulator()), False),
    "no secure loader": (capable(emulator(loader_secure=frozenset({"no"}))), False),
    "another architecture's": (capable(emulator(), emulator("aarch64", "virt", loader_secure=BOTH)), False),
    "the host's is aarch64": (capable(emulator("aarch64", "virt", loader_secure=BOTH), arch="aarch64"), True),
    "no emulator runs": (capable(), False),
}


@pytest.mark.parametrize(("capabilities", "there"), SECURE_BOOT.values(), ids=SECURE_BOOT.keys())
def test_the_secure_boot_trait_needs_a_secure_loader(capabilities, there):
    """The agent sets the secure boot trait only if libvirt offers a secure loader for the host's architecture."""
    wanted, unwanted = told(world(capabilities))
    assert (SECURE in wanted, SECURE in unwanted) == (there, not there)


UNKNOWN = {
    "no libvirt": (snapshot(lost=[LIBVIRT]), GATED - {BACKING}),
    "capabilities not known yet": (world(None, hypervisor_version=0), {SECURE, VIRTIO_FS}),
    "no domain capabilities": (world(capable(domain=None)), {SECURE}),
    "no architecture": (world(capable(emulator(), arch="")), {SECURE}),
    "an answer that nobody could read": (world(capable(emulator(), missing=(UNREADABLE,))), {SECURE}),
    "the hypervisor's version not told": (world(capable(), hypervisor_version=0), {VIRTIO_FS}),
}


@pytest.mark.parametrize(("facts", "silent"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_trait_stays_if_its_requirement_is_unknown(facts, silent):
    """If a trait needs a libvirt version or capability that is unknown, the agent leaves the trait unchanged."""
    wanted, unwanted = told(facts)
    assert GATED - wanted - unwanted == silent


def test_the_plain_encryption_trait_is_left_alone():
    """The agent neither sets nor removes the trait COMPUTE_EPHEMERAL_ENCRYPTION_PLAIN."""
    wish = compute_capabilities.wish(versions(9000000), settings())
    assert "COMPUTE_EPHEMERAL_ENCRYPTION_PLAIN" not in wish.wanted | wish.unwanted


def written(before, facts):
    plan = decided(snapshot(placement=view(provider=root(traits=frozenset(before))), libvirt=facts)).plan
    (put,) = [write for write in plan.writes if isinstance(write, PutTraits)]
    return set(put.traits)


def test_s108_a_libvirt_downgrade_removes_traits():
    """After a downgrade of libvirt, the agent removes the traits that need a newer libvirt from the root provider."""
    older = host(libvirt_version=8006000)
    assert written(usual_traits() | {"CUSTOM_X"}, older) == (usual_traits() | {"CUSTOM_X"}) - SPACE


def test_s108_an_unsupported_trait_set_by_hand_is_removed():
    """An operator set COMPUTE_SAME_HOST_COLD_MIGRATE, which libvirt hosts lack. The agent removes the trait."""
    by_hand = usual_traits() | {"COMPUTE_SAME_HOST_COLD_MIGRATE", "CUSTOM_X"}
    assert written(by_hand, host()) == usual_traits() | {"CUSTOM_X"}
