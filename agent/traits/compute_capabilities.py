"""COMPUTE_*: what a guest of this host can request of nova besides its size, such as device tags or secure boot.

Most of these traits are abilities of nova's libvirt driver, the same on every host: the agent publishes what
nova-compute 34 can do. Other traits depend on facts of this host. If such a fact is unknown, the agent does not change
the trait that depends on the fact.
"""

from __future__ import annotations

from agent.model.host.facts import HostFacts
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, host_emulators, merged, wish_of, wish_of_emulators
from agent.traits.versions import at_least, hypervisor_known

_ALWAYS = (
    "COMPUTE_ACCELERATORS",
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
    "COMPUTE_RESCUE_BFV",
    "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
    "COMPUTE_TRUSTED_CERTS",
    "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
)
# The traits that no host has. No image backend of nova's libvirt driver encrypts ephemeral disks, and a cold migration
# always moves the guest to another host.
_NEVER = ("COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS", "COMPUTE_SAME_HOST_COLD_MIGRATE")


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Set or clear each trait; do not change a trait that depends on an unknown fact."""
    answers = dict.fromkeys(_ALWAYS, True) | dict.fromkeys(_NEVER, False)
    answers["COMPUTE_MEM_BACKING_FILE"] = settings.file_backed_memory_mib > 0
    host = snapshot.host.value
    if host is not None:
        answers |= _by_version(host)
    return merged(wish_of(answers), _secure_boot(snapshot))


def _secure_boot(snapshot: Snapshot) -> Wish:
    asked = host_emulators(snapshot)
    if asked is None:
        return Wish()
    there = any("yes" in one.loader_secure for one in asked)
    return wish_of_emulators({"COMPUTE_SECURITY_UEFI_SECURE_BOOT": there}, snapshot)


def _by_version(host: HostFacts) -> dict[str, bool]:
    # libvirt's capabilities do not list the two modes of <maxphysaddr>, emulate and passthrough. libvirt 8.7.0 added
    # both modes, so libvirt's version decides.
    maxphysaddr = at_least(host, libvirt=(8, 7, 0), driver="QEMU")
    with_hypervisor = (
        {"COMPUTE_STORAGE_VIRTIO_FS": at_least(host, libvirt=(8, 0, 0), qemu=(6, 2, 0))}
        if hypervisor_known(host)
        else {}
    )
    return with_hypervisor | {
        "COMPUTE_ADDRESS_SPACE_EMULATED": maxphysaddr,
        "COMPUTE_ADDRESS_SPACE_PASSTHROUGH": maxphysaddr,
        "COMPUTE_SECURITY_STATELESS_FIRMWARE": at_least(host, libvirt=(8, 6, 0)),
    }
