"""A consumer that lost its last allocation and got a new one starts again at generation 0, as measured on Placement."""

from agent.placement.reader import TreeReader
from agent.ports import ViewRequest
from tests.cloud.model_client import ModelClient
from tests.cloud.placement_model import PlacementModel, Stock, Wanted

HERE, ELSEWHERE, CONSUMER = "here", "elsewhere", "consumer"
BOTH = {HERE: {"VCPU": 1}, ELSEWHERE: {"VCPU": 1}}
REQUEST = {"root_uuid": HERE, "root_name": HERE, "fresh_allocations": True, "consumer_reads": 20}


def world() -> PlacementModel:
    model = PlacementModel()
    for name in (HERE, ELSEWHERE):
        model.create_provider(name, name)
        model.put_inventories(name, 0, {"VCPU": Stock(total=8)})
    assert model.put(CONSUMER, Wanted(holdings=BOTH, generation=None)).ok
    return model


def elsewhere(view) -> set[str]:
    (record,) = view.consumers
    return {allocation.provider_uuid for allocation in record.allocations} - {HERE}


def test_a_recreated_consumer_with_a_finding_is_read_again():
    """A consumer with a finding was deleted and created again in Placement. The agent reads its new allocations."""
    model = world()
    reader = TreeReader(ModelClient(model))
    assert elsewhere(reader.view(ViewRequest(**REQUEST))) == {ELSEWHERE}
    assert model.delete(CONSUMER).ok
    assert model.put(CONSUMER, Wanted(holdings={HERE: {"VCPU": 1}}, generation=None)).ok
    assert elsewhere(reader.view(ViewRequest(**REQUEST, reported=(CONSUMER,)))) == set()


def test_a_new_consumer_is_read_despite_a_low_read_limit():
    """The agent may read only one consumer per read, and Placement has a new one. The agent reads the new consumer."""
    model = world()
    reader = TreeReader(ModelClient(model))
    reader.view(ViewRequest(**REQUEST))
    assert model.put("another", Wanted(holdings={HERE: {"VCPU": 1}}, generation=None)).ok
    view = reader.view(ViewRequest(**REQUEST | {"consumer_reads": 1}, reported=(CONSUMER,)))
    assert {record.consumer_uuid for record in view.consumers} == {CONSUMER, "another"}
