"""reshape-needed: move a class and all its consumers from the root to child providers (scenarios 106, 107, 156).

heal makes the whole reshape or none of it. If the child provider of one consumer is unknown, all consumers stay on the
root. If only this consumer stayed on the root, the root and a child would both offer the same capacity. Each consumer's
total stays the same: the reshape frees nothing and takes nothing. The reshape includes all child providers that offer
the class, also those without consumers, so that one undo reverts everything. The next audit writes the children's
traits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agent.findings.reshape_needed import RULE
from agent.model.finding import SeenFinding
from agent.model.heal import ConsumerChange, ProviderChange, ReshapeAction, Reshaping
from agent.model.placement import ConsumerRecord, Inventory, Provider, ProviderKey
from agent.model.snapshot import LIBVIRT, PLACEMENT
from agent.nested import BUILTIN as FAMILIES
from agent.nested.base import NestedFamily, UnknownChildren, children, still_on_root
from agent.provider_tree.desired import can_decide, child_uuid
from agent.repairs.base import BesideNova, Declined, Scene, TreeRepair, allocations_of, rewritten
from agent.text.amounts import with_class


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A child provider to which the resource class moves. ``observed`` is None if the child does not exist yet."""

    uuid: str
    name: str
    observed: Provider | None
    inventory: Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """The move of a resource class from the root provider to the child providers ``targets``."""

    scene: Scene
    root: Provider
    family: NestedFamily
    resource_class: str
    targets: Mapping[ProviderKey, _Target]


def _holders(scene: Scene, seen: SeenFinding) -> tuple[str, ...]:
    """Return the uuids of all consumers with an allocation of the class on the root provider."""
    place = (scene.subject.root_uuid, seen.finding.resource_class)
    allocations = scene.view.allocations if scene.view else ()
    return tuple(sorted({a.consumer_uuid for a in allocations if (a.provider_uuid, a.resource_class) == place}))


def _propose(scene: Scene, seen: SeenFinding) -> ReshapeAction | Declined:
    move = _move(scene, seen.finding.resource_class or "")
    if isinstance(move, Declined):
        return move
    changes: list[ConsumerChange] = []
    for consumer in _holders(scene, seen):
        change = _change(move, scene.record(consumer), consumer)
        if isinstance(change, Declined):
            return change
        changes.append(change)
    overfull = _overfull(move, changes)
    if overfull is not None:
        return Declined(why=overfull)
    reshaping = Reshaping(resource_class=move.resource_class, providers=_providers(move), changes=tuple(changes))
    why = _why(move, changes)
    return ReshapeAction(finding_id=seen.finding.id, code=seen.finding.code, reshaping=reshaping, why=why)


def _move(scene: Scene, resource_class: str) -> _Move | Declined:
    snapshot, settings, root = scene.snapshot, scene.settings, scene.snapshot.observed_root
    own = (f for f in FAMILIES if f.is_configured(settings) and resource_class in still_on_root(f, snapshot))
    family = next(own, None)
    if family is None or root is None:
        return Declined(why=f"no consumer uses {resource_class} on the root provider any more")
    if not can_decide(family, snapshot, settings):
        unknown = (
            family.obstacle(snapshot, settings) or "the agent has not read the sources that describe these devices"
        )
        return Declined(why=f"this host's {family.name} providers are not known, because {unknown}")
    targets = _targets(scene, root, family, resource_class)
    return _Move(scene=scene, root=root, family=family, resource_class=resource_class, targets=targets)


def _targets(scene: Scene, root: Provider, family: NestedFamily, resource_class: str) -> Mapping[ProviderKey, _Target]:
    observed = children(scene.view, root.name)
    return {
        nested.key: _Target(
            uuid=there.uuid if (there := observed.get(nested.key.name)) else child_uuid(root.uuid, nested.key),
            name=f"{root.name}_{nested.key.name}",
            observed=there,
            inventory=inventory,
        )
        for nested in family.providers(scene.snapshot, scene.settings)
        for inventory in nested.inventories
        if inventory.resource_class == resource_class
    }


