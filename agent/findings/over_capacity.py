"""over-capacity: Placement records more than the host can give, so free is negative (story 5).

Placement accepts an inventory below what is used with 200, so nobody but us says
so. Names who of the consumers should not be there at all: that is the leak.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World, amount_text, number_text
from agent.findings.reshape_needed import to_move
from agent.model.claim import UNMANAGED_CAUSES
from agent.model.compared import Row
from agent.model.finding import Finding, Severity
from agent.model.placement import ROOT, Inventory
from agent.model.report import Verdict

LEAKS = frozenset({Verdict.ALLOCATION_LEAKED, Verdict.ALLOCATION_STALE_MOVE})


def _find(world: World) -> Iterable[Finding]:
    if world.tree is None or world.view is None:
        return
    wanted = world.tree.root
    frozen = {f.resource_class for f in wanted.frozen}
    overflows = {terms.resource_class: terms.overflow for terms in wanted.reserves}
    for inventory in _inventories(world, frozen):
        rows, used = _recorded(world, inventory.resource_class)
        overflow = overflows.get(inventory.resource_class, 0)
        if used > inventory.capacity or overflow:
            yield _finding(world, inventory, rows, used, overflow)
    for name in sorted(_withdrawn(world, frozen)):
        rows, used = _recorded(world, name)
        if used:
            yield _of_withdrawn(world, name, rows, used)


def _recorded(world: World, resource_class: str) -> tuple[list[Row], int]:
    rows = [r for r in world.rows if r.provider_key == ROOT and r.resource_class == resource_class]
    return rows, sum(row.recorded or 0 for row in rows)


def _withdrawn(world: World, frozen: set[str]) -> frozenset[str]:
    """Classes that Placement still offers here and the host does not: taken away only once nobody uses them.

    Not one that belongs on children: the host does offer that (findings/reshape_needed.py).
    """
    if world.tree is None or world.root is None:
        return frozenset()
    wanted = world.tree.root
    offered = {i.resource_class for i in world.root.inventories} & wanted.owned_classes
    return frozenset(offered - frozen - {i.resource_class for i in wanted.inventories} - to_move(world).keys())


def _of_withdrawn(world: World, name: str, rows: list[Row], used: int) -> Finding:
    return RULE.finding(
        world,
        resource_class=name,
        expected=f"no {name}: this host offers none any more",
        actual=f"{amount_text(name, used)} used, so Placement keeps offering it "
        "(it refuses to remove a class that is in use)",
        evidence=tuple(claim for row in rows if row.recorded for claim in row.claims),
        facts=(("capacity", 0), ("used", used), ("free", -used)),
        rests_on_recorded=True,
    )


def _inventories(world: World, frozen: set[str]) -> list[Inventory]:
    wanted = world.tree.root.inventories if world.tree else ()
    kept = [i for i in (world.root.inventories if world.root else ()) if i.resource_class in frozen]
    return sorted([*wanted, *kept], key=lambda i: i.resource_class)


def _finding(world: World, inventory: Inventory, rows: list[Row], used: int, overflow: int) -> Finding:
    name = inventory.resource_class
    leaked = [row for row in rows if row.verdict in LEAKS and row.recorded]
    free = inventory.capacity - used
    return RULE.finding(
        world,
        resource_class=name,
        expected=f"at most {amount_text(name, inventory.capacity)} used: "
        f"({inventory.total} - {inventory.reserved}) x {inventory.allocation_ratio:g}",
        actual=f"{amount_text(name, used)} used, free {number_text(free)}{_leak_text(name, leaked)}"
        f"{_overflow_text(name, overflow)}",
        evidence=tuple(claim for row in rows if row.recorded or _found_no_room(row, overflow) for claim in row.claims),
        facts=(
            ("capacity", inventory.capacity),
            ("used", used),
            ("free", free),
            ("leaked_consumers", len(leaked)),
            ("leaked_amount", sum(row.recorded or 0 for row in leaked)),
        ),
        rests_on_recorded=True,
    )


def _found_no_room(row: Row, overflow: int) -> bool:
    return bool(overflow) and row.cause in UNMANAGED_CAUSES


def _leak_text(name: str, leaked: list[Row]) -> str:
    if not leaked:
        return "; no leaked consumer among them: the host is over-committed"
    total = amount_text(name, sum(row.recorded or 0 for row in leaked))
    who = ", ".join(f"{row.key} ({amount_text(name, row.recorded)}, {row.verdict.value})" for row in leaked)
    return f"; {total} of it by {len(leaked)} consumers that should hold nothing here: {who}"


def _overflow_text(name: str, overflow: int) -> str:
    return f"; {amount_text(name, overflow)} of unmanaged use found no room in reserved" if overflow else ""


RULE = Rule(
    code="over-capacity",
    severity=Severity.ERROR,
    remedy="take the leaked consumers away first (their own findings say how); "
    "what is left is over-commit: move guests away",
    find=_find,
)
