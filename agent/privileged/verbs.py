"""Carry out the operation (verb) that a request names: run a command, or read the host's data without a command.

All arguments of the command or read come from the configuration, none from the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.errors import SourceError
from agent.model.settings import CephAccess, Settings
from agent.ports import Deadline
from agent.privileged.trust import Untrusted
from agent.sources.probe.protocol import Answer, Kind, Verb
from agent.sources.storage import lvm_json
from agent.sources.storage.ceph import df_command
from agent.sources.storage.lvm import GROUPS_COMMAND, Completed, Runner, volumes_command
from agent.sources.storage.ndctl import COMMAND as NDCTL_COMMAND

if TYPE_CHECKING:
    from agent.privileged.host_reads import HostScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What stocktake-probe may read according to the configuration."""

    groups: tuple[str, ...]
    ceph: CephAccess | None
    has_pmem: bool
    file_systems: tuple[str, ...]
    instances_path: str
    cache_path: str
    libvirt_uri: str
    settings: Settings


def answer(verb: Verb, scope: Scope, runner: Runner, deadline: Deadline) -> Answer:
    """Return the answer to one request. Raises Untrusted if it asks for something that is not configured."""
    if verb in _READ:
        return _READ[verb](scope)
    try:
        completed = _RUN[verb](scope, runner, deadline)
    except TimeoutError as error:
        return Answer(kind=Kind.TIMED_OUT, content=str(error))
    except OSError as error:
        return Answer(kind=Kind.NOT_STARTED, content=error.errno or 0)
    content = {"stdout": completed.stdout, "stderr": completed.stderr, "returncode": completed.returncode}
    return Answer(kind=Kind.COMPLETED, content=content)


def _groups(scope: Scope, runner: Runner, deadline: Deadline) -> Completed:
    _require(scope.groups, "volume group")
    return runner.run(GROUPS_COMMAND, deadline.left_s())


def _volumes(scope: Scope, runner: Runner, deadline: Deadline) -> Completed:
    """Run vgs, then lvs for the configured groups that exist. lvs would fail for a group that does not exist."""
    report = _groups(scope, runner, deadline)
    if report.returncode != 0:
        return report
    try:
        groups = lvm_json.select(lvm_json.parse_groups(report.stdout), scope.groups)
    except SourceError as error:
        raise Untrusted(f"vgs: {error.message}") from error
    names = tuple(group.name for group in groups)
    if not names:
        raise Untrusted(f"vgs lists none of the configured volume groups ({', '.join(scope.groups)})")
    return runner.run(volumes_command(names), deadline.left_s())


def _ceph(scope: Scope, runner: Runner, deadline: Deadline) -> Completed:
    _require(scope.ceph, "Ceph pool")
    assert scope.ceph is not None
    return runner.run(df_command(scope.ceph), deadline.left_s())


def _ndctl(scope: Scope, runner: Runner, deadline: Deadline) -> Completed:
    _require(scope.has_pmem, "persistent memory")
    return runner.run(NDCTL_COMMAND, deadline.left_s())


def _file_systems(scope: Scope) -> Answer:
    _require(scope.file_systems, "file system for the guests' disks")
    # host_reads imports libvirt, so only the functions that need host_reads import it. Each request runs in a new
    # process, and a request about LVM needs no libvirt.
    from agent.privileged.host_reads import file_systems

    return file_systems(scope.file_systems)


def _images(scope: Scope) -> Answer:
    from agent.privileged.host_reads import images

    return images(_host_scope(scope))


def _capabilities(scope: Scope) -> Answer:
    from agent.privileged.host_reads import domain_capabilities

    return domain_capabilities(_host_scope(scope))


def _host_scope(scope: Scope) -> HostScope:
    from agent.privileged.host_reads import HostScope
    from agent.sources.libvirt.capability_questions import GuestChoice
    from agent.sources.storage.image_meter import ImageFolders

    folders = ImageFolders(instances_path=scope.instances_path, cache_path=scope.cache_path)
    return HostScope(libvirt_uri=scope.libvirt_uri, folders=folders, guests=GuestChoice.of(scope.settings))


def _require(configured: Any, what: str) -> None:  # noqa: ANN401 - only its truth counts
    if not configured:
        raise Untrusted(f"the probe's configuration names no {what}")


_RUN: Mapping[Verb, Callable[[Scope, Runner, Deadline], Completed]] = {
    Verb.LVM_GROUPS: _groups,
    Verb.LVM_VOLUMES: _volumes,
    Verb.CEPH_DF: _ceph,
    Verb.NDCTL_LIST: _ndctl,
}

_READ: Mapping[Verb, Callable[[Scope], Answer]] = {
    Verb.FILE_SYSTEMS: _file_systems,
    Verb.IMAGES: _images,
    Verb.DOMAIN_CAPABILITIES: _capabilities,
}
