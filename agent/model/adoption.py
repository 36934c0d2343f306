"""The plan of ``stocktake adopt``: the steps that give this host's provider its identity, or refusals; with notes."""

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
    """The ``compute_id`` file in the agent's own state directory; ``text`` is None if the file does not exist."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptFacts:
    """All known identities of this host.

    ``node``: the node name that libvirt reports now.
    ``identity``: the uuid in use, None if no uuid is known.
    ``origin``: where ``identity`` was read.
    ``own``: the provider tree of ``identity``, None if Placement has no such tree.
    ``holder``: the provider tree of another uuid whose root has the node's name, None if there is no such tree.
    ``state``: the state of this host in the cloud, with the compute node rows of both uuids, whichever host they name.
    ``others``: the state of the other hosts that those rows name.
    ``state_error``: why ``state`` is None.
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
        """The provider that has this node's name under another uuid, or None."""
        return self.holder.root if self.holder else None

    @property
    def own_root(self) -> Provider | None:
        """The provider of the uuid in use, or None."""
        return self.own.root if self.own else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStep:
    """Replace ``before`` by ``after`` in the agent's own ``compute_id`` file. None stands for a file that is absent."""

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
    """Save the changed fields of the compute node record whose stored version is ``stored``."""

    stored: NodeRecord
    write: SaveComputeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStep:
    """Replace the store ``before`` by ``after`` in the file at ``path``; None means that no store is remembered."""

    path: str
    before: StoreMark | None
    after: StoreMark | None


AdoptStep = FileStep | NameStep | RecordStep | StoreStep


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptRefusal:
    """``guard`` is the name of the guard rail that refuses the plan, ``why`` is its reason."""

    guard: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptPlan:
    """Steps in execution order; no steps if there is nothing to adopt or if a guard rail refuses the plan.

    ``uuid`` is the host's identity after the plan. ``notes`` name what the operator must still do.
    """

    uuid: str | None = None
    steps: tuple[AdoptStep, ...] = ()
    refusals: tuple[AdoptRefusal, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the steps: plans with equal digests change the same things from and to the same values."""
        body = [[type(step).__name__, _essence(step)] for step in self.steps]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _essence(step: AdoptStep) -> dict[str, Any]:
    """Return the fields of a step that go into the digest."""
    members = asdict(step)
    if isinstance(step, StoreStep) and step.after is not None:
        # In whole GiB: on ZFS the size of the store changes with every byte that is written.
        members["after"]["size_bytes"] //= GIB
    return members
