"""Divide all bytes of the instances file system, and of a Ceph pool, into rows; each row has one owner.

The rows of a store add up to its size, and no row is negative. But the files may seem larger than the used part of
their file system: files may share extents (reflinks), and a file may vanish before the file system is measured. Then
the excess is subtracted from the least important rows (cached images first, instances last), and the text of such a row
states the subtracted bytes. Pure.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.model.host.facts import Domain
from agent.model.host.storage import CephPool, FileSystem, ImageStore, StoredFile
from agent.model.memo import for_equal_arguments, for_the_same_arguments
from agent.model.naming import KEPT_FOR_RESIZE, instance_folder
from agent.model.nova import NovaState
from agent.model.report import StorageRow
from agent.model.snapshot import Snapshot
from agent.resources.guests import expected_here


class StoreOwner(enum.Enum):
    """The kinds of owners of stored bytes.

    If the files' sizes add up to more than the used bytes, the excess is subtracted in the order of these kinds: first
    from cached images, then from other files, and so on.
    """

    IMAGE_CACHE = "image-cache"
    OTHER = "other"
    LEFTOVER = "leftover"
    UNKNOWN = "unknown"
    DOMAIN = "domain"
    INSTANCE = "instance"
    POOL = "pool"
    ELSEWHERE = "elsewhere"
    ROOT_RESERVE = "root-reserve"
    FREE = "free"


_SACRIFICED = tuple(StoreOwner)


@dataclass(frozen=True, slots=True)
class OwnedFiles:
    """A file or a folder, and its owner.

    ``owner`` is the uuid of the instance or domain to which the file belongs, else the path. For space without a file,
    such as free space, ``owner`` is "".
    """

    path: str
    kind: StoreOwner
    owner: str
    what: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Guests:
    """The possible owners of a folder or file.

    ``users``: pairs of a disk's file and the uuid of the domain that has this disk.
    ``known``: whether all possible owners are known. Only then does an instance's folder without an owner count as a
    leftover.
    """

    instances: frozenset[str]
    resizing: frozenset[str]
    domains: frozenset[str]
    users: frozenset[tuple[str, str]]
    known: bool


def image_store_rows(snapshot: Snapshot) -> tuple[StorageRow, ...]:
    """Return rows that show who uses the disk space of each instances directory and Ceph pool.

    A store's last row is its free space. Stores that were not read are left out.
    """
    stores = [row for store in snapshot.stored.image_stores for row in _store_rows(store, _guests(snapshot, store))]
    return (*stores, *(row for pool in snapshot.stored.ceph_pools for row in _pool_rows(pool)))


def leftovers(snapshot: Snapshot) -> tuple[OwnedFiles, ...]:
    """Return the folders of instances that left this host, sorted by path.

    The list has a folder only if the agent could read every instance and domain that may own the folder.
    """
    found = (files for store in snapshot.stored.image_stores for files in _owned_files(store, _guests(snapshot, store)))
    return tuple(files for files in found if files.kind is StoreOwner.LEFTOVER)


# Cached: each audit calls this function twice, and most audits find the same folders as the audit before.
@for_equal_arguments
def _owned_files(store: ImageStore, guests: _Guests) -> tuple[OwnedFiles, ...]:
    """Return all files below the store with their owners, in the order of the store's files."""
    disks = _first_users(guests.users)
    in_use = _first_users((_top(path, store), uuid) for path, uuid in guests.users)
    return tuple(
        _owned_folder(file, store, guests, in_use) or _owned(file, store, guests, disks) for file in store.files
    )


