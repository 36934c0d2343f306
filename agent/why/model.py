"""The answer to "No valid host": for each provider tree, whether the request fits, and the obstacles if it does not."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from agent.model.resource_request import ResourceRequest


class Constraint(enum.Enum):
    """What can refuse a request, in the order of the checks. The first constraint that fails is reported first."""

    IN_TREE = "in-tree"
    RESOURCE_CLASS = "resource-class"
    MIN_UNIT = "min-unit"
    MAX_UNIT = "max-unit"
    STEP_SIZE = "step-size"
    CAPACITY = "capacity"
    REQUIRED_TRAIT = "required-trait"
    FORBIDDEN_TRAIT = "forbidden-trait"
    MEMBER_OF = "member-of"
    FORBIDDEN_AGGREGATE = "forbidden-aggregate"
    ROOT_TRAIT = "root-trait"
    ONE_PROVIDER = "one-provider"
    GROUP_POLICY = "group-policy"
    SAME_SUBTREE = "same-subtree"
    UNDECIDED = "undecided"
    NUMA_CELL = "numa-cell"
    HUGE_PAGES = "huge-pages"


class RemedyKind(enum.Enum):
    """The kind of change that a remedy suggests to the operator."""

    ASK = "ask"
    FREE = "free"
    RATIO = "ratio"
    RESERVED = "reserved"
    ADD_TRAIT = "add-trait"
    REMOVE_TRAIT = "remove-trait"
    ADD_AGGREGATE = "add-aggregate"
    REMOVE_AGGREGATE = "remove-aggregate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change that is enough to remove one obstacle.

    ``number`` is the new amount to request (ASK), the amount to free (FREE), the least ratio (RATIO) or the largest
    ``reserved`` (RESERVED). ``name`` is a trait or the uuid of an aggregate. ``provider_uuid`` is None for ASK.
    """

    kind: RemedyKind
    provider_uuid: str | None = None
    resource_class: str | None = None
    number: int | float | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One constraint that refuses the request.

    - ``words``: one sentence with the numbers.
    - ``change``: one sentence with the smallest change that would remove the obstacle, and its alternatives; "" if
      there is none.
    - ``remedies``: the alternatives in ``change``, for programs. Each of them alone is enough.
    - ``suffix``: the suffix of the request group, "" for the unnumbered group.
    - ``wanted``, ``available``: the requested number and the available or allowed number; None if there are no numbers.
    """

    constraint: Constraint
    words: str
    change: str
    suffix: str = ""
    provider_uuid: str | None = None
    provider_name: str | None = None
    resource_class: str | None = None
    wanted: int | None = None
    available: int | None = None
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAnswer:
    """The answer for one tree. ``obstacles`` are in the order of the checks, and empty if the request fits.

    ``caveats`` are sentences. Each says why a Placement server may not offer the tree although the request fits, such
    as rounding in the server's database, or a defect of Placement.
    """

    root_uuid: str
    root_name: str
    obstacles: tuple[Obstacle, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether Placement would offer this tree."""
        return not self.obstacles


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether the request fits: the answer for each provider tree (a host).

    The trees into which the request fits come first, then those that need the least change. ``host_obstacles`` are
    obstacles on this host that Placement does not know (NUMA cells, huge pages).
    """

    request: ResourceRequest
    trees: tuple[TreeAnswer, ...]
    host_obstacles: tuple[Obstacle, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether Placement would offer any tree."""
        return any(tree.fits for tree in self.trees)
