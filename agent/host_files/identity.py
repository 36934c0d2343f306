"""Decide which resource provider is this host's, by a ``compute_id`` file or else by the host's compute node record.

The file may be in the folder of any configuration file, in nova's state path or in the agent's state directory. Files
that differ are a fatal error: the agent does not choose one. Other compute node records of the host are orphans.

While nova still knows the host, the agent never replaces a lost identity by a new identity: the host's old provider
would stay behind with all its allocations.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from agent.errors import ConfigError
from agent.host_files.atomic import replace_file, write_new_file
from agent.host_files.own_folder import failure
from agent.host_files.regular_file import open_regular
from agent.model.audit import Identity
from agent.model.nova import NovaState

FILE_NAME = "compute_id"
# The number of characters to read, as in nova/virt/node.py: a uuid, and white space that an editor may add.
LONGEST = 40


@dataclass(frozen=True, slots=True)
class ComputeIdFiles:
    """The ``compute_id`` files of this host, in search order; the agent writes only the file in ``state_dir``.

    ``closed`` are files that this process may not read and therefore skips.
    """

    config_dirs: tuple[Path, ...]
    nova_state_path: Path | None
    state_dir: Path
    closed: frozenset[Path] = frozenset()

    def readable(self) -> ComputeIdFiles:
        """Return a copy of this object that skips the files that this process may not read."""
        return replace(self, closed=frozenset(path for path in self._paths() if _is_closed(path)))

    @property
    def may_be_elsewhere(self) -> bool:
        """Whether the host's identity may be in a file that was skipped."""
        return bool(self.closed)

    def find(self) -> Identity | None:
        """Return the identity on which all ``compute_id`` files agree, or None if there is no such file.

        Raises ConfigError, which names the files, if the files differ or if a file is unreadable or contains no uuid.
        Raises FolderUnavailable if a read fails with an error that may pass by itself.
        """
        found = [(path, value) for path in self._paths() if (value := _read(path)) is not None]
        if not found:
            return None
        first_path, first_value = found[0]
        for path, value in found:
            if value != first_value:
                raise ConfigError(
                    f"{first_path} contains uuid {first_value} and {path} contains uuid {value}: "
                    "keep the file with the uuid of this host's resource provider, and remove the other"
                )
        return Identity(uuid=first_value, origin=str(first_path))

    def create(self) -> Identity:
        """Create an identity and write it to disk; if another process has just done so, return that process's identity.

        Raises ConfigError if the file cannot be written, or FolderUnavailable if the error may pass by itself.
        """
        path = self.state_dir / FILE_NAME
        value = str(uuid.uuid4())
        try:
            self.state_dir.mkdir(parents=True, exist_ok=True)
            write_new_file(str(path), f"{value}\n", 0o644)
        except FileExistsError:
            return self._appeared(path)
        except OSError as error:
            raise failure(f"{path}: this host's new identity cannot be written", error) from error
        return Identity(uuid=value, origin=f"generated in {path}")

    @property
    def own_path(self) -> str:
        """The only ``compute_id`` file that the agent ever writes."""
        return str(self.state_dir / FILE_NAME)

    def own_text(self) -> str | None:
        """Return the text of the file at ``own_path``, None if it is missing. Raises ConfigError, FolderUnavailable."""
        try:
            return _text(self.state_dir / FILE_NAME)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self.own_path}: cannot be read: {error}") from error

    def put_own(self, text: str | None) -> None:
        """Replace the file at ``own_path`` atomically, or remove the file if ``text`` is None.

        Raises FolderUnavailable if the error may pass by itself, else ConfigError.
        """
        try:
            if text is None:
                (self.state_dir / FILE_NAME).unlink(missing_ok=True)
            else:
                replace_file(self.own_path, text, 0o644)
        except OSError as error:
            raise failure(f"{self.own_path}: cannot be written", error) from error

    def _appeared(self, path: Path) -> Identity:
        identity = self.find()
        if identity is None:
            raise ConfigError(f"{path}: another process created this file and removed it again")
        return identity

    def _paths(self) -> tuple[Path, ...]:
        folders = (*self.config_dirs, *([self.nova_state_path] if self.nova_state_path else []), self.state_dir)
        every = dict.fromkeys(folder / FILE_NAME for folder in folders)
        return tuple(path for path in every if path not in self.closed)


def identity_from_state(state: NovaState, hostname: str) -> Identity | None:
    """Return the identity from the host's compute node record; None if the host is new to nova.

    The record must be undeleted and have the node name ``hostname``, which libvirt reports.

    The caller uses this function if there is no ``compute_id`` file. The host is new to nova if nova has neither the
    record nor a nova-compute service of the host. The agent may then create an identity. Raises ConfigError if nova has
    the service but not the record: the host was renamed, or its identity is lost.
    """
    live = [node for node in state.nodes if not node.deleted and node.host == state.host]
    own = [node for node in live if node.hypervisor_hostname == hostname]
    if len(own) > 1:
        rows = ", ".join(str(node.id) for node in own)
        raise ConfigError(
            f"compute_nodes: several undeleted rows (id {rows}) have the same host {state.host} and node {hostname}"
        )
    if own:
        value = _canonical(own[0].uuid)
        if value is None:
            raise ConfigError(f"compute_nodes id {own[0].id}: uuid {own[0].uuid!r} is not a uuid")
        return Identity(uuid=value, origin=f"compute_nodes id {own[0].id}")
    if state.service is not None:
        others = ", ".join(node.hypervisor_hostname for node in live)
        only = f" (only of {others})" if others else ", nor of another node of this host"
        raise ConfigError(
            f"host {state.host} has a nova-compute service (id {state.service.id}), but no {FILE_NAME} file, and nova "
            f"has no compute node record of {hostname}{only}. If the host was renamed, first give the host its old "
            "name back, or remove the service from nova. If the error remains, put the uuid of this host's resource "
            f"provider into a {FILE_NAME} file in the state directory"
        )
    return None


def _read(path: Path) -> str | None:
    try:
        text = _text(path, LONGEST)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: contains no uuid, but bytes that are not text") from error
    if text is None:
        return None
    value = _canonical(text)
    if value is None:
        raise ConfigError(f"{path}: contains {text!r} instead of a uuid")
    return value


def _text(path: Path, most_characters: int = -1) -> str | None:
    try:
        with open_regular(path) as file:
            return file.read(most_characters)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failure(f"{path}: cannot be read", error) from error


def _is_closed(path: Path) -> bool:
    try:
        path.open("rb").close()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _canonical(text: str) -> str | None:
    try:
        return str(uuid.UUID(text.strip()))
    except ValueError:
        return None