def _change(move: _Move, record: ConsumerRecord | None, consumer_uuid: str) -> ConsumerChange | Declined:
    if record is None or record.project_id is None or record.user_id is None:
        return Declined(why=f"consumer {consumer_uuid} has no project or user, or its record was read only in part")
    name, scene = move.resource_class, move.scene
    belongs = move.family.belongs(consumer_uuid, name, scene.snapshot, scene.settings)
    if isinstance(belongs, UnknownChildren):
        words = f"no allocation is moved, because the child provider for consumer {consumer_uuid} is unknown"
        return Declined(why=f"{words}: {belongs.why}")
    strange = sorted(key.name for key in belongs if key not in move.targets)
    if strange:
        return Declined(why=f"consumer {consumer_uuid} must move to {', '.join(strange)}, which offers no {name}")
    amounts = {(a.provider_uuid, a.resource_class): a.amount for a in record.allocations}
    leaving = amounts.pop((move.root.uuid, name), 0)
    if not leaving:
        # Another run of heal has moved the allocation since the audit, or another client has removed the allocation.
        return Declined(why=f"consumer {consumer_uuid} has no {name} on the root provider any more")
    wanted = {(move.targets[key].uuid, name): amount for key, amount in belongs.items()}
    coming = [amount - amounts.get(place, 0) for place, amount in wanted.items()]
    if any(amount < 0 for amount in coming) or sum(coming) != leaving:
        placed = ", ".join(f"{amount} on {move.root.name}_{key.name}" for key, amount in sorted(belongs.items()))
        return Declined(
            why=f"consumer {consumer_uuid} has {leaving} {name} on the root provider, but libvirt shows that its guest "
            f"uses {placed or 'nothing'}"
        )
    after = amounts | {place: amount for place, amount in wanted.items() if amount}
    return ConsumerChange(before=record, write=rewritten(record, allocations_of(record, after)))


def _overfull(move: _Move, changes: list[ConsumerChange]) -> str | None:
    """Return a sentence about a child on which the reshape would allocate more than Placement permits.

    Return None if there is no such child.
    """
    view = move.scene.view
    moved = {change.before.consumer_uuid for change in changes}
    for target in move.targets.values():
        offered = target.inventory
        place = (target.uuid, offered.resource_class)
        stay = [a for a in (view.allocations if view else ()) if a.consumer_uuid not in moved]
        mine = [a for change in changes for a in change.write.allocations]
        amounts = [a.amount for a in (*stay, *mine) if (a.provider_uuid, a.resource_class) == place]
        most = max(amounts, default=0)
        if sum(amounts) > offered.capacity:
            offer = with_class(place[1], offered.capacity)
            return f"{target.name} offers {offer}, but {sum(amounts)} would be allocated"
        if most > offered.max_unit:
            allowed = with_class(place[1], offered.max_unit)
            return f"{target.name} allows each consumer at most {allowed}, but one consumer would have {most}"
    return None


def _providers(move: _Move) -> tuple[ProviderChange, ...]:
    """Return the changes of providers: the root loses the class, children get it, obsolete children are deleted."""
    name, root = move.resource_class, move.root
    rest = tuple(i for i in root.inventories if i.resource_class != name)
    above = ProviderChange(
        uuid=root.uuid, name=root.name, parent_uuid=root.parent_uuid, before=root.inventories, after=rest
    )
    below = [_offering(root, target) for target in move.targets.values()] + _withdrawn(move)
    return (above, *sorted(below, key=lambda child: child.name))


def _offering(root: Provider, target: _Target) -> ProviderChange:
    before = target.observed.inventories if target.observed else None
    kept = [i for i in before or () if i.resource_class != target.inventory.resource_class]
    after = tuple(sorted((*kept, target.inventory), key=lambda i: i.resource_class))
    return ProviderChange(uuid=target.uuid, name=target.name, parent_uuid=root.uuid, before=before, after=after)


def _withdrawn(move: _Move) -> list[ProviderChange]:
    """Return the deletions of obsolete child providers that have no allocations and no children."""
    view, scene = move.scene.view, move.scene
    if view is None:
        return []
    observed = children(view, move.root.name)
    busy = {a.provider_uuid for a in view.allocations} | {p.parent_uuid for p in view.providers}
    going = sorted(key.name for key in move.family.withdrawn(scene.snapshot, scene.settings))
    return [
        ProviderChange(
            uuid=child.uuid, name=child.name, parent_uuid=child.parent_uuid, before=child.inventories, after=None
        )
        for name in going
        if (child := observed.get(name)) and child.uuid not in busy
    ]


def _why(move: _Move, changes: list[ConsumerChange]) -> str:
    name, arriving = move.resource_class, Counter[str]()
    by_uuid = {target.uuid: target.name for target in move.targets.values()}
    for change in changes:
        for allocation in change.write.allocations:
            if allocation.resource_class == name and allocation.provider_uuid in by_uuid:
                arriving[by_uuid[allocation.provider_uuid]] += allocation.amount
    where = ", ".join(f"{child} ({amount})" for child, amount in sorted(arriving.items()))
    many = f"{len(changes)} consumer{'s' if len(changes) != 1 else ''}"
    return f"the {name} allocated to {many} moves from {move.root.name} to {where}; each consumer keeps its amount"


REPAIR = TreeRepair(
    code=RULE.code,
    beside_nova=BesideNova.NOVA_REPAIRS,
    needs=frozenset({PLACEMENT, LIBVIRT}),
    consumers=_holders,
    proposed=_propose,
)
