"""The answer to "No valid host": of each tree, whether the request fits, and else which constraint refuses it first."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from agent.model.resource_request import ResourceRequest


class Constraint(enum.Enum):
    """What can refuse a request, in the order in which Placement is asked (the first that fails is told first)."""

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
    """What a change is made to."""

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
    """One change that alone lifts one obstacle.

    ``number`` is the new amount to ask for (ASK), what must be freed (FREE), the least ratio (RATIO) or the most that
    may be reserved (RESERVED). ``name`` is a trait's, or an aggregate's uuid. ``provider_uuid`` is None for ASK.
    """

    kind: RemedyKind
    provider_uuid: str | None = None
    resource_class: str | None = None
    number: int | float | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One constraint that refuses the request.

    ``words`` is one sentence with the numbers; ``change`` the smallest change that would lift it, as one sentence
    (a setting, a smaller request, what must be freed, or two of these together), "" where none would. ``remedies`` are
    the changes of it of which one is enough. ``wanted`` and ``available`` are the numbers, None where there are none.
    ``suffix`` is the group's.
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
    """What one tree answers. ``obstacles`` are empty where it fits; else the first one is what to tell.

    ``caveats`` are sentences: why a server may refuse it although it fits (its database, a fault of its own).
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
    """The answer of every tree, those that fit first, then those nearest to it.

    ``host_obstacles`` are facts of this host that Placement does not know (NUMA cells, huge pages).
    """

    request: ResourceRequest
    trees: tuple[TreeAnswer, ...]
    host_obstacles: tuple[Obstacle, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether Placement would offer anything."""
        return any(tree.fits for tree in self.trees)
