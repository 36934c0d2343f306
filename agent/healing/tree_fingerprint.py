"""Check, as the last step before a change, that no provider generation in this host's tree changed since the decision.

Every move of an instance deletes its consumer and creates the consumer again. The new consumer may have the same
generation and amounts as the old one, so the consumer's record does not show the move. But the new allocations raised
the generation of the provider. The check needs one request.
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


def tree_of(view: PlacementView, root_name: str) -> TreeFingerprint:
    """Return the fingerprint (all providers and generations) of this view of Placement."""
    return TreeFingerprint(view.root_uuid, root_name, frozenset((p.uuid, p.generation) for p in view.providers))


def has_moved(task: AuditTask, tree: TreeFingerprint) -> bool:
    """Read the tree from Placement; return whether its providers or generations differ. Raises PlacementError."""
    wanted = ViewRequest(root_uuid=tree.root_uuid, root_name=tree.root_name, fresh_allocations=False, consumer_reads=0)
    return tree_of(task.parts.reader.view(wanted), tree.root_name) != tree


def after_own_write(tree: TreeFingerprint, before: ConsumerRecord, write: PutAllocations) -> TreeFingerprint:
    """Return the tree to be expected after the agent's own change.

    A PUT raises by one the generation of each provider in its body. A PUT that names no provider raises the
    generations of the providers on which the consumer had allocations (measured on Placement 16.0.0).
    """
    named = {a.provider_uuid for a in (write.allocations or before.allocations)}
    raised = frozenset((u, g + 1 if u in named and g is not None else g) for u, g in tree.generations)
    return tree._replace(generations=raised)
