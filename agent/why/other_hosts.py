"""Change the advice for other hosts, because this host's audit does not show whether their allocations are right.

On this host ``why`` names the findings that take capacity, such as leaked allocations. On another host such findings
are not known, and advice to raise a ratio would hide a leak. So the text advises the operator to run ``why`` on that
host. Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.text.amounts import with_class
from agent.why.model import Answer, Constraint, Obstacle, Remedy, RemedyKind, TreeAnswer


def with_advice_for_others(answer: Answer, own_uuid: str | None) -> Answer:
    """Return the answer with changed advice for the trees of other hosts.

    Another host may have wrong allocations, and this agent cannot check them. So if another host lacks capacity, the
    only remedy is to request another amount. The text also names the ratio that would suffice, but not as a remedy.
    """
    trees = (tree if tree.root_uuid == own_uuid else _unchecked(tree) for tree in answer.trees)
    return replace(answer, trees=tuple(trees))


def _unchecked(tree: TreeAnswer) -> TreeAnswer:
    return replace(tree, obstacles=tuple(_advised(obstacle, tree.root_name) for obstacle in tree.obstacles))


def _advised(obstacle: Obstacle, host: str) -> Obstacle:
    if obstacle.constraint is not Constraint.CAPACITY:
        return obstacle
    asks = tuple(remedy for remedy in obstacle.remedies if remedy.kind is RemedyKind.ASK)
    return replace(obstacle, change="; ".join(_words(obstacle, asks, host)), remedies=asks)


def _words(obstacle: Obstacle, asks: tuple[Remedy, ...], host: str) -> Iterator[str]:
    name, wanted = obstacle.resource_class or "", obstacle.wanted or 0
    if asks:
        yield ", or ".join(_ask_words(name, wanted, int(remedy.number or 0)) for remedy in asks)
    ratio = next((remedy.number for remedy in obstacle.remedies if remedy.kind is RemedyKind.RATIO), None)
    if ratio is not None:
        yield f"{with_class(name, wanted)} would be free with a ratio of {ratio:.10g}"
    yield f'run "stocktake why" on {host}: its allocations are not checked from here'


def _ask_words(resource_class: str, wanted: int, amount: int) -> str:
    how = "at most" if amount < wanted else "at least"
    return f"ask for {how} {with_class(resource_class, amount)} in one request"
