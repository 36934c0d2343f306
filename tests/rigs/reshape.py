"""A world with VGPU on the root, used by two guests with known mediated devices; a test then changes one fact."""

from __future__ import annotations

import dataclasses
from typing import Any

from agent.model.host.devices import Devices, Mdev
from agent.model.host.facts import HostFacts
from agent.model.placement import Allocation, ConsumerRecord, PlacementView
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.repairs.base import Scene
from tests.rigs import facts
from tests.rigs.heal import scene_of
from tests.rigs.nested import GPU_06, GPU_07, card, mdev_type

ONE_TYPE = facts.settings(mdev_types=(mdev_type("nvidia-11"),))
# Consumer to the parents of its guest's mediated devices.
USED = {"i1": (GPU_06, GPU_07), "i2": (GPU_06,)}


def mdev_uuid(consumer: str, number: int) -> str:
    """Return the uuid of that device of the consumer's guest."""
    return facts.uuid(f"mdev {consumer} {number}")


def gpu_host(used: dict[str, tuple[str, ...]], free: int = 8, **changes: Any) -> HostFacts:
    """Return two cards with ``free`` available devices each, and guests with the devices that ``used`` names."""
    made = tuple(
        Mdev(name=f"mdev_{mdev_uuid(name, n).replace('-', '_')}", type_id="nvidia-11", parent=parent)
        for name, parents in used.items()
        for n, parent in enumerate(parents)
    )
    guests = [
        facts.domain(name, mdev_uuids=tuple(sorted(mdev_uuid(name, n) for n in range(len(parents)))))
        for name, parents in used.items()
    ]
    cards = tuple(card(name, nvidia_11=free) for name in (GPU_06, GPU_07))
    return facts.host(*guests, devices=Devices(mdev_parents=cards, mdevs=made, **changes))


def record_of(name: str, amount: int, *more: Allocation) -> ConsumerRecord:
    """Return a consumer with that much VGPU and one VCPU on the root."""
    held = (*facts.allocations(facts.uuid(name), VCPU=1, VGPU=amount), *more)
    return ConsumerRecord(
        consumer_uuid=facts.uuid(name),
        generation=1,
        project_id="p",
        user_id="u",
        allocations=tuple(sorted(held, key=lambda a: (a.provider_uuid, a.resource_class))),
    )


def view_with(records: tuple[ConsumerRecord, ...], **changes: Any) -> PlacementView:
    """Return a view of the root with VGPU and these consumers' allocations on the tree."""
    offered = (facts.inventory("VCPU", 64), facts.inventory("VGPU", 24))
    providers = changes.pop("providers", (facts.root(*offered),))
    ours = {provider.uuid for provider in providers}
    here = tuple(a for each in records for a in each.allocations if a.provider_uuid in ours)
    return facts.view(here, providers=providers, **changes)


def gpu_scene(
    used: dict[str, tuple[str, ...]] | None = None, records: tuple[ConsumerRecord, ...] | None = None, **changes: Any
) -> Scene:
    """Return heal's scene of that world: reshape-needed, confirmed and an hour old."""
    used = USED if used is None else used
    records = records or tuple(record_of(name, len(parents)) for name, parents in used.items() if parents)
    world: Snapshot = facts.snapshot(
        placement=changes.pop("placement", None) or view_with(records),
        libvirt=changes.pop("libvirt", None) or gpu_host(used),
    )
    settings: Settings = changes.pop("settings", ONE_TYPE)
    return dataclasses.replace(scene_of(world, *records, settings=settings), **changes)
