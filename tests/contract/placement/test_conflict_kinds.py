"""The client distinguishes each 409 of a real Placement: which generation, in use, duplicate name, no room."""

from __future__ import annotations

import pytest

from agent.errors import ConflictKind, ConsumerConflict, GenerationConflict, PlacementError, Retry
from agent.model.placement import Allocation, Inventory
from agent.model.plan import CreateProvider, DeleteProvider, Plan, PutAllocations, PutInventories
from agent.placement.allocations import AllocationClient
from agent.placement.writer import TreeWriter
from tests.rigs.placement import PROJECT, USER, new_uuid


@pytest.fixture
def root(rest):
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 4}, "MEMORY_MB": {"total": 64}})
    return uuid


def held_by(consumer: str, root: str, amount: int, generation: int | None) -> PutAllocations:
    held = Allocation(
        consumer_uuid=consumer,
        consumer_generation=generation,
        provider_uuid=root,
        resource_class="VCPU",
        amount=amount,
    )
    return PutAllocations(
        consumer_uuid=consumer, allocations=(held,), consumer_generation=generation, project_id=PROJECT, user_id=USER
    )


def test_a_stale_consumer_generation_raises_a_conflict(rest, client, root):
    """Another client changed the consumer's allocations since the agent read them.

    The agent's write changes nothing.
    """
    consumer = rest.allocate({root: {"VCPU": 1}})
    allocations = AllocationClient(client)
    known = allocations.consumer(consumer).generation
    rest.allocate({root: {"VCPU": 2}}, consumer)
    with pytest.raises(ConsumerConflict) as stale:
        allocations.put(held_by(consumer, root, 3, known))
    assert (stale.value.conflict, stale.value.retry) == (ConflictKind.CONSUMER_GENERATION, Retry.AT_ONCE)
    assert allocations.consumer(consumer).allocations[0].amount == 2


def test_creating_an_existing_consumer_raises_a_conflict(rest, client, root):
    """The agent writes allocations for a new consumer, and Placement already has that consumer."""
    consumer = rest.allocate({root: {"VCPU": 1}})
    with pytest.raises(ConsumerConflict):
        AllocationClient(client).put(held_by(consumer, root, 1, None))


def test_a_stale_provider_generation_raises_a_conflict(rest, client, root):
    """The agent's write carries an old generation of the provider. Placement refuses it and keeps the inventory."""
    plan = Plan(
        writes=(PutInventories(provider_uuid=root, inventories=(Inventory(resource_class="VCPU", total=5),)),),
        generations=((root, rest.generation(root) - 1),),
    )
    with pytest.raises(GenerationConflict) as stale:
        TreeWriter(client).apply(plan, lambda: False)
    assert stale.value.conflict is ConflictKind.PROVIDER_GENERATION
    assert rest.inventories(root)["VCPU"]["total"] == 4


def test_an_allocation_above_the_capacity_raises_an_error(client, root):
    """The agent writes an allocation of 5 VCPU on a provider with 4. The error has the kind NO_ROOM."""
    with pytest.raises(PlacementError) as full:
        AllocationClient(client).put(held_by(new_uuid(), root, 5, None))
    assert full.value.conflict is ConflictKind.NO_ROOM


def test_the_client_distinguishes_three_reasons_for_http_409(rest, client, root):
    """A resource class in use, a provider in use and a duplicate name each raise a conflict of their own kind."""
    rest.allocate({root: {"VCPU": 1}})
    memory = (Inventory(resource_class="MEMORY_MB", total=64),)
    without_vcpu = Plan(
        writes=(PutInventories(provider_uuid=root, inventories=memory),), generations=((root, rest.generation(root)),)
    )
    gone = Plan(writes=(DeleteProvider(provider_uuid=root),))
    same_name = Plan(writes=(CreateProvider(provider_uuid=new_uuid(), name=f"host-{root}", parent_uuid=None),))
    kinds = []
    for plan in (without_vcpu, gone, same_name):
        (refused,) = TreeWriter(client).apply(plan, lambda: False).refused
        kinds.append(refused.error.conflict)
    assert kinds == [ConflictKind.INVENTORY_IN_USE, ConflictKind.PROVIDER_IN_USE, ConflictKind.DUPLICATE_NAME]
