"""What ``adopt`` would do to move this host's provider to a new identity: steps in order, refusals, notes, a digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from agent.model.host.store import StoreMark
from agent.model.node_record import NodeRecord
from agent.model.nova import NovaState
from agent.model.placement import OrphanTree, Provider
from agent.model.plan import RenameProvider, SaveComputeNode
from agent.model.units import GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityFile:
    """The ``compute_id`` file of our own state directory; ``text`` is None where there is none."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptFacts:
    """All that is known of this host's identities. ``node`` is libvirt's name now.

    ``identity`` is the uuid in use (None: none is known) and ``origin`` where it comes from.
    ``ours`` is the provider tree of that uuid, ``holder`` the one of another uuid whose
    root bears the node's name; both None where there is none. ``state`` has the rows of
    both uuids, whichever host they name; ``others`` what the cloud says of those hosts.
    ``state_error`` says why there is no state.
    """

    host: str
    node: str
    identity: str | None
    origin: str
    file: IdentityFile
    ours: OrphanTree | None
    holder: OrphanTree | None
    state: NovaState | None
    others: tuple[NovaState, ...] = ()
    state_error: str = ""

    @property
    def holder_root(self) -> Provider | None:
        """The provider that bears our node's name under another uuid."""
        return self.holder.root if self.holder else None

    @property
    def our_root(self) -> Provider | None:
        """The provider of the uuid in use."""
        return self.ours.root if self.ours else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStep:
    """Put ``after`` in our own ``compute_id`` file, where ``before`` stands; None: there is no such file."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameStep:
    """Rename a provider that is named ``before``."""

    before: str
    write: RenameProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStep:
    """Save fields of the compute node record that is ``stored``."""

    stored: NodeRecord
    write: SaveComputeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStep:
    """Remember the store ``after``, where the file at ``path`` says ``before``; None: no store is remembered."""

    path: str
    before: StoreMark | None
    after: StoreMark | None


AdoptStep = FileStep | NameStep | RecordStep | StoreStep


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptRefusal:
    """A guard rail that says no (its name), and its words."""

    guard: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptPlan:
    """Steps in execution order; none where there is nothing to adopt, or where a guard rail refuses.

    ``uuid`` is the identity that the host has afterwards, ``notes`` what is left for people to do.
    """

    uuid: str | None = None
    steps: tuple[AdoptStep, ...] = ()
    refusals: tuple[AdoptRefusal, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the steps: equal digests change the same from the same to the same."""
        body = [[type(step).__name__, _essence(step)] for step in self.steps]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _essence(step: AdoptStep) -> dict[str, Any]:
    """What the digest is of. The size of a store in whole GiB: on ZFS it moves with every byte that is written."""
    members = asdict(step)
    if isinstance(step, StoreStep) and step.after is not None:
        members["after"]["size_bytes"] //= GIB
    return members
