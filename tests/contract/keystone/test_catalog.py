"""A real catalog: which endpoint the client takes, its error if there is none, and how it finds a moved endpoint."""

import contextlib

import pytest

from agent.errors import PlacementUnavailable
from agent.placement import wire
from agent.placement.http import catalog
from agent.placement.http.client import MINIMUM
from tests.rigs.gateway import gateway
from tests.rigs.keystone import INTERFACES
from tests.rigs.mariadb import free_port
from tests.rigs.placement import new_uuid

pytestmark = pytest.mark.xdist_group("keystone")

LISTING = "/resource_providers?name=nobody"
NO_RETRIES = {"connect_retries": 0, "status_code_retries": 0}


def listed(client):
    return client.get(LISTING, MINIMUM, wire.parse_providers)


def token_requests(cloud):
    return len([line for line in cloud.keystone.asked() if line.startswith("POST /v3/auth/tokens")])


@pytest.fixture
def doors(cloud):
    """A region whose public, internal and admin endpoint are three ports before the same Placement."""
    region = cloud.identity.make_region()
    with contextlib.ExitStack() as stack:
        opened = {name: stack.enter_context(gateway(cloud.placement.url)) for name in INTERFACES}
        for name, door in opened.items():
            cloud.identity.make_endpoint(cloud.service, name, door.url, region)
        yield region, opened


@pytest.mark.parametrize(
    ("valid_interfaces", "taken"),
    [
        (None, "internal"),
        ("internal,public", "internal"),
        ("public,internal", "public"),
        ("admin", "admin"),
        ("public", "public"),
    ],
)
def test_the_client_uses_the_first_of_valid_interfaces(cloud, account, doors, client_with, valid_interfaces, taken):
    """Keystone's catalog has three endpoints of Placement; the agent uses the first interface in valid_interfaces."""
    region, opened = doors
    options = {"region_name": region} | ({"valid_interfaces": valid_interfaces} if valid_interfaces else {})
    assert listed(client_with(**account.options(cloud.auth_url, **options))) == ()
    assert [name for name, door in opened.items() if door.seen] == [taken]


def test_the_public_endpoint_is_used_if_internal_is_missing(cloud, account, client_with):
    """If Keystone's catalog lacks an internal endpoint, the agent uses the public endpoint.

    With valid_interfaces = internal, this is an error.
    """
    region = cloud.identity.make_region()
    cloud.identity.make_endpoint(cloud.service, "public", cloud.placement.url, region)
    assert listed(client_with(**account.options(cloud.auth_url, region_name=region))) == ()
    only_internal = client_with(
        **account.options(cloud.auth_url, region_name=region, valid_interfaces="internal"), **NO_RETRIES
    )
    with pytest.raises(PlacementUnavailable, match=f"no internal endpoint.*region {region}, only public there"):
        listed(only_internal)


def test_the_client_uses_the_endpoint_of_the_configured_region(cloud, account, doors, client_with):
    region, opened = doors
    assert listed(client_with(**account.options(cloud.auth_url))) == ()
    assert not any(door.seen for door in opened.values())
    assert listed(client_with(**account.options(cloud.auth_url, region_name=region))) == ()
    assert opened["internal"].seen


def test_the_error_for_an_unknown_region_lists_the_regions(cloud, account, client_with):
    """If [placement] region_name is unknown, the agent's error lists the regions with an endpoint of Placement."""
    kind = f"placement-{new_uuid()}"
    service, regions = cloud.identity.make_service(kind), sorted(cloud.identity.make_region() for _ in range(2))
    for region in regions:
        cloud.identity.make_endpoint(service, "internal", cloud.placement.url, region)
    with pytest.raises(PlacementUnavailable) as raised:
        listed(client_with(**account.options(cloud.auth_url, region_name="RegionTow", service_type=kind)))
    said = str(raised.value)
    assert f"no internal or public endpoint of service type {kind} in region RegionTow" in said
    assert f"only in {', '.join(regions)}:" in said
    assert "region_name" in said


def test_s152_an_unknown_service_type_raises_an_error(cloud, account, client_with):
    """If Keystone's catalog lacks [placement] service_type, the agent reports that Placement is unavailable."""
    with pytest.raises(PlacementUnavailable, match=r"type no-such-thing.*and the catalog has no other endpoint"):
        listed(client_with(**account.options(cloud.auth_url, service_type="no-such-thing")))


def test_endpoint_override_replaces_the_catalog_url(cloud, account, client_with):
    """The agent sends requests to [placement] endpoint_override, and still gets its token from Keystone."""
    with gateway(cloud.placement.url) as door:
        overridden = account.options(cloud.auth_url, region_name="RegionTow", endpoint_override=door.url)
        assert listed(client_with(**overridden)) == ()
        assert door.seen


def test_the_next_request_finds_a_new_endpoint(cloud, account, client_with):
    """A request fails because the catalog has no endpoint of Placement.

    After one is added, the next request succeeds.
    """
    region = cloud.identity.make_region()
    client = client_with(**account.options(cloud.auth_url, region_name=region))
    with pytest.raises(PlacementUnavailable, match="endpoint_override"):
        listed(client)
    cloud.identity.make_endpoint(cloud.service, "internal", cloud.placement.url, region)
    assert listed(client) == ()


def test_s152_a_moved_endpoint_is_found_after_one_failure(cloud, account, client_with):
    """Placement gets a new URL in Keystone's catalog. One request to the old URL fails; the next uses the new URL."""
    region = cloud.identity.make_region()
    with gateway(cloud.placement.url) as old:
        endpoint = cloud.identity.make_endpoint(cloud.service, "internal", old.url, region)
        client = client_with(**account.options(cloud.auth_url, region_name=region), **NO_RETRIES)
        assert listed(client) == ()
    client._session.close()
    cloud.identity.move_endpoint(endpoint, cloud.placement.url)
    with pytest.raises(PlacementUnavailable, match=old.url):
        listed(client)
    assert listed(client) == ()


def test_five_placement_failures_cause_one_token_request(cloud, account, client_with, monkeypatch):
    """While Placement is down, the agent requests a new token from Keystone once, and not at every failure."""
    region = cloud.identity.make_region()
    with gateway(cloud.placement.url) as old:
        endpoint = cloud.identity.make_endpoint(cloud.service, "internal", old.url, region)
        client = client_with(**account.options(cloud.auth_url, region_name=region), **NO_RETRIES)
        assert listed(client) == ()
        before = token_requests(cloud)
    client._session.close()
    cloud.identity.move_endpoint(endpoint, f"http://127.0.0.1:{free_port()}")
    for _ in range(5):
        with pytest.raises(PlacementUnavailable):
            listed(client)
    assert token_requests(cloud) - before == 1
    # The endpoint moves some time after it disappeared, as in an evacuation of its host.
    cloud.identity.move_endpoint(endpoint, cloud.placement.url)
    monkeypatch.setattr(catalog, "CATALOG_RETRY_S", 0.0)
    with pytest.raises(PlacementUnavailable):
        listed(client)
    assert listed(client) == ()
