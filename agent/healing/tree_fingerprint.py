"""Check, as the last step before a change, that this host's provider tree has not changed since the decision.

Every move of an instance deletes its consumer and creates the consumer again. The new consumer may have the same
generation and amounts as the old one, so the consumer's content does not show the move. Two values show the move: the
provider's generation, which the new allocations raised, and the time at which Placement wrote the consumer.

But every new instance on the host changes the generation too. On a busy host, the generation rarely stays the same for
the seconds that a heal takes. Therefore there are two checks:

- ``TreeShape`` compares the tree without generations. It suffices for a consumer whose last write is older than the
  decision by a margin: a move would show as a newer write (preconditions.py).
- ``TreeFingerprint`` compares the generations too. All other consumers need this check.

The check of the tree needs one request.
"""

from __future__ import annotations

from typing import NamedTuple

from agent.audit.parts import AuditTask
from agent.model.placement import ConsumerRecord, PlacementView
from agent.model.plan import PutAllocations
from agent.ports import ViewRequest


class TreeFingerprint(NamedTuple):
    """The provider tree of this host at the time of a decision: (provider uuid, generation) of all providers."""

    root_uuid: str
    root_name: str
    generations: frozenset[tuple[str, int | None]]


class TreeShape(NamedTuple):
    """The providers of this host's tree at the time of a decision, whatever their generations."""

    root_uuid: str
    root_name: str
    providers: frozenset[str]


def shape_of(tree: TreeFingerprint) -> TreeShape:
    """Return the tree without the generations of its providers."""
    return TreeShape(tree.root_uuid, tree.root_name, frozenset(uuid for uuid, _ in tree.generations))


def tree_of(view: PlacementView, root_name: str) -> TreeFingerprint:
    """Return the fingerprint (all providers and generations) of this view of Placement."""
    return TreeFingerprint(view.root_uuid, root_name, frozenset((p.uuid, p.generation) for p in view.providers))


def has_moved(task: AuditTask, tree: TreeFingerprint | TreeShape) -> bool:
    """Read the tree from Placement; return whether it differs from ``tree``. Raises PlacementError."""
    wanted = ViewRequest(root_uuid=tree.root_uuid, root_name=tree.root_name, fresh_allocations=False, consumer_reads=0)
    now = tree_of(task.parts.reader.view(wanted), tree.root_name)
    return (shape_of(now) if isinstance(tree, TreeShape) else now) != tree


def after_own_write(tree: TreeFingerprint, before: ConsumerRecord, write: PutAllocations) -> TreeFingerprint:
    """Return the fingerprint that the tree has after the agent's own change if no other client changed the tree.

    A PUT raises by one the generation of each provider in its body. A PUT that names no provider raises the
    generations of the providers on which the consumer had allocations (measured on Placement 16.0.0).
    """
    named = {a.provider_uuid for a in (write.allocations or before.allocations)}
    raised = frozenset((u, g + 1 if u in named and g is not None else g) for u, g in tree.generations)
    return tree._replace(generations=raised)
