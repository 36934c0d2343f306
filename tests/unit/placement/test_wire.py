"""Laws of the wire format: what the agent sends is read back equal, and a server's response never crashes it."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import PlacementUnavailable
from agent.model.placement import Allocation, ConsumerRecord, Inventory, Provider
from agent.model.plan import CreateProvider
from agent.placement import wire

UUID_A = "11111111-1111-4111-8111-111111111111"
UUID_B = "22222222-2222-4222-8222-222222222222"

COUNTS = st.integers(min_value=0, max_value=2**31 - 1)
NAMES = st.text(alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", min_size=1, max_size=30)
UUIDS = st.uuids().map(str)
INVENTORIES = st.builds(
    Inventory,
    resource_class=NAMES,
    total=COUNTS,
    reserved=COUNTS,
    min_unit=COUNTS,
    max_unit=COUNTS,
    step_size=COUNTS,
    allocation_ratio=st.floats(min_value=0.0, max_value=1e6),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
# Documents that are nearly right reach more of a parser's code than noise does.
KEYS = st.sampled_from(
    [
        "resource_providers", "uuid", "name", "generation", "parent_provider_uuid", "inventories", "total",
        "allocation_ratio", "resource_provider_generation", "traits", "aggregates", "allocations", "resources",
        "consumer_generation", "project_id", "user_id", "versions", "id", "max_version", "errors", "code", "detail",
    ]
)  # fmt: skip
NEARLY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**400)
    | st.floats()
    | st.sampled_from(["", "v1.0", "1.39", "1.x", "VCPU", UUID_A]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=6),
    max_leaves=20,
)
PARSERS = {
    "nothing": wire.nothing,
    "maximum": wire.parse_maximum,
    "providers": wire.parse_providers,
    "provider": wire.parse_provider,
    "inventories": wire.parse_inventories,
    "traits": wire.parse_traits,
    "aggregates": wire.parse_aggregates,
    "allocations": lambda body: wire.parse_allocations(body, UUID_A, 3),
    "consumer": lambda body: wire.parse_consumer(body, UUID_A),
}


def over_the_wire(body: object) -> object:
    return json.loads(json.dumps(body))


@given(st.lists(INVENTORIES, unique_by=lambda inventory: inventory.resource_class), COUNTS)
def test_inventories_survive_conversion_to_json_and_back(inventories, generation):
    body = over_the_wire(wire.render_inventories(inventories, generation))
    wanted = tuple(sorted(inventories, key=lambda inventory: inventory.resource_class))
    assert wire.parse_inventories(body) == wire.Inventories(generation=generation, inventories=wanted)


@given(st.frozensets(NAMES), COUNTS)
def test_traits_survive_conversion_to_json_and_back(traits, generation):
    body = over_the_wire(wire.render_traits(traits, generation))
    assert wire.parse_traits(body) == wire.Traits(generation=generation, traits=traits)


@given(st.frozensets(UUIDS), COUNTS)
def test_aggregates_survive_conversion_to_json_and_back(aggregates, generation):
    body = over_the_wire(wire.render_aggregates(aggregates, generation))
    assert wire.parse_aggregates(body) == wire.Aggregates(generation=generation, aggregates=aggregates)


@given(st.builds(CreateProvider, provider_uuid=UUIDS, name=NAMES, parent_uuid=st.none() | UUIDS))
def test_a_provider_survives_conversion_to_json_and_back(write):
    body = over_the_wire(wire.render_provider(write)) | {"generation": 0}
    assert wire.parse_provider(body) == Provider(
        uuid=write.provider_uuid, name=write.name, parent_uuid=write.parent_uuid, generation=0
    )


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS.keys())
@given(body=JSON | NEARLY)
def test_any_json_is_parsed_or_raises_placement_unavailable(parser, body):
    """Whatever JSON Placement sends, the agent parses it or raises PlacementUnavailable, and no other exception."""
    with contextlib.suppress(PlacementUnavailable):
        parser(body)


@given(st.text())
def test_an_error_quotes_only_a_part_of_a_long_response(text):
    """The agent rejects an invalid response of Placement with an error of less than 300 characters."""
    with pytest.raises(PlacementUnavailable) as raised:
        wire.parse_traits({"resource_provider_generation": text * 100, "traits": []})
    assert len(str(raised.value)) < 300


@given(JSON | NEARLY)
def test_any_json_is_read_as_an_error_code_and_a_detail(body):
    """Whatever JSON the body of an error response contains, the agent reads an error code and a detail text from it."""
    said = wire.parse_refusal(body)
    assert isinstance(said.code, str)
    assert isinstance(said.detail, str)


def test_s145_a_missing_inventory_field_gets_its_default():
    """Placement's answer contains only the total of an inventory.

    The agent sets the other fields to Placement's defaults.
    """
    body = {"resource_provider_generation": 4, "inventories": {"VCPU": {"total": 8}}}
    full = Inventory(
        resource_class="VCPU",
        total=8,
        reserved=0,
        min_unit=1,
        max_unit=2147483647,
        step_size=1,
        allocation_ratio=1.0,
    )
    assert wire.parse_inventories(body).inventories == (full,)


@pytest.mark.parametrize("odd", [True, "8", 8.0, None])
def test_an_inventory_total_must_be_an_integer(odd):
    """Placement sends true, "8", 8.0 or null as the total of an inventory. The agent rejects the response."""
    body = {"resource_provider_generation": 4, "inventories": {"VCPU": {"total": odd}}}
    with pytest.raises(PlacementUnavailable, match="total is not a 64-bit integer"):
        wire.parse_inventories(body)


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "true", "1" + "0" * 400])
def test_an_allocation_ratio_must_be_a_finite_number(odd):
    """Placement sends NaN, Infinity, true or a huge number as the allocation ratio. The agent rejects the response."""
    text = '{"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 8, "allocation_ratio": RATIO}}}'
    with pytest.raises(PlacementUnavailable, match="allocation_ratio"):
        wire.parse_inventories(json.loads(text.replace("RATIO", odd)))


def test_allocations_are_sorted_by_consumer_and_class():
    """The agent sorts the allocations in Placement's response by consumer and then by resource class."""
    body = {
        "resource_provider_generation": 12,
        "allocations": {
            UUID_B: {"resources": {"VCPU": 2}, "consumer_generation": 1},
            UUID_A: {"resources": {"VCPU": 4, "MEMORY_MB": 512}, "consumer_generation": 3},
        },
    }
    found = wire.parse_allocations(body, "rp", 1000)
    assert found.generation == 12
    assert [(a.consumer_uuid, a.consumer_generation, a.resource_class, a.amount) for a in found.allocations] == [
        (UUID_A, 3, "MEMORY_MB", 512),
        (UUID_A, 3, "VCPU", 4),
        (UUID_B, 1, "VCPU", 2),
    ]


