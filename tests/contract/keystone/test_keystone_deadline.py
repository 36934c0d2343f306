"""A Keystone that answers one byte now and then: a request to Placement that needs a token still ends in time."""

import pytest

from agent.errors import PlacementUnavailable
from agent.placement import wire
from agent.placement.http.client import MINIMUM
from agent.placement.http.throttled_session import TIMEOUTS_A_QUESTION
from tests.rigs.faults import Weather, proxied
from tests.rigs.stopwatch import SLACK_S, lap
from tests.rigs.tls import Authority, tls_before

pytestmark = pytest.mark.xdist_group("keystone")

TIMEOUT_S = 2.0
BOUND_S = TIMEOUTS_A_QUESTION * TIMEOUT_S
BYTE_EVERY_S = 1.0


def listed(client):
    return client.get("/resource_providers?name=nobody", MINIMUM, wire.parse_providers)


def late(client):
    """Send two requests, check that they fail in time; return the longest time."""
    laps = [lap(lambda: listed(client)) for _ in range(2)]
    assert all(isinstance(one.error, PlacementUnavailable) for one in laps)
    assert max(one.took_s for one in laps) <= BOUND_S + SLACK_S
    return max(one.took_s for one in laps)


def trickle(proxy, quick_answers):
    proxy.weather, proxy.delay_s, proxy.quick_answers = Weather.TRICKLE, BYTE_EVERY_S, quick_answers


def port_of(url):
    return int(url.rpartition(":")[2].partition("/")[0])


@pytest.mark.parametrize(("phase", "path"), [("versions", ""), ("token", "/v3")])
def test_a_request_fails_at_its_deadline_if_keystone_is_slow(cloud, account, client_with, phase, path):
    """Keystone sends its answer one byte at a time. The agent's request to Placement then fails at its deadline."""
    with proxied(("127.0.0.1", port_of(cloud.keystone.url))) as proxy:
        options = account.options(proxy.url + path) | ({"auth_type": "v3password"} if path else {})
        client = client_with(**options, timeout=TIMEOUT_S)
        trickle(proxy, 0)
        print(f"keystone {phase}: {late(client):.2f} s")
        proxy.weather, proxy.delay_s = Weather.FAIR, 0.0
        assert listed(client) == ()


def test_a_slow_keystone_tls_handshake_ends_at_the_deadline(cloud, account, client_with, tmp_path):
    """Keystone's TLS handshake arrives very slowly, byte by byte. The agent's request fails at its deadline."""
    authority = Authority(tmp_path / "ca")
    with (
        tls_before(cloud.keystone.url, authority.certificate("keystone")) as door,
        proxied(("127.0.0.1", port_of(door.url))) as proxy,
    ):
        auth_url = proxy.url.replace("http:", "https:") + "/v3"
        client = client_with(**account.options(auth_url, cafile=authority.path), timeout=TIMEOUT_S)
        trickle(proxy, 0)
        print(f"keystone TLS: {late(client):.2f} s")
        proxy.weather, proxy.delay_s = Weather.FAIR, 0.0
        assert listed(client) == ()
