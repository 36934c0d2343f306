"""Decide whether DISK_GB still counts the same disk space as before. If unsure, the agent leaves DISK_GB unchanged.

The store is the file system or volume group with the guests' disks. The agent remembers what identifies the store. If
the file system is not mounted, statvfs raises no error, but returns the size of the file system below the mount point.

If the present and the remembered file system both have a UUID, the UUIDs decide whether they are the same. Otherwise
the agent compares the type, the export and the path within the file system. If these differ, the store counts as moved
(perhaps by an operator). For each row of this table, "not all" means that a guest's disk is not in the store, or that
the agent does not know whether the disks are there:

================  ==============================  =========================  =======================================
remembered store  size now                        guests' disks there        DISK_GB
================  ==============================  =========================  =======================================
same              at most 1 % smaller             any                        published
same              more than 1 % smaller           all                        published
same              more than 1 % smaller           not all                    unchanged
another UUID      any                             any                        unchanged
moved             any                             all, at least one          published
moved             any                             not all, or no guest disk  unchanged
none              not known to Placement          any                        published
none              as in Placement (within 1 %)    any                        published
none              not as in Placement             all, at least one          published
none              not as in Placement             not all                    unchanged
none              larger than in Placement        no guest disk              published
none              smaller than in Placement       no guest disk              unchanged if this agent published DISK_GB
================  ==============================  =========================  =======================================

If DISK_GB is published, ``to_remember`` decides whether the agent also remembers the store. A Ceph pool is always
trusted, because the cluster has no mount that could be lost, and without the cluster ``ceph df`` fails. The agent does
not check the cluster's fsid, because that would take one more command in each audit.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable
from dataclasses import dataclass

from agent.model.host.facts import Domain
from agent.model.host.storage import FileSystemIdentity
from agent.model.host.store import StoreMark
from agent.model.memo import for_the_same_arguments
from agent.model.naming import is_block_storage_file
from agent.model.owners import AGENT_OWNER
from agent.model.settings import Settings
from agent.model.snapshot import FILESYSTEM, IMAGES, LVM, Snapshot
from agent.model.units import bytes_to_gib_floor
from agent.resources.volumes import device_paths

# A store counts as unchanged if its size changed by at most this many percent: file system tables or thin pool metadata
# may have caused such a change.
TOLERANCE_PERCENT = 1
# Names of errno values which mean that the file does not exist, or that its store is not mounted.
_NOT_THERE = frozenset({"ENOENT", "ENOTDIR", "ESTALE", "EIO", "ENOTCONN", "ENODEV", "ENXIO", "EHOSTDOWN"})
_NAMED = 3
_EXPORTS = frozenset({"nfs", "cifs", "smb3", "ceph", "glusterfs", "lustre", "9p", "virtiofs", "zfs", "fuse"})


class Likeness(enum.Enum):
    """How the present file system or volume group of DISK_GB compares with the one that store.json names."""

    SAME = "same"
    MOVED = "moved"
    ANOTHER = "another"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestDisks:
    """Disks of libvirt's guests that belong on the store: how many exist on the store, and which are missing.

    ``unknown_because`` says why the agent does not know which disks exist on the store; "" if the agent knows.
    """

    present: int = 0
    missing: tuple[str, ...] = ()
    unknown_because: str = ""

    @property
    def all_there(self) -> bool:
        """Whether it is known that no disk is missing."""
        return not self.missing and not self.unknown_because


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDoubt:
    """Why the agent does not trust the present store (``now``). ``before`` is the remembered store."""

    before: StoreMark | None
    now: StoreMark
    disks: GuestDisks
    why: str


def store_now(snapshot: Snapshot, settings: Settings) -> StoreMark | None:
    """Return the file system or volume group that DISK_GB now counts. None if it was not read, or for a Ceph pool."""
    if settings.images_type == "rbd":
        return None
    if settings.disk_group is not None:
        if group := snapshot.group(settings.disk_group):
            return StoreMark(source=LVM, name=group.name, size_bytes=group.size_bytes, uuid=group.uuid or None)
        return None
    found = next((fs for fs in snapshot.stored.filesystems if fs.path == settings.instances_path), None)
    if found is None:
        return None
    return StoreMark(
        source=FILESYSTEM,
        name=found.path,
        size_bytes=found.size_bytes,
        uuid=found.identity.uuid if found.identity else None,
        filesystem=found.identity,
    )


def store_doubt(snapshot: Snapshot, settings: Settings) -> StoreDoubt | None:
    """Return why the agent must not change DISK_GB in Placement; None if it trusts the file system or volume group."""
    now = store_now(snapshot, settings)
    if now is None:
        return None
    before = remembered(snapshot, now)
    disks = guest_disks(snapshot, settings)
    why = _why_new(snapshot, now, disks) if before is None else _why_changed(before, now, disks)
    return None if why is None else StoreDoubt(before=before, now=now, disks=disks, why=why)


def to_remember(snapshot: Snapshot, settings: Settings) -> StoreMark | None:
    """Return the store's identity to remember from now on; None if the agent keeps the remembered identity.

    If the store should have guests' disks but has none, the store may be the empty folder below a mount point. The
    agent then keeps the remembered identity.
    """
    now = store_now(snapshot, settings)
    if now is None or store_doubt(snapshot, settings) is not None:
        return None
    before = remembered(snapshot, now)
    if before is not None and not _is_news(before, now):
        return None
    disks = guest_disks(snapshot, settings)
    if disks.unknown_because or (disks.missing and not disks.present):
        return None
    return now if now.uuid or before is None else dataclasses.replace(now, uuid=before.uuid)


def remembered(snapshot: Snapshot, now: StoreMark) -> StoreMark | None:
    """Return the mark (what identifies the store) that earlier audits remembered.

    Return None if there is no mark, or if the mark is of another path or volume group than ``now``.
    """
    before = snapshot.store
    return before if before is not None and (before.source, before.name) == (now.source, now.name) else None


def _is_news(before: StoreMark, now: StoreMark) -> bool:
    """Return whether the store ``now`` has a new size (a change of more than 1 %), a new UUID or a new place."""
    is_learned = now.uuid is not None and before.uuid is None
    return is_learned or differs(before.size_bytes, now.size_bytes) or likeness(before, now) is not Likeness.SAME


# Decision -------------------------------------------------------------------------------------------------------------


def likeness(before: StoreMark, now: StoreMark) -> Likeness:
    """Compare two stores: by UUID if both have a UUID, or by ``_place`` if both are file systems.

    If neither comparison is possible, return SAME.
    """
    if before.uuid is not None and now.uuid is not None:
        return Likeness.SAME if before.uuid == now.uuid else Likeness.ANOTHER
    if before.filesystem is None or now.filesystem is None:
        return Likeness.SAME
    return Likeness.SAME if _place(before.filesystem) == _place(now.filesystem) else Likeness.MOVED


def _place(identity: FileSystemIdentity) -> tuple[str, str, str]:
    """Return the values that identify a file system without UUID and stay the same after a reboot.

    The values are the type, the path within the file system and the device. The device is "" unless the type is in
    ``_EXPORTS`` (NFS, ZFS). The mount point does not matter.
    """
    kind = identity.kind.partition(".")[0]
    kind = {"nfs4": "nfs", "ext2": "ext4", "ext3": "ext4"}.get(kind, kind)
    return kind, identity.inner, identity.device.rstrip("/") if kind in _EXPORTS else ""


def differs(before: int, now: int) -> bool:
    """Return whether the amount ``now`` differs from ``before`` by more than TOLERANCE_PERCENT."""
    return abs(now - before) * 100 > before * TOLERANCE_PERCENT


def _why_changed(before: StoreMark, now: StoreMark, disks: GuestDisks) -> str | None:
    alike = likeness(before, now)
    if alike is Likeness.ANOTHER:
        return f"{name_of(now)} is not the same store as before: its UUID is {now.uuid}, but was {before.uuid}"
    if alike is Likeness.MOVED and not (disks.all_there and disks.present):
        return f"{name_of(now)} was {where(before)} and is now {where(now)}"
    has_fallen = now.size_bytes < before.size_bytes and differs(before.size_bytes, now.size_bytes)
    if has_fallen and not disks.all_there:
        return f"{name_of(now)} is smaller than before, and {_not_there(disks)}"
    return None


def _why_new(snapshot: Snapshot, now: StoreMark, disks: GuestDisks) -> str | None:
    recorded = snapshot.recorded_inventory("DISK_GB")
    total = bytes_to_gib_floor(now.size_bytes)
    if recorded is None or not differs(recorded.total, total):
        return None
    if not disks.all_there:
        return f"the agent does not remember {name_of(now)} as the place of guests' disks, and {_not_there(disks)}"
    root = snapshot.observed_root
    if root is not None and AGENT_OWNER in root.traits and total < recorded.total and not disks.present:
        place = f"the agent does not remember {name_of(now)} as the place of guests' disks"
        return f"{place}, and the agent published a larger DISK_GB earlier"
    return None


def _not_there(disks: GuestDisks) -> str:
    if disks.unknown_because:
        return f"it is unknown whether the guests' disks are in the store: {disks.unknown_because}"
    more = f" and {len(disks.missing) - _NAMED} more" if len(disks.missing) > _NAMED else ""
    return f"disks of libvirt's guests are missing in the store: {', '.join(disks.missing[:_NAMED])}{more}"


def name_of(mark: StoreMark) -> str:
    """Return the name of the store of guests' disks for messages: the volume group or the path."""
    return f"volume group {mark.name}" if mark.source == LVM else f"the file system at {mark.name}"


