"""Whether Placement would offer each tree for a request, and if not, which constraint refuses it first.

It decides as ``GET /allocation_candidates`` of Placement 16.0.0 does at microversion 1.39, for
every tree by itself, as it reckons on SQLite and PostgreSQL. What its faults and its database
change of that stands beside the answer, as caveats. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.model.resource_request import OfferedWorld, ResourceRequest
from agent.why.candidates import slots_of
from agent.why.caveats import in_single_precision, is_kept_for_one_tree
from agent.why.forest import Forest, Tree, forest_of
from agent.why.joint_rules import joint_obstacles
from agent.why.model import Answer, Constraint, Obstacle, TreeAnswer
from agent.why.obstacles import group_obstacles, root_obstacles, traits_of_nobody

# A tree that lacks a class altogether is further away than one that is full.
_FAR = (Constraint.RESOURCE_CLASS, Constraint.IN_TREE)
_ORDER = {constraint: number for number, constraint in enumerate(Constraint)}


def why(request: ResourceRequest, world: OfferedWorld) -> Answer:
    """Of each tree of the world whether the request fits, with what refuses it: the first obstacle is the one to tell.

    Trees that fit come first, then those that have all classes, by the number of obstacles. In a world that is one
    host's, the trees of the providers that share with it are answered too, as far as they are known.
    """
    forest = forest_of(world)
    answers = [_answer(request, tree, forest) for tree in forest.trees]
    return Answer(request=request, trees=tuple(sorted(answers, key=_distance)))


def _distance(answer: TreeAnswer) -> tuple[int, int, str]:
    far = sum(obstacle.constraint in _FAR for obstacle in answer.obstacles)
    return far, len(answer.obstacles), answer.root_name


def _answer(request: ResourceRequest, tree: Tree, forest: Forest) -> TreeAnswer:
    root = tree.root.provider
    obstacles = sorted(_obstacles(request, tree, forest), key=lambda o: _ORDER[o.constraint])
    return TreeAnswer(
        root_uuid=root.uuid,
        root_name=root.name,
        obstacles=tuple(obstacles),
        caveats=() if obstacles else tuple(_caveats(request, tree, forest)),
    )


def _obstacles(request: ResourceRequest, tree: Tree, forest: Forest) -> tuple[Obstacle, ...]:
    """Of the root and of each part alone; only where these find none, of all parts together.

    A trait that nobody has is told at once all the same: it would still be missing when all else is there.
    """
    found = root_obstacles(request.root_required, request.root_forbidden, tree)
    by_group = [slots_of(group, tree, forest) for group in request.groups]
    for group, slots in zip(request.groups, by_group, strict=True):
        if not all(slot.domain for slot in slots):
            found += group_obstacles(group, tree, forest)
    if not found:
        return joint_obstacles(request, tuple(slot for slots in by_group for slot in slots), tree, forest)
    return found + tuple(o for group in request.groups for o in traits_of_nobody(group, tree, forest))


def _caveats(request: ResourceRequest, tree: Tree, forest: Forest) -> Iterator[str]:
    """Of a tree that fits."""
    coarse = in_single_precision(tree)
    refused = _obstacles(request, coarse, forest) if coarse else ()
    if refused:
        yield f"on MySQL and MariaDB, which round the ratio, this is one unit too many: {refused[0].words}"
    if is_kept_for_one_tree(tuple(s for group in request.groups for s in slots_of(group, tree, forest)), tree):
        yield "the unnumbered group takes from sharing providers only: Placement 16.0.0 may offer just one of its trees"
