"""Compute how much guests' disks may still grow, in bytes, and how much space would then be left on the store.

If one fact about a disk is unknown, the whole domain counts as unknown, but no other domain does (scenario 89). The
result names this domain with the reason, and the sum does not include the domain. A sum may be negative, because a
preallocated raw file takes more than its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.model.host.facts import Disk, Domain, HostFacts, OddDomain
from agent.model.host.storage import DiskFile, GuestFile
from agent.model.memo import for_equal_arguments
from agent.model.naming import is_block_storage_file
from agent.model.settings import Settings
from agent.model.snapshot import IMAGES, Snapshot
from agent.model.units import GIB
from agent.resources.counted_store import counted_store

_FORMATS = frozenset({"qcow2", "ploop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OverCommit:
    """The bytes that guests may still write into their disks' files, without the domains in ``unknown``."""

    total_bytes: int
    unknown: tuple[OddDomain, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastDisk:
    """The bytes left when every guest has filled its disks; may be negative.

    ``size_bytes`` is None if the free space, the domains or their files were not read. ``unknown`` names the domains
    whose disks are not included.
    """

    size_bytes: int | None
    unknown: tuple[OddDomain, ...] = ()

    @property
    def gib(self) -> int | None:
        """Whole GiB, truncated towards 0 as nova's integer column truncates (-3.7 becomes -3)."""
        if self.size_bytes is None:
            return None
        return self.size_bytes // GIB if self.size_bytes >= 0 else -(-self.size_bytes // GIB)


def guest_files(host: HostFacts) -> frozenset[GuestFile]:
    """Return the files to measure: disks of all defined domains, running or not, except cinder's volumes."""
    return _guest_files(host.domains)


def files_of(domains: Iterable[Domain]) -> frozenset[GuestFile]:
    """Return the domains' disk files that count for the over-commit, so that they can be measured."""
    return frozenset(_file(disk) for domain in domains for disk in domain.disks if _counts(disk))


@for_equal_arguments
def _guest_files(domains: tuple[Domain, ...]) -> frozenset[GuestFile]:
    return files_of(domains)


def over_commit(host: HostFacts, files: Iterable[DiskFile]) -> OverCommit:
    """Return the over-commit of all domains. A file that two domains share counts once for each domain, as in nova."""
    return _over_commit(host.domains, host.odd_domains, tuple(files))


# Cached: with the same domains and the same disk files, the last result still holds.
@for_equal_arguments
def _over_commit(
    domains: tuple[Domain, ...], odd_domains: tuple[OddDomain, ...], files: tuple[DiskFile, ...]
) -> OverCommit:
    measured = {(file.path, file.format): file for file in files}
    total_bytes = 0
    unknown = list(odd_domains)
    for domain in domains:
        found = [_measured(wanted, measured) for wanted in map(_file, filter(_counts, domain.disks))]
        problems = [f"{file.path}: {file.problem}" for file in found if file.problem]
        if problems:
            unknown.append(OddDomain(uuid=domain.uuid, name=domain.name, reason="; ".join(problems)))
        else:
            total_bytes += sum(map(_still_to_come, found))
    return OverCommit(total_bytes=total_bytes, unknown=tuple(sorted(unknown, key=lambda domain: domain.uuid)))


def disk_available_least(snapshot: Snapshot, settings: Settings) -> LeastDisk:
    """Return the bytes that are left on the store of the guests' disks when every disk has grown to its full size."""
    store, host = counted_store(snapshot, settings), snapshot.host.value
    if store is None or host is None or not snapshot.fresh(IMAGES):
        return LeastDisk(size_bytes=None)
    found = over_commit(host, snapshot.stored.disk_files)
    return LeastDisk(size_bytes=store.available_bytes - found.total_bytes, unknown=found.unknown)


def _counts(disk: Disk) -> bool:
    """Return whether the over-commit includes the disk. It includes only local files.

    A network disk takes no space on this host, and a block device has its full size from the start.
    """
    if disk.kind != "file" or disk.source is None:
        return False
    return not is_block_storage_file(disk.source.rpartition("/")[2])


def _file(disk: Disk) -> GuestFile:
    return GuestFile(path=disk.source or "", format=disk.format if disk.format in _FORMATS else "raw")


def _measured(wanted: GuestFile, measured: Mapping[tuple[str, str], DiskFile]) -> DiskFile:
    nothing = DiskFile(
        path=wanted.path, format=wanted.format, virtual_bytes=None, allocated_bytes=None, problem="was not measured"
    )
    return measured.get((wanted.path, wanted.format), nothing)


def _still_to_come(file: DiskFile) -> int:
    left = (file.virtual_bytes or 0) - (file.allocated_bytes or 0)
    return max(0, left) if file.format == "qcow2" else left