def where(mark: StoreMark) -> str:
    """Return text that identifies the file system or volume group: its device, or its UUID."""
    identity = mark.filesystem
    with_uuid = f" with UUID {mark.uuid}" if mark.uuid else ""
    if identity is None:
        return f"a volume group{with_uuid}" if mark.source == LVM else "a file system that is not in the list of mounts"
    mounted = f"{identity.kind}, mounted at {identity.mount_point}{with_uuid}"
    return f"folder {identity.inner} of file system {identity.device} ({mounted})"


# Guests' disks --------------------------------------------------------------------------------------------------------


def guest_disks(snapshot: Snapshot, settings: Settings) -> GuestDisks:
    """Return which disks of all defined guests are on the store, and which are missing."""
    host = snapshot.host.value
    if host is None:
        return GuestDisks(unknown_because="libvirt could not be read")
    wanted = _wanted(host.domains, settings)
    if not wanted:
        return GuestDisks()
    if settings.disk_group is not None:
        there = {path for volume in snapshot.stored.volumes for path in device_paths(volume)}
        return _sorted_out((path, path in there) for path in wanted)
    if not snapshot.fresh(IMAGES):
        return GuestDisks(unknown_because="guests' disk files were not measured")
    gone = {file.path for file in snapshot.stored.disk_files if file.error_name in _NOT_THERE}
    return _sorted_out((path, path not in gone) for path in wanted)