def test_a_response_with_too_many_allocations_is_rejected():
    """A provider has 4 allocations. With a limit of 3 allocations, the agent rejects Placement's response."""
    held = {"resources": {"VCPU": 2, "DISK_GB": 1}, "consumer_generation": 1}
    body = {"resource_provider_generation": 12, "allocations": {UUID_A: held, UUID_B: held}}
    assert len(wire.parse_allocations(body, "rp", 4).allocations) == 4
    with pytest.raises(PlacementUnavailable, match=r"^placement: the provider has 4 allocations, but the limit .* 3$"):
        wire.parse_allocations(body, "rp", 3)


def test_a_consumer_is_read_with_all_its_allocations():
    """A consumer has allocations on two providers. The agent reads both from Placement's response."""
    body = {
        "allocations": {"rp2": {"generation": 9, "resources": {"VCPU": 1}}, "rp1": {"resources": {"VCPU": 2}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 2,
    }
    held = [("rp1", 2), ("rp2", 1)]
    assert wire.parse_consumer(body, UUID_A) == ConsumerRecord(
        consumer_uuid=UUID_A,
        generation=2,
        project_id="p",
        user_id="u",
        allocations=tuple(
            Allocation(
                consumer_uuid=UUID_A, consumer_generation=2, provider_uuid=rp, resource_class="VCPU", amount=amount
            )
            for rp, amount in held
        ),
    )


def test_an_empty_answer_means_no_allocations():
    """An empty answer of Placement about a consumer means that the consumer has no allocations."""
    assert wire.parse_consumer({"allocations": {}}, UUID_A) == ConsumerRecord(
        consumer_uuid=UUID_A, generation=None, project_id=None, user_id=None, allocations=()
    )


def provider(uuid: str, parent: str | None, name: str = "") -> Provider:
    return Provider(uuid=uuid, name=name or uuid, parent_uuid=parent, generation=0)


@given(st.permutations([provider("a", None), provider("z", "a"), provider("b", "z"), provider("c", "a")]))
def test_each_provider_is_listed_after_its_parent(providers):
    assert [p.uuid for p in wire.parents_first(providers)] == ["a", "c", "z", "b"]


def test_providers_that_form_a_loop_are_rejected():
    """Provider a is the parent of provider b, and b is the parent of a. The agent raises PlacementUnavailable."""
    with pytest.raises(PlacementUnavailable, match="loop"):
        wire.parents_first([provider("a", "b"), provider("b", "a")])


def test_microversion_1_9_is_lower_than_1_30():
    root = {"versions": [{"id": "v1.0", "max_version": "1.9"}]}
    assert wire.parse_maximum(root) < wire.Microversion(1, 30)


def test_the_parser_imports_no_logging_time_or_network():
    """The module that parses Placement's JSON does not import logging, time, socket or requests."""
    text = Path(wire.__file__).read_text()
    assert not [name for name in ("import logging", "import time", "import socket", "import requests") if name in text]
