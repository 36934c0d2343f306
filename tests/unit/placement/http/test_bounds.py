"""The bound on a response's size: the estimated memory against what CPython takes, and the needs of a large cloud."""

import gc
import json
import tracemalloc
import zlib

import pytest

from agent.placement.http.bounds import MIB, OWN, WHOLE_CLOUD, Bound, Tally

SIZE = MIB // 4
UUID = "%08x-58d1-4a5c-9a0e-0d1e2f3a4b5c"


def filled(piece: str) -> str:
    return "[" + ",".join([piece] * (SIZE // (len(piece) + 1))) + "]"


def numbered(piece: str, before: str, after: str) -> str:
    return before + ",".join(piece % number for number in range(SIZE // (len(piece) + 4))) + after


DOCUMENTS = {
    "empty lists": filled("[]"),
    "lists of one": filled("[300]"),
    "lists in lists": filled("[" * 900 + "]" * 900),
    "empty objects": filled("{}"),
    "objects of one": filled('{"a":300}'),
    "objects of six": filled('{"a":300,"b":300,"c":300,"d":300,"e":300,"f":300}'),
    "objects of one, all different": numbered('{"%x":300}', "[", "]"),
    "one large object": numbered('"%x":300', "{", "}"),
    "small integers": filled("1"),
    "integers": filled("1000000000"),
    "long integers": filled("9" * 4000),
    "floats": filled("1.5"),
    "short strings": filled('"ab"'),
    "long strings": filled('"' + "a" * 1000 + '"'),
    "a wide character": '"' + "a" * SIZE + '\U0001f600"',
    "a wide escape": '"' + "a" * SIZE + '\\ud83d\\ude00"',
    "accents": filled('"\u00e9"'),
    "escaped accents": filled('"\\u00e9"'),
}


def estimated(body: bytes, bound: Bound = OWN) -> Tally:
    """Return the transport's estimate of the body, counted in pieces of 10 KiB."""
    tally = Tally(bound)
    for start in range(0, len(body), 10240):
        tally.add(body[start : start + 10240])
    return tally


def taken_bytes(body: bytes) -> int:
    """Return the peak memory of the text and json.loads."""
    gc.collect()
    tracemalloc.start()
    try:
        text = body.decode()
        json.loads(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_parsing_json_uses_at_most_the_estimated_memory(kind):
    """The agent estimates the memory for a JSON response before it parses the response. The estimate is high enough."""
    body = DOCUMENTS[kind].encode()
    # The parser itself takes a few KiB, whatever it parses.
    assert taken_bytes(body) <= estimated(body).memory_bytes + 8192


def allocations(consumers: int) -> bytes:
    """Return Placement 16's response for a provider whose consumers have three classes each."""
    held = {"resources": {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 40}, "consumer_generation": 12}
    found = {UUID % number: held for number in range(consumers)}
    return json.dumps({"allocations": found, "resource_provider_generation": 6123}).encode()


def providers(count: int) -> bytes:
    """Return Placement 16's response for the list of all providers."""
    parts = ("self", "inventories", "usages", "aggregates", "traits", "allocations")
    listed = []
    for number in range(count):
        uuid = UUID % number
        at = f"/placement/resource_providers/{uuid}"
        links = [{"rel": part, "href": at if part == "self" else f"{at}/{part}"} for part in parts]
        listed.append(
            {
                "uuid": uuid,
                "name": f"compute-{number}.region-one.example.org",
                "generation": 6123,
                "links": links,
                "parent_provider_uuid": None,
                "root_provider_uuid": uuid,
            }
        )
    return json.dumps({"resource_providers": listed}).encode()


@pytest.mark.parametrize(
    ("body", "bound"),
    [(allocations(2000), OWN), (providers(1000), OWN), (allocations(20_000), OWN), (providers(90_000), WHOLE_CLOUD)],
    ids=["2,000 consumers", "1,000 providers", "20,000 consumers", "10,000 hosts with eight children"],
)
def test_the_responses_of_a_large_cloud_are_small_enough(body, bound):
    """Placement's responses for 90,000 providers or 20,000 consumers are within the agent's size limits."""
    tally = estimated(body, bound)
    assert tally.problem(None) is None
    assert tally.problem(len(zlib.compress(body, 9))) is None


def bound_of(size_bytes: int, memory_bytes: int = 1 << 40) -> Bound:
    return Bound(subject="a test", most_bytes=size_bytes, most_memory_bytes=memory_bytes, remedy="look there")


def test_the_error_for_a_too_large_response_shows_the_limit():
    """A response is larger than the agent's limit. The error shows the limit, its purpose, and advice."""
    tally = estimated(b" " * (MIB + 1), bound_of(MIB))
    assert tally.problem(None) == ("the answer is larger than 1 MiB, the limit for a test; look there")


def test_a_response_may_grow_a_hundredfold_when_unpacked():
    """The agent accepts a compressed response that unpacks to 100 times its size.

    It rejects a response that grows more.
    """
    tally = estimated(b" " * 100_000, bound_of(MIB))
    assert tally.problem(1000) is None
    assert "unpacks to more than 100 times its size" in (tally.problem(999) or "")


def test_a_response_is_rejected_if_parsing_needs_much_memory():
    """The agent rejects a small response if the JSON in it would need more memory than the limit allows."""
    tally = estimated(DOCUMENTS["empty lists"].encode(), bound_of(MIB, 2 * MIB))
    assert "needs more than 2 MiB of memory" in (tally.problem(None) or "")
