"""The report of ``stocktake why``: the answer, the trees that were not read, and this host's NUMA cells."""

from __future__ import annotations

from dataclasses import dataclass

from agent.why.model import Answer, Constraint, TreeAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRoom:
    """The free resources of one NUMA cell for one more guest.

    ``cpus``, ``memory_mib``: the most CPUs and MiB that one guest with floating CPUs may have; never more than the
    cell's real total.
    ``pinnable``, ``memory_pinned_mib``: the most CPUs and MiB that a guest with pinned CPUs may have. No ratio applies
    to these two numbers.
    ``cpus_free``, ``memory_free_mib``: the cell's total times the ratio, minus the usage.
    ``pages``: (size in KiB, number of free pages), sorted.
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
    """Findings with the same code that explain why this host has too little of a requested class.

    ``amount``, in the unit of the class: what Placement counts as taken although nova gave it to no instance.
    ``findings``: the number of findings. ``confirmed``: whether all of them are confirmed. ``healable``: whether
    ``stocktake heal`` may be able to free the amount.
    """

    code: str
    resource_class: str
    amount: int
    findings: int
    confirmed: bool
    healable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyReport:
    """Everything that ``stocktake why`` prints.

    ``provider_uuid``: the uuid of this host's root provider, None if unknown. ``is_whole``: whether the answer is about
    the whole cloud, not only this host. ``numa_nodes``, ``page_size`` (KiB, or "large"): requirements that the agent
    checks on this host, but cannot check on others. ``holding``: findings that explain why this host lacks capacity,
    sorted by code; empty if this host's first obstacle is not a lack of capacity. ``unread``: names of trees that were
    not read. The request may fit in any of these trees. ``notes``: sentences about this host and the flavor; none of
    them is an obstacle. ``unknown``: sentences on what could not be read. ``cells``: the free resources of this host's
    NUMA cells, None if they are not known. ``requests``: number of requests to Placement, including those of the audit
    and those that look up names.
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
        """The result for this host's provider tree; None if this tree was not checked."""
        return next((tree for tree in self.answer.trees if tree.root_uuid == self.provider_uuid), None)

    @property
    def fits(self) -> bool:
        """Whether the request fits in any tree of the cloud, or in this host's tree if only this host was checked.

        On this host, the requested NUMA cells and pages must fit too.
        """
        return bool(self.fitting) if self.is_whole else self.own in self.fitting

    @property
    def fitting(self) -> tuple[TreeAnswer, ...]:
        """The provider trees that can take the guest. This host's tree is left out if this host has no room."""
        return tuple(tree for tree in self.answer.trees if tree.fits and not self.is_refused_by_host(tree))

    def is_refused_by_host(self, tree: TreeAnswer) -> bool:
        """Return whether ``tree`` is this host's tree and Placement would offer it, but the host has no room.

        For example, no NUMA cell has enough free CPUs.
        """
        return tree.fits and tree.root_uuid == self.provider_uuid and bool(self.answer.host_obstacles)

    @property
    def is_open(self) -> bool:
        """Whether the answer is undecided: no checked tree fits, but some tree could not be checked to the end.

        The agent did not read such a tree, or the search gave up on the tree.
        """
        asked = self.answer.trees if self.is_whole else (self.own,)
        return not self.fits and (bool(self.unread) or any(tree and is_undecided(tree) for tree in asked))


def is_undecided(tree: TreeAnswer) -> bool:
    """Return whether the search gave up on the tree because there were too many combinations of providers."""
    return not tree.fits and tree.obstacles[0].constraint is Constraint.UNDECIDED
