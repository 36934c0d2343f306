"""The providers of the host's tree, for the page: each provider stands before its children. Pure: no I/O.

The host's own provider is the first. Children of the same parent are sorted by name.

The report of an older agent does not name parents; every other provider then counts as a child of the host's own
provider.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from agent.model.report import AuditReport, InventoryRow
from agent.pages.sizes import beside_its_class
from agent.pages.tables import NOT_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One provider. ``parent`` is the uuid of the parent provider. The root has ``depth`` 0 and ``parent`` "".

    ``classes`` has the texts (class, used, total) of each resource class. ``terms`` has the texts (reserved, ratio,
    capacity) of each resource class. ``differs`` says how the provider differs from what the agent wants.

    ``is_unread``: Placement was not read, so nothing was compared.
    """

    name: str
    uuid: str
    classes: tuple[tuple[str, str, str], ...]
    traits: int
    differs: str
    is_unread: bool = False
    terms: tuple[tuple[str, str, str], ...] = ()
    depth: int = 0
    parent: str = ""


def nodes_of(report: AuditReport) -> tuple[Node, ...]:
    """Return the providers of the host's tree; an empty tuple if the report has no provider."""
    names: dict[str, str] = {}
    rows: dict[str, list[InventoryRow]] = defaultdict(list)
    traits: Counter[str] = Counter()
    wrong_traits: Counter[str] = Counter()
    for row in report.inventory:
        names.setdefault(row.provider_uuid, row.provider)
        rows[row.provider_uuid].append(row)
    for trait in report.traits:
        names.setdefault(trait.provider_uuid, trait.provider)
        traits[trait.provider_uuid] += trait.wanted or trait.recorded
        wrong_traits[trait.provider_uuid] += trait.wanted != trait.recorded
    is_unread = any(not source.ok and source.name == "placement" for source in report.sources)
    places = _ordered(report, names)
    return tuple(
        Node(
            name=names[uuid] or uuid,
            depth=depth,
            parent=parent,
            uuid=uuid,
            classes=tuple(_class(row) for row in rows[uuid]),
            terms=tuple(_terms(row) for row in rows[uuid]),
            traits=traits[uuid],
            differs="" if is_unread else _differs(rows[uuid], wrong_traits[uuid]),
            is_unread=is_unread,
        )
        for uuid, parent, depth in places
    )


def _ordered(report: AuditReport, names: dict[str, str]) -> list[tuple[str, str, int]]:
    """Return (uuid, parent, depth) of each provider: the root first, each provider before its children."""
    known = {place.uuid: place.parent_uuid for place in report.providers}
    root = (
        report.provider_uuid
        if report.provider_uuid in names
        else min(names, key=lambda uuid: (names[uuid], uuid), default="")
    )
    children: dict[str, list[str]] = defaultdict(list)
    for uuid in sorted(names, key=lambda uuid: (names[uuid], uuid)):
        if uuid != root:
            parent = known.get(uuid) or root
            children[parent if parent in names and parent != uuid else root].append(uuid)
    found: list[tuple[str, str, int]] = []
    waiting = [(root, "", 0)] if root else []
    seen = {root}
    while waiting:
        uuid, parent, depth = waiting.pop()
        found.append((uuid, parent, depth))
        new = [child for child in children[uuid] if child not in seen]
        seen.update(new)
        waiting += [(child, uuid, depth + 1) for child in reversed(new)]
    # In a faulty report, providers can be each other's ancestors (a loop). The walk from the root does not find these
    # providers, so they are added here as children of the root.
    return [*found, *((uuid, root, 1) for uuid in sorted(names) if uuid not in seen)]


def _class(row: InventoryRow) -> tuple[str, str, str]:
    shown = row.recorded or row.wanted
    name = shown.resource_class if shown else ""
    used = NOT_KNOWN if row.used is None else beside_its_class(name, row.used)
    return name, used, beside_its_class(name, shown.total) if shown else NOT_KNOWN


def _terms(row: InventoryRow) -> tuple[str, str, str]:
    shown = row.recorded or row.wanted
    if shown is None:
        return NOT_KNOWN, NOT_KNOWN, NOT_KNOWN
    name, ratio = shown.resource_class, shown.allocation_ratio
    capacity = (shown.total - shown.reserved) * ratio
    return beside_its_class(name, shown.reserved), f"{ratio:g}", beside_its_class(name, capacity)


def _differs(rows: list[InventoryRow], wrong_traits: int) -> str:
    inventories = sum(row.wanted != row.recorded for row in rows)
    parts = [
        f"{count} {name}{'' if count == 1 else word}"
        for count, name, word in ((inventories, "class", "es"), (wrong_traits, "trait", "s"))
        if count
    ]
    return ", ".join(parts)