def _first_users(users: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Map each path to the uuid of the domain that uses the path. If several domains do, take the lowest uuid."""
    return dict(sorted(users, reverse=True))  # dict() keeps the last of several equal paths


def _top(path: str, store: ImageStore) -> str:
    """Return the store's top-level file or folder in which ``path`` lies; "" if ``path`` is not in the store."""
    inner = path.removeprefix(f"{store.path}/")
    return "" if inner == path else f"{store.path}/{inner.partition('/')[0]}"


def _owned_folder(file: StoredFile, store: ImageStore, guests: _Guests, in_use: Mapping[str, str]) -> OwnedFiles | None:
    """Return ``file`` with its owner if it is a folder named after an instance, else None.

    The owner is the instance or domain whose uuid is in the folder's name. If there is none, the owner is the domain
    that has a disk in the folder. If there is no such domain either, the kind is LEFTOVER, or UNKNOWN if some instances
    or domains could not be read.
    """
    name = file.path.rpartition("/")[2]
    found = instance_folder(name) if file.path == _top(file.path, store) else None
    if found is None:
        return None
    uuid, is_old = found[0], found[1] == KEPT_FOR_RESIZE
    user = in_use.get(file.path)
    kind = StoreOwner.LEFTOVER if guests.known else StoreOwner.UNKNOWN
    if uuid in guests.instances and (not is_old or uuid in guests.resizing):
        kind = StoreOwner.INSTANCE
    elif uuid in guests.domains and not is_old:
        kind = StoreOwner.DOMAIN
    elif user is not None:
        kind, uuid = _user_kind(user, guests), user
    return OwnedFiles(file.path, kind, uuid, f"folder {name}", file.allocated_bytes)


def _owned(file: StoredFile, store: ImageStore, guests: _Guests, disks: Mapping[str, str]) -> OwnedFiles:
    path, size_bytes = file.path, file.allocated_bytes
    name = path.rpartition("/")[2]
    user = disks.get(path)
    if user is not None:
        return OwnedFiles(path, _user_kind(user, guests), user, f"disk {name}", size_bytes)
    if path.startswith(f"{store.cache_path}/"):
        return OwnedFiles(path, StoreOwner.IMAGE_CACHE, path, f"base image {name}", size_bytes)
    if path in (store.path, store.cache_path):
        kind = StoreOwner.OTHER if path == store.path else StoreOwner.IMAGE_CACHE
        return OwnedFiles(path, kind, path, "the folder itself", size_bytes)
    return OwnedFiles(path, StoreOwner.OTHER, path, f"other: {name}", size_bytes)


def _user_kind(user: str, guests: _Guests) -> StoreOwner:
    return StoreOwner.INSTANCE if user in guests.instances else StoreOwner.DOMAIN


def _guests(snapshot: Snapshot, store: ImageStore) -> _Guests:
    state, host = snapshot.nova.value, snapshot.host.value
    cloud = state if state is not None and state.kind.has_cloud else None
    domains = host.guest_uuids if host else frozenset()
    return _Guests(
        instances=expected_here(cloud) if cloud else domains if state else frozenset(),
        resizing=_resizing(cloud) if cloud else domains,
        domains=domains,
        users=_users(host.domains) if host else frozenset(),
        known=cloud is not None and not cloud.unreadable and host is not None and not store.shared_because,
    )


@for_equal_arguments
def _users(domains: tuple[Domain, ...]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (disk.source, domain.uuid)
        for domain in domains
        for disk in domain.disks
        if disk.kind == "file" and disk.source is not None
    )


@for_the_same_arguments
def _resizing(state: NovaState) -> frozenset[str]:
    """Return the uuids of instances that may still need the folder ``UUID_resize``, which nova keeps for a resize."""
    moving = {m.instance_uuid for m in state.migrations if m.in_progress}
    return frozenset(moving | {i.uuid for i in state.instances if i.task_state or i.vm_state == "resized"})


@for_equal_arguments
def _store_rows(store: ImageStore, guests: _Guests) -> tuple[StorageRow, ...]:
    place = store.filesystem
    used = max(0, place.size_bytes - place.free_bytes)
    files = _fitted(_owned_files(store, guests), used)
    rows = [_row(store.path, place.size_bytes, one, f"stat {one.path}") for one in files if one.size_bytes]
    rows.sort(key=lambda row: (row.owner_kind, row.owner, row.what))
    unseen = used - sum(one.size_bytes for one in files)
    rows.extend(_row(store.path, place.size_bytes, one, f"statvfs {store.path}") for one in _rest(place, unseen))
    return tuple(rows)


def _rest(place: FileSystem, unseen: int) -> Iterable[OwnedFiles]:
    free = min(place.free_bytes, place.size_bytes)
    available = min(place.available_bytes, free)
    rest = (
        (StoreOwner.ELSEWHERE, "used by other files of this file system", unseen),
        (StoreOwner.ROOT_RESERVE, "reserved for root by the file system", free - available),
    )
    for kind, what, size_bytes in rest:
        if size_bytes:
            yield OwnedFiles(place.path, kind, place.path, what, size_bytes)
    yield OwnedFiles(place.path, StoreOwner.FREE, "", "free", available)


def _fitted(files: tuple[OwnedFiles, ...], used: int) -> tuple[OwnedFiles, ...]:
    """Reduce the files' sizes until their sum is at most ``used`` bytes; the module's docstring gives the reason."""
    excess = sum(one.size_bytes for one in files) - used
    if excess <= 0:
        return files
    fitted = []
    for one in sorted(files, key=lambda one: (_SACRIFICED.index(one.kind), -one.size_bytes, one.path)):
        cut = min(one.size_bytes, excess)
        excess -= cut
        reason = "shared with other files, or freed while the agent read the sizes"
        why = f" (minus {cut} bytes: {reason})" if cut else ""
        fitted.append(dataclasses.replace(one, what=one.what + why, size_bytes=one.size_bytes - cut))
    return tuple(fitted)


def _pool_rows(pool: CephPool) -> list[StorageRow]:
    used = min(pool.used_bytes, pool.cluster_bytes)
    available = min(pool.available_bytes, pool.cluster_bytes - used)
    rest = pool.cluster_bytes - used - available
    parts = (
        OwnedFiles(pool.name, StoreOwner.POOL, pool.name, "used by the pool", used),
        OwnedFiles(pool.name, StoreOwner.ELSEWHERE, "", "rest of the Ceph cluster: other pools and replicas", rest),
        OwnedFiles(pool.name, StoreOwner.FREE, "", "available to the pool", available),
    )
    return [_row(f"ceph {pool.name}", pool.cluster_bytes, part, "ceph df") for part in parts]


def _row(store: str, store_bytes: int, files: OwnedFiles, source: str) -> StorageRow:
    return StorageRow(
        store=store,
        owner_kind=files.kind.value,
        owner=files.owner,
        what=files.what,
        size_bytes=files.size_bytes,
        source=source,
        store_bytes=store_bytes,
    )
