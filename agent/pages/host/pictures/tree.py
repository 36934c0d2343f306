"""Picture of the provider tree: the host's provider at the left, children to the right of their parents.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.host.tree import Node
from agent.pages.shapes import WIDTH, Box, fitted, label, outline, rule
from agent.pages.tables import NOT_KNOWN, cut

_LINE, _PAD, _BETWEEN = 18.0, 10.0, 12.0
_EDGE = 2.0
# The share of the column's width that a box takes; the rest is room for the lines to the children.
_SHARE = 0.84
_MOST_COLUMNS = 4
MOST_BOXES = 60
_MOST_CLASSES = 4
_NUMBERS = frozenset({"used", "total", "reserved", "ratio", "capacity", "traits"})


def tree_picture(nodes: Sequence[Node]) -> Picture:
    """Return the picture of the nodes. ``nodes`` lists each provider directly before its children."""
    shown = nodes[:MOST_BOXES]
    columns = min(_MOST_COLUMNS, max(node.depth for node in shown) + 1)
    boxes = _boxes(shown, max(2, columns))
    shapes: list[Shape] = list(_lines(shown, boxes))
    for node in shown:
        shapes.extend(_drawn(node, boxes[node.uuid]))
    bottom = max(box.top + box.height for box in boxes.values())
    if more := len(nodes) - len(shown):
        shapes.append(
            label(f"and {more} more children: run stocktake inventory", WIDTH - _EDGE, bottom + 20, anchor="end")
        )
        bottom += 24
    return Picture(
        id="tree-picture",
        title="Resource providers of this host with their classes",
        conclusion=_conclusion(nodes),
        height=bottom + 4,
        shapes=tuple(shapes),
        table=_table(nodes),
    )


def _boxes(nodes: Sequence[Node], columns: int) -> dict[str, Box]:
    """Return for each provider the position and size of its box.

    The first child is to the right of its parent. Each later child is below the subtrees that were drawn before it.
    """
    step = (WIDTH - 2 * _EDGE) / (columns - 1 + _SHARE)
    found: dict[str, Box] = {}
    bottoms = [_EDGE] * columns
    for node in nodes:
        column = min(node.depth, columns - 1)
        # The box goes below everything drawn so far in its own column and in the columns to the right. If it were
        # beside an earlier subtree, the lines to its children would cross the boxes of that subtree.
        top = max(bottoms[column:])
        parent = found.get(node.parent)
        top = max(top, parent.top if parent else _EDGE)
        height = _height(node)
        found[node.uuid] = Box(_EDGE + column * step, top, step * _SHARE, height)
        bottoms[column] = top + height + _BETWEEN
    return found


def _lines(nodes: Sequence[Node], boxes: dict[str, Box]) -> Iterator[Shape]:
    for node in nodes:
        parent, child = boxes.get(node.parent), boxes[node.uuid]
        if parent is None or parent.left >= child.left:
            continue
        right, at = parent.left + parent.width, parent.top + 18
        middle, to = (right + child.left) / 2, child.top + 18
        yield rule(right, at, middle, at, "tick")
        if to != at:
            yield rule(middle, at, middle, to, "tick")
        yield rule(middle, to, child.left, to, "tick")


def _height(node: Node) -> float:
    return _PAD * 2 + _LINE * len(_texts(node)) - 2


def _texts(node: Node) -> list[str]:
    more = len(node.classes) - _MOST_CLASSES
    traits = f"{node.traits} trait{'' if node.traits == 1 else 's'}"
    ratios = [f" x{ratio}" if ratio not in {"1", NOT_KNOWN} else "" for _, ratio, _ in node.terms]
    classes = zip(node.classes, ratios or [""] * len(node.classes), strict=True)
    listed = [f"{name} {used}/{total}{ratio}" for (name, used, total), ratio in [*classes][:_MOST_CLASSES]]
    return [node.name, *listed, *((f"and {more} more classes",) if more > 0 else ()), traits]


def _drawn(node: Node, box: Box) -> Iterator[Shape]:
    yield outline(box, "thick" if node.differs else "thin")
    for place, text in enumerate(_texts(node)):
        look = "strong" if place == 0 else ""
        # The first text is bold. ``fitted`` estimates the width of plain text, so bold text gets less room.
        room = (box.width - 24) * (0.92 if place == 0 else 1.0)
        yield label(fitted(text, room), box.left + 12, box.top + _PAD + 12 + place * _LINE, look=look)


def _conclusion(nodes: Sequence[Node]) -> str:
    children, differing = len(nodes) - 1, sum(bool(node.differs) for node in nodes)
    count = f"{children} child provider{'' if children == 1 else 's'}"
    if any(node.is_unread for node in nodes):
        return f"{cut(nodes[0].name, 60)} has {count}. Placement was not read, so nothing was compared."
    differ = "differs" if differing == 1 else "differ"
    what = f"{differing} of {len(nodes)} providers {differ} from what the agent wants: see the thick outline."
    return f"{cut(nodes[0].name, 60)} has {count}. {what if differing else 'All are as the agent wants them.'}"


def _table(nodes: Sequence[Node]) -> Table:
    columns = ("provider", "uuid", "class", "used", "total", "reserved", "ratio", "capacity", "traits", "differs")
    names = {node.uuid: node.name for node in nodes}
    rows: list[tuple[Cell, ...]] = []
    for node in nodes[:MOST_BOXES]:
        differs = Cell(text=node.differs, meaning=Meaning.WRONG) if node.differs else Cell(text="no")
        unread = Cell(text=NOT_KNOWN, meaning=Meaning.UNREAD)
        end = (Cell(text=str(node.traits)), unread if node.is_unread else differs)
        name = f"{node.name} (below {names.get(node.parent, node.parent)})" if node.depth > 1 else node.name
        none = (("", "", ""),)
        for (class_name, used, total), terms in zip(node.classes or none, node.terms or none, strict=True):
            texts = (name, node.uuid, class_name, used, total, *terms)
            rows.append((*(Cell(text=cut(text)) for text in texts), *end))
    return Table(
        id="tree-numbers",
        caption="Providers, classes and traits; capacity is (total - reserved) x ratio",
        columns=tuple(
            Column(
                heading=name,
                is_number=name in _NUMBERS,
                is_code=name == "uuid",
                is_word=name == "class",
            )
            for name in columns
        ),
        rows=tuple(rows),
    )
