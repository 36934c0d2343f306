"""Tokens of a real Keystone: the client requests few, and one more if a token expires during an audit."""

import re

import pytest

from agent.errors import PlacementUnavailable
from agent.placement import wire
from agent.placement.http.client import MINIMUM
from agent.placement.reader import TreeReader
from tests.rigs.keystone import token_in_hand
from tests.rigs.placement import looking_at, new_uuid

pytestmark = pytest.mark.xdist_group("keystone")

AUDITS = 10


def ours(lines, pattern):
    """Return the log lines that match and come from the agent's client; the rig's client does not name stocktake."""
    return [line for line in lines if " stocktake" in line and re.search(pattern, line)]


def with_provider(cloud, client):
    uuid = new_uuid()
    client.post("/resource_providers", MINIMUM, {"uuid": uuid, "name": f"host-{uuid}"}, wire.parse_provider)
    return uuid


def put_vcpus(client, uuid, generation, total):
    body = {"resource_provider_generation": generation, "inventories": {"VCPU": {"total": total}}}
    return client.put(f"/resource_providers/{uuid}/inventories", MINIMUM, body, wire.parse_inventories)


def test_ten_reads_of_a_tree_need_one_keystone_token(cloud, account, client_with):
    """The agent keeps its token; only the first request to Placement needs Keystone."""
    client = client_with(**account.options(cloud.auth_url))
    before = len(cloud.keystone.asked())
    uuid = with_provider(cloud, client)
    reader = TreeReader(client)
    for _ in range(AUDITS):
        assert len(reader.view(looking_at(uuid)).providers) == 1
    asked = ours(cloud.keystone.asked()[before:], "")
    assert [line.split()[:3] for line in asked] == [["GET", "/v3", "200"], ["POST", "/v3/auth/tokens", "201"]]


def test_a_write_with_a_revoked_token_is_applied_once(cloud, account, client_with):
    """Placement answers a write with 401. The agent gets a new token and repeats the write, which takes effect once."""
    client = client_with(**account.options(cloud.auth_url))
    uuid = with_provider(cloud, client)
    reader = TreeReader(client)
    (provider,) = reader.view(looking_at(uuid)).providers
    keystone, placement = len(cloud.keystone.asked()), len(cloud.placement.asked())
    cloud.identity.revoke(token_in_hand(client))
    written = put_vcpus(client, uuid, provider.generation, 8)
    # Each write raises the provider's generation: two writes would have raised it by two.
    assert written.generation == provider.generation + 1
    puts = ours(cloud.placement.asked()[placement:], "^PUT")
    assert [line.split()[2] for line in puts] == ["401", "200"]
    assert len(ours(cloud.keystone.asked()[keystone:], "^POST /v3/auth/tokens 201")) == 1
    (provider,) = reader.view(looking_at(uuid)).providers
    assert [(i.resource_class, i.total) for i in provider.inventories] == [("VCPU", 8)]
    assert len(ours(cloud.keystone.asked()[keystone:], "^POST /v3/auth/tokens")) == 1


def test_a_placement_read_fails_while_keystone_is_down(cloud, account, client_with):
    """The agent reports that Placement is unavailable, and reads its providers again after Keystone's start."""
    client = client_with(**account.options(cloud.auth_url, status_code_retries=0))
    uuid = with_provider(cloud, client)
    reader = TreeReader(client)
    cloud.keystone.stop()
    try:
        # Placement cannot check the agent's token now, and answers 503.
        with pytest.raises(PlacementUnavailable) as raised:
            reader.view(looking_at(uuid))
        assert raised.value.status == 503
        with pytest.raises(PlacementUnavailable, match="Connection refused"):
            client_with(**account.options(cloud.auth_url)).maximum()
    finally:
        cloud.keystone.start()
    assert len(reader.view(looking_at(uuid)).providers) == 1
