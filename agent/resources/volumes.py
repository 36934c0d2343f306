"""Decide whose every volume of the volume groups is, and how many bytes of the group each owner takes.

The name decides first, then the guest that uses it, then what it serves: a
snapshot of an instance's disk is counted with that disk, a leg with its mirror,
and a thin volume takes nothing, because its pool does. So a row may be an
instance's and take 0 bytes; the sum over all rows is what is taken from the groups.
"""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.model.host import Domain
from agent.model.snapshot import Snapshot
from agent.model.storage import Volume

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# nova: <uuid>_<disk name>, the disk name's own underscores doubled; nova itself matches by the prefix alone.
_INSTANCE_DISK = re.compile(f"(?P<uuid>{_UUID})_.*")
# cinder's volume_name_template and its snapshots ("snapshot" at the front of a name is reserved by lvm2, hence "_").
_BLOCK_STORAGE = re.compile(f"(volume|_snapshot)-{_UUID}")


class OwnerKind(enum.Enum):
    """The rows of hypervisor-audit 3.4. PART: counted with the volume or pool that it serves, so it takes nothing."""

    INSTANCE = "instance"
    DOMAIN = "domain"
    BLOCK_STORAGE = "block-storage"
    ORPHANED = "orphaned"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"
    PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guests:
    """Who could own a volume.

    ``instance_uuids``: instances of this host and of migrations in progress
    here; without ``state_known`` the state source could not be read, and they say nothing.
    """

    instance_uuids: frozenset[str]
    state_known: bool
    domains: tuple[Domain, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedVolume:
    """One volume and its owner.

    ``owner_uuid`` is the instance's or domain's (an ORPHANED volume: the uuid in
    its name), None elsewhere and for a pool that several instances share.
    ``bytes_taken`` are the extents of the volume and of all parts that serve it.
    ``serves`` is the path (``VG/LV``) that a PART is counted with.
    """

    volume: Volume
    kind: OwnerKind
    owner_uuid: str | None
    bytes_taken: int
    serves: str | None = None


@dataclass(frozen=True, slots=True)
class _Owner:
    kind: OwnerKind
    uuid: str | None = None


_BLOCK_STORAGE_OWNER = _Owner(OwnerKind.BLOCK_STORAGE)
_FOREIGN = _Owner(OwnerKind.FOREIGN)
_UNKNOWN = _Owner(OwnerKind.UNKNOWN)


def owners(snapshot: Snapshot, guests: Guests) -> tuple[OwnedVolume, ...]:
    """A row for every volume of the snapshot, hidden ones included, sorted by group and name.

    Source: hypervisor-audit 3.4. The sum of ``bytes_taken`` is the sum of the volumes' ``extent_bytes``.
    """
    volumes = tuple(sorted(snapshot.volumes, key=lambda volume: (volume.group, volume.name)))
    claimed = _claimed(volumes, guests, _users(guests.domains) if snapshot.host.ok else None)
    served = _served(volumes, claimed)
    taken: dict[str, int] = defaultdict(int)
    for volume in volumes:
        taken[served[volume.path]] += volume.extent_bytes
    rest = _FOREIGN if snapshot.host.ok else _UNKNOWN
    pools = {**claimed, **_pool_owners(volumes, claimed, rest)}
    return tuple(_row(volume, served[volume.path], pools.get(volume.path, rest), taken) for volume in volumes)


def _row(volume: Volume, served: str, owner: _Owner, taken: Mapping[str, int]) -> OwnedVolume:
    if served != volume.path:
        return OwnedVolume(volume=volume, kind=OwnerKind.PART, owner_uuid=None, bytes_taken=0, serves=served)
    return OwnedVolume(volume=volume, kind=owner.kind, owner_uuid=owner.uuid, bytes_taken=taken[volume.path])


def _claimed(volumes: Iterable[Volume], guests: Guests, users: Mapping[str, str] | None) -> dict[str, _Owner]:
    """Owners that a volume has by its own name or use, by path. A hidden volume has none: it only serves."""
    found = ((volume.path, _claim(volume, guests, users)) for volume in volumes if not volume.hidden)
    return {path: owner for path, owner in found if owner is not None}


def _claim(volume: Volume, guests: Guests, users: Mapping[str, str] | None) -> _Owner | None:
    """The first that holds: an instance's name, block storage's name, a domain's disk, a name nobody answers for.

    Without ``users`` (libvirt was not read) nothing can be said after the names.
    Block storage goes before the domain, since no flavor pays for an attached
    volume; the domain before the orphan, since a disk in use is nobody's leftover.
    """
    disk = _INSTANCE_DISK.fullmatch(volume.name)
    if disk and disk["uuid"] in guests.instance_uuids:
        return _Owner(OwnerKind.INSTANCE, disk["uuid"])
    if disk and not guests.state_known:
        return _UNKNOWN
    if _BLOCK_STORAGE.fullmatch(volume.name) or volume.name == f"{volume.group}-pool":
        return _BLOCK_STORAGE_OWNER
    if users is None:
        return None
    if user := min((users[path] for path in _device_paths(volume) if path in users), default=None):
        return _Owner(OwnerKind.DOMAIN, user)
    return _Owner(OwnerKind.ORPHANED, disk["uuid"]) if disk else None


def _users(domains: Iterable[Domain]) -> dict[str, str]:
    """Disk source to the uuid of the domain that names it; of several (a shared disk) the first uuid."""
    users: dict[str, str] = {}
    for domain in domains:
        for disk in domain.disks:
            if disk.source is not None:
                users[disk.source] = min(domain.uuid, users.get(disk.source, domain.uuid))
    return users


def _device_paths(volume: Volume) -> tuple[str, str]:
    """The two names that lvm2 gives its device; links to them are for who reads the host to resolve."""
    mapped = "-".join(part.replace("-", "--") for part in (volume.group, volume.name))
    return f"/dev/{volume.path}", f"/dev/mapper/{mapped}"


def _served(volumes: tuple[Volume, ...], claimed: Mapping[str, _Owner]) -> dict[str, str]:
    """By path, the path of the volume that it is counted with: itself, or what it serves in the end."""
    paths = {volume.path for volume in volumes}
    step = {volume.path: target for volume in volumes if (target := _target(volume)) in paths}
    return {volume.path: _follow(volume.path, step, claimed) for volume in volumes}


def _target(volume: Volume) -> str | None:
    """What it serves directly: a hidden part its parent, a thin volume its pool, a snapshot its origin."""
    name = volume.parent if volume.hidden else volume.pool or volume.origin
    return None if name is None else f"{volume.group}/{name}"


def _follow(path: str, step: Mapping[str, str], claimed: Mapping[str, _Owner]) -> str:
    """The first volume on the way that has an owner of its own, or the last; of a ring each counts itself."""
    seen = [path]
    while seen[-1] not in claimed and (target := step.get(seen[-1])) is not None:
        if target in seen:
            return path
        seen.append(target)
    return seen[-1]


def _pool_owners(volumes: Iterable[Volume], claimed: Mapping[str, _Owner], rest: _Owner) -> dict[str, _Owner]:
    """Owners of the thin pools that have none by name (``<vg>-pool`` is block storage's), by path.

    The pool holds the extents, so it is its users' when all volumes in it are
    instances' (or one domain's); when the state is not known for one, it is
    unknown for the pool. A pool of mixed use, and one that holds volumes of
    nobody, is foreign: it is no cloud disk, and its room is gone.
    """
    users: dict[str, set[_Owner]] = defaultdict(set)
    for volume in volumes:
        if volume.pool is not None and not volume.hidden:
            users[f"{volume.group}/{volume.pool}"].add(claimed.get(volume.path, rest))
    return {path: _pool_owner(found, rest) for path, found in users.items() if path not in claimed}


def _pool_owner(users: set[_Owner], rest: _Owner) -> _Owner:
    if len(users) == 1:
        return next(iter(users))
    kinds = {user.kind for user in users}
    if OwnerKind.UNKNOWN in kinds:
        return _UNKNOWN
    return _Owner(OwnerKind.INSTANCE) if kinds == {OwnerKind.INSTANCE} else rest
