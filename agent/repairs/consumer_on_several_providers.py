"""consumer-on-several-providers: remove a consumer's allocations on this host if its instance is on another host.

If the instance is on this host, the other host's allocations are wrong. The repair then declines: the agent of the
other host must remove the other host's allocations, because only that agent knows the state of its host.
"""

from __future__ import annotations

from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.nova import Instance
from agent.model.placement import ConsumerRecord
from agent.repairs.base import THREE_BOOKS, BesideNova, Declined, Repair, Scene, here_and_elsewhere, without_own_part


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    instance = _instance(scene, record.consumer_uuid)
    if instance is None:
        return Declined(why="nova's cell database has no instance with the consumer's UUID, so its host is not known")
    if instance.deleted or instance.host is None or instance.task_state is not None or instance.problem is not None:
        return Declined(why=f"it is not certain on which host the instance is: {_situation(instance)}")
    if instance.host == scene.settings.host:
        why = "the instance lives on this host, so the agent of the other host must remove the other allocation"
        return Declined(why=why)
    if instance.uuid in _guests(scene):
        return Declined(why=f"the instance lives on {instance.host}, but its guest is defined on this host")
    if not here_and_elsewhere(scene, record)[1]:
        return Declined(why="the consumer has no allocation on other hosts any more")
    return without_own_part(scene, seen, record, f"instance {instance.uuid} ({instance.name}) lives on {instance.host}")


def _instance(scene: Scene, consumer_uuid: str) -> Instance | None:
    state = scene.snapshot.nova.value
    return next((i for i in state.instances if i.uuid == consumer_uuid), None) if state else None


def _guests(scene: Scene) -> frozenset[str]:
    host = scene.snapshot.host.value
    return frozenset(d.uuid for known in (host.domains, host.odd_domains) for d in known) if host else frozenset()


def _situation(instance: Instance) -> str:
    if instance.problem is not None:
        return instance.problem
    if instance.deleted:
        return "the instance is deleted"
    return f"host {instance.host or 'none'}, vm_state {instance.vm_state}, task {instance.task_state or 'none'}"


REPAIR = Repair(code="consumer-on-several-providers", beside_nova=BesideNova.AGENT, needs=THREE_BOOKS, propose=_propose)
