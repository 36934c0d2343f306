"""Whether anything was added to our tree since a decision: asked last before a change, with one request.

A consumer that went and came back (every move of an instance makes one do so) may show
the generation and the amounts that were decided on, and nothing of its own tells. But
what it got back raised a generation of the provider that it is on.
"""

from __future__ import annotations

from typing import NamedTuple

from agent.audit.parts import Errand
from agent.model.placement import ConsumerRecord, PlacementView
from agent.model.plan import PutAllocations
from agent.ports import ViewRequest


class Tree(NamedTuple):
    """Our tree as a decision saw it: (provider uuid, generation) of all of it."""

    root_uuid: str
    root_name: str
    generations: frozenset[tuple[str, int | None]]


def tree_of(view: PlacementView, root_name: str) -> Tree:
    """The tree as that view shows it."""
    return Tree(view.root_uuid, root_name, frozenset((p.uuid, p.generation) for p in view.providers))


def has_moved(errand: Errand, tree: Tree) -> bool:
    """Whether a generation is another one than ``tree`` says. Raises PlacementError."""
    wanted = ViewRequest(root_uuid=tree.root_uuid, root_name=tree.root_name, fresh_allocations=False, consumer_reads=0)
    return tree_of(errand.parts.reader.view(wanted), tree.root_name) != tree


def after_own_write(tree: Tree, before: ConsumerRecord, write: PutAllocations) -> Tree:
    """The tree as our own change leaves it.

    A PUT raises the generation of every provider that it names by one, and one that names none that of those which
    the consumer held (spec/placement 2; measured on 16.0.0).
    """
    named = {a.provider_uuid for a in (write.allocations or before.allocations)}
    raised = frozenset((u, g + 1 if u in named and g is not None else g) for u, g in tree.generations)
    return tree._replace(generations=raised)
