"""pci-allocation-missing: allocate a guest's PCI functions to its instance (scenarios 125 and 126).

The repair changes one consumer. No reshape is needed, because the audits publish the devices' providers and
inventories. The repair declines while one of the providers is not published. Like nova-compute, the repair corrects
only allocations on the providers of PCI functions that the guest has.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.findings.pci_allocation_missing import RULE, resting
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.host.facts import Domain
from agent.model.placement import ConsumerRecord, Inventory, Provider
from agent.nested.pci_view import pci_view, taken_by, unknown_because
from agent.repairs.base import (
    THREE_BOOKS,
    BesideNova,
    Declined,
    Repair,
    Scene,
    allocations_of,
    healing,
    here_and_elsewhere,
    rewritten,
)
from agent.text.amounts import with_class


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The amount of one class that should be allocated to the consumer on one existing provider."""

    provider: Provider
    offered: Inventory
    amount: int

    @property
    def place(self) -> tuple[str, str]:
        return (self.provider.uuid, self.offered.resource_class)


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    guest = _guest(scene, record)
    if isinstance(guest, Declined):
        return guest
    wanted = _wanted(scene, guest)
    if isinstance(wanted, Declined):
        return wanted
    held = {(a.provider_uuid, a.resource_class): a.amount for a in record.allocations}
    wrong = [w for w in wanted if held.get(w.place) != w.amount]
    if not wrong:
        return Declined(why="the instance's allocations match its guest's devices by now")
    full = next((why for each in wrong if (why := _no_room(scene, record, each))), None)
    if full is not None:
        return Declined(why=full)
    after = held | {w.place: w.amount for w in wrong}
    taken = ", ".join(f"{with_class(w.offered.resource_class, w.amount)} on {w.provider.name}" for w in wrong)
    why = (
        f"guest {guest.uuid} ({guest.name}) uses {taken}: heal allocates these amounts and changes no other allocation"
    )
    return healing(seen, record, rewritten(record, allocations_of(record, after)), why)


def _guest(scene: Scene, record: ConsumerRecord) -> Domain | Declined:
    """Return the consumer's guest, or Declined if the instance has no allocation on this host or is being moved."""
    host = scene.snapshot.host.value
    if host is None or unknown_because(host):
        return Declined(why="the agent does not know all PCI devices of this host")
    if record.project_id is None or not here_and_elsewhere(scene, record)[0]:
        return Declined(why="the instance has no allocation on this host: see the finding allocation-missing")
    if record.consumer_uuid not in resting(scene.rows, scene.snapshot.nova.value):
        return Declined(why="the instance is not on this host or is being moved, so its devices may be on another host")
    guest = next((d for d in host.domains if d.uuid == record.consumer_uuid), None)
    return guest or Declined(why="the instance's guest is not on this host any more")


def _wanted(scene: Scene, guest: Domain) -> tuple[_Wanted, ...] | Declined:
    view = pci_view(scene.snapshot, scene.settings)
    found: list[_Wanted] = []
    for (key, resource_class), amount in taken_by(guest, view).items():
        provider = view.observed.get(key.name)
        offered = provider.inventory(resource_class) if provider else None
        if provider is None or offered is None:
            return Declined(
                why=f"child provider {key.name} has no inventory of {resource_class} yet; the agent adds this "
                "inventory in its next audit, if writes are allowed"
            )
        found.append(_Wanted(provider=provider, offered=offered, amount=amount))
    return tuple(found)


def _no_room(scene: Scene, record: ConsumerRecord, wanted: _Wanted) -> str | None:
    """Return why Placement would reject the amount, None if Placement would accept it."""
    offered = wanted.offered
    others = [a for a in (scene.view.allocations if scene.view else ()) if a.consumer_uuid != record.consumer_uuid]
    used = sum(a.amount for a in others if (a.provider_uuid, a.resource_class) == wanted.place)
    if used + wanted.amount <= offered.capacity and wanted.amount <= offered.max_unit:
        return None
    return (
        f"{wanted.provider.name} offers {with_class(offered.resource_class, offered.capacity)}, at most "
        f"{offered.max_unit} to each consumer; other consumers have {used}, and this consumer needs {wanted.amount}"
    )


REPAIR = Repair(code=RULE.code, beside_nova=BesideNova.NOVA_REPAIRS, needs=THREE_BOOKS, propose=_propose)
