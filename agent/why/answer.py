"""Decide whether Placement would offer each tree for a request, and if not, which constraint refuses the tree first.

The module makes the same decisions as ``GET /allocation_candidates`` of Placement 16.0.0 at microversion 1.39 with
SQLite or PostgreSQL, but for each tree separately. Placement may decide differently with another database, or because
of a defect; for such a case the answer has a caveat. Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.model.resource_request import OfferedProviders, ResourceRequest
from agent.why.candidates import slots_of
from agent.why.caveats import in_single_precision, is_kept_for_one_tree
from agent.why.forest import OfferedTree, trees_of
from agent.why.joint_rules import joint_obstacles
from agent.why.model import Answer, Constraint, Obstacle, TreeAnswer
from agent.why.obstacles import group_obstacles, root_obstacles, unprovided_traits

# A tree with one of these obstacles comes after all trees that have none of them. For example, a tree without the class
# comes after a tree that only lacks free capacity.
_FAR = (Constraint.RESOURCE_CLASS, Constraint.IN_TREE)
_ORDER = {constraint: number for number, constraint in enumerate(Constraint)}


def why(request: ResourceRequest, offered: OfferedProviders) -> Answer:
    """Return, for each offered tree, whether the request fits, and the obstacles in the order of the checks.

    The trees are sorted by the number of obstacles about a resource class or ``in_tree``, then by the number of all
    obstacles. So the trees that fit come first. If the agent read only this host's tree, the answer also has the trees
    of the providers that share resources with this host. Trees without a root in ``offered`` are left out.
    """
    answers = [_answer(request, tree) for tree in trees_of(offered.providers)]
    return Answer(request=request, trees=tuple(sorted(answers, key=_distance)))


def _distance(answer: TreeAnswer) -> tuple[int, int, str]:
    far = sum(obstacle.constraint in _FAR for obstacle in answer.obstacles)
    return far, len(answer.obstacles), answer.root_name


def _answer(request: ResourceRequest, tree: OfferedTree) -> TreeAnswer:
    root = tree.root.provider
    obstacles = sorted(_obstacles(request, tree), key=lambda o: _ORDER[o.constraint])
    return TreeAnswer(
        root_uuid=root.uuid,
        root_name=root.name,
        obstacles=tuple(obstacles),
        caveats=() if obstacles else tuple(_caveats(request, tree)),
    )


def _obstacles(request: ResourceRequest, tree: OfferedTree) -> tuple[Obstacle, ...]:
    """Return the obstacles that the request has in this tree.

    First, the function checks the request's demands on the root, and each group of the request separately. If it finds
    obstacles, the result also contains the required traits that no provider has, because these traits would still be
    missing after all other changes. If it finds none, it checks all groups together.
    """
    found = root_obstacles(request.root_required, request.root_forbidden, tree)
    by_group = [slots_of(group, tree) for group in request.groups]
    for group, slots in zip(request.groups, by_group, strict=True):
        if not all(slot.domain for slot in slots):
            found += group_obstacles(group, tree)
    if not found:
        return joint_obstacles(request, tuple(slot for slots in by_group for slot in slots), tree)
    return found + tuple(o for group in request.groups for o in unprovided_traits(group, tree))


def _caveats(request: ResourceRequest, tree: OfferedTree) -> Iterator[str]:
    coarse = in_single_precision(tree)
    refused = _obstacles(request, coarse) if coarse else ()
    if refused:
        yield (
            "if Placement's database is MySQL or MariaDB, the request does not fit, because the database rounds the "
            f"allocation ratio: {refused[0].words}"
        )
    if is_kept_for_one_tree(tuple(s for group in request.groups for s in slots_of(group, tree)), tree):
        yield (
            "Placement 16.0.0 may leave out this host because of a defect: if only sharing providers serve the "
            "request's unnumbered group, Placement may offer only one of the hosts that fit"
        )
