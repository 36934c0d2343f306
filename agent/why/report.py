"""What ``stocktake why`` tells: the answer, what of the cloud was left unread, and this host's cells beside it."""

from __future__ import annotations

from dataclasses import dataclass

from agent.why.model import Answer, Constraint, TreeAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRoom:
    """What is left of one NUMA cell for one more guest.

    ``cpus`` and ``memory_mib`` are the most that a guest may have whose CPUs float, ``pinnable`` and
    ``memory_pinned_mib`` the most that a pinned one may, which knows no ratio. ``cpus_free`` and ``memory_free_mib``
    are what nobody has of the cell's own, times the ratio. ``pages`` are (size in KiB, free), sorted.
    """

    id: int
    cpus: int
    cpus_free: int
    pinnable: int
    memory_mib: int
    memory_free_mib: int
    memory_pinned_mib: int
    pages: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingFinding:
    """What the findings of one code hold of the class that is short: nobody promised it, and Placement counts it.

    ``amount`` is in the units of the class; ``findings`` is how many they are, ``confirmed`` whether all of them are;
    ``healable``: ``stocktake heal`` may take it away.
    """

    code: str
    resource_class: str
    amount: int
    findings: int
    confirmed: bool
    healable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyReport:
    """Everything that is printed. ``provider_uuid`` is this host's root, None where it is not known.

    ``numa_nodes`` and ``page_size`` (KiB, or "large") are asked of this host alone. ``holding`` is what stands behind
    this host's first obstacle, sorted by code. ``unread`` are names of trees that were not looked at, each of which may
    fit or not; ``notes`` are sentences on this host and on the flavor that refuse nothing; ``unknown`` what could not
    be read, in words. ``cells`` is None where they are not known. ``requests`` is how many were sent to Placement, the
    audit's and those for names too.
    """

    node: str | None
    provider_uuid: str | None
    answer: Answer
    is_whole: bool = False
    numa_nodes: int | None = None
    page_size: int | str | None = None
    holding: tuple[HoldingFinding, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    cells: tuple[CellRoom, ...] | None = None
    requests: int = 0

    @property
    def own(self) -> TreeAnswer | None:
        """The tree of this host, None where it is not in the answer."""
        return next((tree for tree in self.answer.trees if tree.root_uuid == self.provider_uuid), None)

    @property
    def fits(self) -> bool:
        """Of the whole cloud: anywhere; else here. Here, cells and pages that were asked for are included."""
        return bool(self.fitting) if self.is_whole else self.own in self.fitting

    @property
    def fitting(self) -> tuple[TreeAnswer, ...]:
        """Trees that Placement would offer and that nobody is known to refuse, in the order of the answer."""
        return tuple(tree for tree in self.answer.trees if tree.fits and not self.is_refused_by_host(tree))

    def is_refused_by_host(self, tree: TreeAnswer) -> bool:
        """Whether Placement would offer this tree, and it is this host's, which refuses by itself."""
        return tree.fits and tree.root_uuid == self.provider_uuid and bool(self.answer.host_obstacles)

    @property
    def is_open(self) -> bool:
        """Whether what was not read, or not decided, may make it fit after all."""
        asked = self.answer.trees if self.is_whole else tuple(tree for tree in (self.own,) if tree is not None)
        return not self.fits and (bool(self.unread) or any(is_undecided(tree) for tree in asked))


def is_undecided(tree: TreeAnswer) -> bool:
    """Whether nobody knows if the tree fits: there were too many ways to look through."""
    return not tree.fits and tree.obstacles[0].constraint is Constraint.UNDECIDED
