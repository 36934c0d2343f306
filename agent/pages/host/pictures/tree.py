"""Picture of the provider tree: the host's provider at the left, its children at the right. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.host.tree import Node
from agent.pages.shapes import WIDTH, Box, fitted, label, outline, rule
from agent.pages.tables import cut

_BOX = 400.0
_CHILD = WIDTH - _BOX - 2
_LINE, _PAD, _BETWEEN = 18.0, 10.0, 12.0
_TOP = 2.0
MOST_BOXES = 60
_MOST_CLASSES = 4


def tree_picture(nodes: Sequence[Node]) -> Picture:
    """Return the picture of the root, which is the first node, and of its children."""
    root, children = nodes[0], nodes[1:MOST_BOXES]
    more = len(nodes) - 1 - len(children)
    shapes: list[Shape] = []
    top, middle = _TOP, _TOP + _height(root) / 2
    for child in children:
        at = top + _height(child) / 2
        shapes += (rule(_BOX + 2, middle, _BOX + 60, at, "tick"), rule(_BOX + 60, at, _CHILD, at, "tick"))
        shapes.extend(_drawn(child, _CHILD, top))
        top += _height(child) + _BETWEEN
    shapes.extend(_drawn(root, 2, _TOP))
    if more:
        shapes.append(label(f"and {more} more children: stocktake inventory", _CHILD, top + 16))
        top += 24
    return Picture(
        id="tree-picture",
        title="Resource providers of this host with their classes",
        conclusion=_conclusion(nodes),
        height=max(top, _TOP + _height(root)) + 4,
        shapes=tuple(shapes),
        table=_table(nodes),
    )


def _height(node: Node) -> float:
    return _PAD * 2 + _LINE * len(_texts(node)) - 2


def _texts(node: Node) -> list[str]:
    more = len(node.classes) - _MOST_CLASSES
    traits = f"{node.traits} trait{'' if node.traits == 1 else 's'}"
    listed = [f"{name} {used}/{total}" for name, used, total in node.classes[:_MOST_CLASSES]]
    return [node.name, *listed, *((f"and {more} more classes",) if more > 0 else ()), traits]


def _drawn(node: Node, left: float, top: float) -> Iterator[Shape]:
    yield outline(Box(left, top, _BOX, _height(node)), "thick" if node.differs else "thin")
    for place, text in enumerate(_texts(node)):
        look = "strong" if place == 0 else ""
        yield label(fitted(text, _BOX - 24), left + 12, top + _PAD + 12 + place * _LINE, look=look)


def _conclusion(nodes: Sequence[Node]) -> str:
    children, differing = len(nodes) - 1, sum(bool(node.differs) for node in nodes)
    count = f"{children} child provider{'' if children == 1 else 's'}"
    if any(node.is_unread for node in nodes):
        return f"{cut(nodes[0].name, 60)} has {count}. Placement was not read, so nothing was compared."
    same = "All are as the agent wants them." if not differing else ""
    what = f"{differing} of {len(nodes)} providers differ from what the agent wants (thick outline)."
    return f"{cut(nodes[0].name, 60)} has {count}. {same or what}"


def _table(nodes: Sequence[Node]) -> Table:
    columns = ("provider", "uuid", "class", "used", "inventory", "traits", "differs")
    rows: list[tuple[Cell, ...]] = []
    for node in nodes[:MOST_BOXES]:
        differs = Cell(text=node.differs, meaning=Meaning.WRONG) if node.differs else Cell(text="no")
        end = (Cell(text=str(node.traits)), Cell(text="?", meaning=Meaning.UNREAD) if node.is_unread else differs)
        for name, used, total in node.classes or (("", "", ""),):
            rows.append(
                (
                    *(Cell(text=cut(text)) for text in (node.name, node.uuid, name)),
                    *(Cell(text=text) for text in (used, total)),
                    *end,
                )
            )
    return Table(
        id="tree-numbers",
        caption="Providers, classes and traits",
        columns=tuple(
            Column(heading=name, is_number=name in {"used", "inventory", "traits"}, is_code=name == "uuid")
            for name in columns
        ),
        rows=tuple(rows),
    )