def _sorted_out(found: Iterable[tuple[str, bool]]) -> GuestDisks:
    pairs = sorted(found)
    missing = tuple(path for path, is_there in pairs if not is_there)
    return GuestDisks(present=len(pairs) - len(missing), missing=missing)


@for_the_same_arguments
def _wanted(domains: Iterable[Domain], settings: Settings) -> frozenset[str]:
    """Return the paths of guests' disks that must be on the store. Files of block storage volumes are elsewhere."""
    sources = [(disk.kind, disk.source) for domain in domains for disk in domain.disks if disk.source]
    if settings.disk_group is not None:
        return frozenset(source for kind, source in sources if kind == "block" and _is_in(source, settings.disk_group))
    below = f"{settings.instances_path.rstrip('/')}/"
    return frozenset(
        source
        for kind, source in sources
        if kind == "file" and source.startswith(below) and not is_block_storage_file(source.rpartition("/")[2])
    )


def _is_in(device: str, group: str) -> bool:
    """Return whether ``device`` is the path of a volume in the volume group ``group``.

    Below /dev/mapper, one hyphen separates the group from the volume, and hyphens within the names are doubled.
    """
    mapped = f"/dev/mapper/{group.replace('-', '--')}-"
    return device.startswith(f"/dev/{group}/") or (device.startswith(mapped) and device[len(mapped) :][:1] != "-")
