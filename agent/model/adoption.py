"""The plan of ``stocktake adopt``: steps that change this host's identity or its store, refusals, and notes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from agent.model.host.store import StoreMark
from agent.model.node_record import NodeRecord
from agent.model.nova import NovaState
from agent.model.placement import DetachedTree, Provider
from agent.model.plan import RenameProvider, SaveComputeNode
from agent.model.units import GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityFile:
    """The ``compute_id`` file in the agent's own state directory. ``text`` is None if the file does not exist."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptFacts:
    """Everything that is known about this host's identity.

    ``node``: the node name that libvirt reports now.
    ``identity``: the uuid that the agent uses for this host's provider, None if no uuid is known.
    ``origin``: where ``identity`` was read.
    ``own``: the provider tree whose root has the uuid ``identity``, None if Placement has no such tree.
    ``holder``: the provider tree whose root has the node's name but another uuid, None if there is no such tree.
    ``state``: nova's data about this host. It includes the compute node row with the uuid ``identity`` and the row with
    the uuid of the tree ``holder``, even if another host has the row.
    ``others``: nova's data about each other host that has one of these two rows.
    ``state_error``: why ``state`` could not be read, if ``state`` is None.
    """

    host: str
    node: str
    identity: str | None
    origin: str
    file: IdentityFile
    own: DetachedTree | None
    holder: DetachedTree | None
    state: NovaState | None
    others: tuple[NovaState, ...] = ()
    state_error: str = ""

    @property
    def holder_root(self) -> Provider | None:
        """The provider that has the node's name but another uuid than ``self.identity``, or None."""
        return self.holder.root if self.holder else None

    @property
    def own_root(self) -> Provider | None:
        """The provider whose uuid is ``self.identity``, or None."""
        return self.own.root if self.own else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStep:
    """Change the agent's own ``compute_id`` file.

    ``before`` is the file's text before the step, ``after`` the text after the step. None means that there is no file.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameStep:
    """Rename the provider that has the name ``before``."""

    before: str
    write: RenameProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStep:
    """Save the changed fields of nova's compute node record. ``stored`` is the record before the step."""

    stored: NodeRecord
    write: SaveComputeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStep:
    """Change the file in which the agent remembers the store (file system or volume group) behind DISK_GB.

    ``path`` is this file. ``before`` is the store in the file before the step, ``after`` the store after the step. None
    means that the file names no store.
    """

    path: str
    before: StoreMark | None
    after: StoreMark | None


AdoptStep = FileStep | NameStep | RecordStep | StoreStep


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptRefusal:
    """Why a plan is refused: ``guard`` is the name of the guard rail, ``why`` the reason.

    ``unread`` is True if the only reason is that a source could not be read.
    """

    guard: str
    why: str
    unread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptPlan:
    """Steps in execution order. There are none if nothing must change, or if a guard rail refuses the plan.

    ``uuid`` is the host's identity after the plan. ``notes`` say what the operator must still do.
    """

    uuid: str | None = None
    steps: tuple[AdoptStep, ...] = ()
    refusals: tuple[AdoptRefusal, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the steps: plans with equal digests make the same changes to the same initial values."""
        body = [[type(step).__name__, _essence(step)] for step in self.steps]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _essence(step: AdoptStep) -> dict[str, Any]:
    """Return the fields of a step that go into the digest."""
    members = asdict(step)
    if isinstance(step, StoreStep) and step.after is not None:
        # On ZFS, every written byte changes a store's size. The digest contains the size in whole GiB, so that such a
        # small change does not change the digest.
        members["after"]["size_bytes"] //= GIB
    return members
