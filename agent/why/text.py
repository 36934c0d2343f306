"""Write an answer to "No valid host" as text: request, first obstacle, the change that would help, other obstacles.

For the whole cloud, the text counts the hosts by their first obstacle, and names only the hosts that come closest to
fitting. In a table of a thousand hosts the operator would miss the one host that lacks a single trait. Pure: no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from agent.model.resource_request import RequestGroup, ResourceRequest
from agent.text.amounts import beside_its_class, with_class
from agent.text.wording import some_of, wrapped
from agent.why.model import Constraint, Obstacle, TreeAnswer
from agent.why.report import HoldingFinding, WhyReport, is_undecided

# The text lists at most this many hosts that do not fit, each with its first obstacle.
MOST_NEAREST = 5
# Fields of Placement's inventory, in Placement's own spelling.
_NAMES = {
    Constraint.MIN_UNIT: "min_unit",
    Constraint.MAX_UNIT: "max_unit",
    Constraint.STEP_SIZE: "step_size",
}


def lines(report: WhyReport, width: int) -> tuple[str, ...]:
    """Return the lines of the whole text, without line ends."""
    indented = ((text, " " * (len(text) - len(text.lstrip()) + 4)) for text in _texts(report))
    return tuple(line for text, indent in indented for line in wrapped(text, width, indent) or [""])


def request_text(request: ResourceRequest) -> str:
    """Return the request as text: ``64 VCPU, 1024 MiB of MEMORY_MB with HW_CPU_X86_VMX; group 1: 1 VGPU``."""
    parts = [_group_text(group) for group in request.groups]
    if len(request.groups) > 1 and request.group_policy:
        parts.append(f"groups {'on different providers' if request.group_policy == 'isolate' else 'anywhere'}")
    if request.root_required or request.root_forbidden:
        parts.append(f"the root {_traits_text(sorted(request.root_required), sorted(request.root_forbidden))}")
    parts.extend(f"groups {', '.join(sorted(some))} in the same subtree" for some in request.same_subtree)
    return "; ".join(parts)


def _texts(report: WhyReport) -> Iterator[str]:
    yield f"asked: {request_text(report.answer.request)}{_cells_text(report)}"
    yield from _own(report)
    yield from _host(report)
    if report.is_whole:
        yield ""
        yield from _cloud(report)
    yield from (f"not read: {line}" for line in report.unknown)


def _cells_text(report: WhyReport) -> str:
    """Return, as text, what nova checks and Placement does not: ``; in 2 NUMA cells, on pages of 2048 KiB``."""
    count, page = report.numa_nodes, report.page_size
    parts = [f"in {count} NUMA cell{'' if count == 1 else 's'}"] if count else []
    parts += [f"on {page} pages" if isinstance(page, str) else f"on pages of {page} KiB"] if page else []
    return f"; {', '.join(parts)}" if parts else ""


def _own(report: WhyReport) -> Iterator[str]:
    own = report.own
    who = report.node or "this host"
    if own is None:
        yield f"{who}: not known whether the request fits, because {_why_not_known(report)}"
    elif own.fits:
        refused = report.answer.host_obstacles
        yield f"{who}: {'Placement offers it, but this host refuses it' if refused else 'fits: Placement offers it'}"
        yield from (f"  but: {caveat}" for caveat in own.caveats)
    else:
        yield f"{who}: {'not decided' if is_undecided(own) else 'does not fit'}"
        yield f"  {_obstacle_text(own.obstacles[0])}"
        yield from _change("  smallest change: ", own.obstacles[0])
        if report.holding:
            name = report.holding[0].resource_class  # All entries of ``holding`` are about the same resource class.
            held = ", ".join(map(_held_text, report.holding))
            counted = f"on this host, Placement counts {name} that belongs to no instance of this host"
            yield f"  {counted}: {held}; see stocktake explain {name}"
        for obstacle in own.obstacles[1:]:
            yield f"  also {_obstacle_text(obstacle)}"
            yield from _change("    change: ", obstacle)


def _held_text(held: HoldingFinding) -> str:
    notes = ["stocktake heal"] if held.healable else []
    notes += [] if held.confirmed else ["not confirmed yet"]
    in_brackets = f" ({', '.join(notes)})" if notes else ""
    return f"{held.code} {beside_its_class(held.resource_class, held.amount)}{in_brackets}"


def _why_not_known(report: WhyReport) -> str:
    if report.provider_uuid is None:
        return "the provider of this host is not known"
    if report.unread:
        return "the provider tree of this host was not read"
    return "Placement has no provider of this host"


def _host(report: WhyReport) -> Iterator[str]:
    for obstacle in report.answer.host_obstacles:
        yield f"  an obstacle on this host that Placement does not see ({obstacle.constraint.value}): {obstacle.words}"
        yield from _change("    change: ", obstacle)
    yield from (f"  note: {note}" for note in report.notes)


def _cloud(report: WhyReport) -> Iterator[str]:
    trees = report.answer.trees
    fitting = [tree.root_name for tree in report.fitting]
    names = f": {some_of(fitting)}" if fitting else ""
    yield f"in the whole cloud, the request fits in {len(fitting)} of {len(trees)} provider trees{names}"
    if report.unread:
        yield f"  {len(report.unread)} trees were not read, so each may fit or not: {some_of(report.unread)}"
    for tree in filter(report.is_refused_by_host, trees):
        first = report.answer.host_obstacles[0].constraint.value
        refusal = f"refused by the check {first} on this host, although Placement offers the tree"
        yield f"  1 tree {refusal}: {tree.root_name}"
    refused = [tree for tree in trees if not tree.fits]
    yield from (
        f"  {len(some)} tree{'' if len(some) == 1 else 's'} refused by the constraint {name}: {some_of(some)}"
        for name, some in _by_constraint(refused)
    )
    if refused:
        count = f" ({MOST_NEAREST} of {len(refused)})" if len(refused) > MOST_NEAREST else ""
        yield f"provider trees that come closest to fitting the request{count}:"
    for tree in refused[:MOST_NEAREST]:
        yield f"  {tree.root_name}: {_obstacle_text(tree.obstacles[0])}"
        yield from _change("    change: ", tree.obstacles[0])


def _by_constraint(refused: Iterable[TreeAnswer]) -> list[tuple[str, list[str]]]:
    """Group the names of the refused trees by the constraint that they fail first. The largest group comes first."""
    found: dict[str, list[str]] = defaultdict(list)
    for tree in refused:
        found[tree.obstacles[0].constraint.value].append(tree.root_name)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _change(head: str, obstacle: Obstacle) -> Iterator[str]:
    """Yield one line with the change that would remove the obstacle, or nothing if there is no such change."""
    if obstacle.change:
        yield f"{head}{obstacle.change}"


def _obstacle_text(obstacle: Obstacle) -> str:
    group = f" (group {obstacle.suffix})" if obstacle.suffix else ""
    name = _NAMES.get(obstacle.constraint, obstacle.constraint.value)
    blocked = "" if obstacle.constraint is Constraint.UNDECIDED else "blocked by "
    return f"{blocked}{name}{group}: {obstacle.words}"


def _group_text(group: RequestGroup) -> str:
    text = ", ".join(with_class(name, amount) for name, amount in group.resources) or "no resources"
    traits = _traits_text([" or ".join(sorted(some)) for some in group.required], sorted(group.forbidden))
    places = [f"in aggregate {' or '.join(sorted(some))}" for some in group.member_of]
    places += [f"not in aggregate {uuid}" for uuid in sorted(group.forbidden_aggregates)]
    places += [f"in the tree of {group.in_tree}"] if group.in_tree else []
    head = f"group {group.suffix}: " if group.suffix else ""
    return head + " ".join(part for part in (text, traits, ", ".join(places)) if part)


def _traits_text(required: list[str], forbidden: list[str]) -> str:
    parts = [f"with {' and '.join(required)}"] if required else []
    parts += [f"without {', '.join(forbidden)}"] if forbidden else []
    return " ".join(parts)
