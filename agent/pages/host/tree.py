"""The providers of the host's tree: the host's own provider first, then its children by name. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from agent.model.report import AuditReport, InventoryRow
from agent.pages.tables import NOT_KNOWN
from agent.text.amounts import beside_its_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One provider. ``classes`` are (class, used, inventory) as texts; ``differs`` says what is not as wanted.

    ``is_unread``: Placement was not read, so nothing was compared.
    """

    name: str
    uuid: str
    classes: tuple[tuple[str, str, str], ...]
    traits: int
    differs: str
    is_unread: bool = False


def nodes_of(report: AuditReport) -> tuple[Node, ...]:
    """Return the providers, () if the audit knows none."""
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
    order = sorted(names, key=lambda uuid: (uuid != report.provider_uuid, names[uuid], uuid))
    return tuple(
        Node(
            name=names[uuid] or uuid,
            uuid=uuid,
            classes=tuple(_class(row) for row in rows[uuid]),
            traits=traits[uuid],
            differs="" if is_unread else _differs(rows[uuid], wrong_traits[uuid]),
            is_unread=is_unread,
        )
        for uuid in order
    )


def _class(row: InventoryRow) -> tuple[str, str, str]:
    shown = row.recorded or row.wanted
    name = shown.resource_class if shown else ""
    used = NOT_KNOWN if row.used is None else beside_its_class(name, row.used)
    return name, used, beside_its_class(name, shown.total) if shown else NOT_KNOWN


def _differs(rows: list[InventoryRow], wrong_traits: int) -> str:
    inventories = sum(row.wanted != row.recorded for row in rows)
    parts = [
        f"{count} {name}{'' if count == 1 else word}"
        for count, name, word in ((inventories, "class", "es"), (wrong_traits, "trait", "s"))
        if count
    ]
    return ", ".join(parts)
