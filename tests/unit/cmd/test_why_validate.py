"""The error for an unknown uuid: it suggests a known uuid for a typing error, and nothing for a random uuid."""

import random
import uuid

import pytest

from agent.cmd.why_validate import mistyped, unknown_aggregate
from agent.model.resource_request import RequestGroup, ResourceRequest

A = "5b1d7c1e-9f0a-4c3d-8a51-0123456789ab"
ELSEWHERE = str(uuid.UUID(int=random.Random(7).getrandbits(128)))


@pytest.mark.parametrize(
    "typed",
    ["5b1d7c1e-9f0a-4c3d-8a51-0123456789ac", "b51d7c1e-9f0a-4c3d-8a51-0123456789ab"],
    ids=["a digit", "two the wrong way round"],
)
def test_a_known_uuid_is_suggested_for_a_mistyped_uuid(typed):
    """The operator typed one digit of a UUID wrong, or swapped two; the agent suggests the UUID that is meant."""
    assert mistyped(typed, [ELSEWHERE, A]) == A


def test_no_uuid_is_suggested_if_three_characters_are_wrong():
    assert mistyped(A[:-3] + "fff", [A]) is None
    assert mistyped(A, []) is None


def test_no_uuid_is_suggested_if_no_known_uuid_is_similar():
    """The agent suggests a known UUID only if it is similar to the UUID that the operator typed."""
    known = [str(uuid.UUID(int=random.Random(seed).getrandbits(128))) for seed in range(200)]
    assert [mistyped(A, known), mistyped(known[0], known[1:])] == [None, None]


def test_the_most_similar_uuid_is_suggested_for_a_typing_error():
    one_off, two_off = A[:-1] + "c", A[:-2] + "cc"
    assert mistyped(A, [two_off, one_off]) == one_off


def test_the_error_for_an_unknown_aggregate_suggests_a_fix():
    """For an unknown aggregate the message suggests `nova-manage placement sync_aggregates`, or a similar UUID."""
    wanted = ResourceRequest(groups=(RequestGroup(member_of=(frozenset({A, ELSEWHERE}),)),))
    forbidden = ResourceRequest(groups=(RequestGroup(forbidden_aggregates=frozenset({A})),))
    said = (
        f"unknown aggregate {A}: no provider is in this aggregate; if nova has this aggregate, sync the aggregate's "
        "hosts with nova-manage placement sync_aggregates"
    )
    assert unknown_aggregate(wanted, A, [ELSEWHERE]) == said
    assert unknown_aggregate(forbidden, A, []) == f"{said}; without !{A}, the request has the same result"
    near = A[:-1] + "c"
    assert f"no provider is in this aggregate (did you mean {near}?); if nova" in unknown_aggregate(wanted, A, [near])
