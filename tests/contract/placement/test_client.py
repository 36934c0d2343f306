"""The client against a real Placement: every error the server can be made to return, the rest by injected faults."""

import socket
import threading
import time

import pytest
from keystoneauth1 import exceptions as kx
from keystoneauth1.identity import generic

from agent.errors import (
    ConfigError,
    DuplicateName,
    GenerationConflict,
    InventoryInUse,
    PlacementDenied,
    PlacementRejected,
    PlacementUnavailable,
    ProviderInUse,
)
from agent.placement import wire
from agent.placement.http.access import client_from_conf
from agent.placement.http.answers import failure
from agent.placement.http.catalog import CatalogAdapter
from agent.placement.http.client import MINIMUM
from agent.placement.http.session import TokenSession
from tests.rigs.faults import (
    Answer,
    LoseAnswer,
    Refuse,
    ScriptedAdapter,
    Truncate,
    Weather,
    always,
    impatient,
    on_match,
    on_write,
    proxied,
)
from tests.rigs.mariadb import free_port
from tests.rigs.placement import client_of, conf_of, new_uuid

LISTING = "/resource_providers?name=nobody"
QUICK = {"connect_retry_delay": 0.01, "status_code_retry_delay": 0.01}
HTML = b"<html><body><h1>502 Bad Gateway</h1>\nnginx</body></html>"


def listed(client, path=LISTING):
    return client.get(path, MINIMUM, wire.parse_providers)


def put_inventories(client, uuid, generation, **totals):
    body = {
        "resource_provider_generation": generation,
        "inventories": {name: {"total": total} for name, total in totals.items()},
    }
    return client.put(f"/resource_providers/{uuid}/inventories", MINIMUM, body, wire.parse_inventories)


def create(client, uuid, name):
    return client.post("/resource_providers", MINIMUM, {"uuid": uuid, "name": name}, wire.parse_provider)


# Answers of a real server.


def test_a_stale_inventory_generation_raises_a_conflict(rest, client):
    """Another client changed the provider's inventory since the agent read it.

    The agent's write raises GenerationConflict.
    """
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 4}})
    with pytest.raises(GenerationConflict) as raised:
        put_inventories(client, uuid, 0, VCPU=8)
    assert raised.value.status == 409
    assert raised.value.request_id.startswith("req-")
    assert raised.value.request_id in str(raised.value)


@pytest.mark.parametrize(("part", "key"), [("traits", "traits"), ("aggregates", "aggregates")])
def test_a_write_with_a_stale_generation_raises_a_conflict(rest, client, part, key):
    """Another client changed the provider. The agent's write of traits or aggregates raises GenerationConflict."""
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 4}})
    with pytest.raises(GenerationConflict):
        client.put(
            f"/resource_providers/{uuid}/{part}", MINIMUM, {"resource_provider_generation": 0, key: []}, lambda b: b
        )


def test_removing_a_resource_class_in_use_raises_an_error(rest, client):
    """Placement refuses to remove VCPU from an inventory while an allocation uses it; the agent's error says so."""
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 4}, "DISK_GB": {"total": 4}})
    rest.allocate({uuid: {"VCPU": 1}})
    with pytest.raises(InventoryInUse, match="VCPU"):
        put_inventories(client, uuid, rest.generation(uuid), DISK_GB=4)


def test_creating_a_provider_with_a_taken_name_raises_an_error(rest, client):
    uuid = rest.make_provider()
    with pytest.raises(DuplicateName, match=f"host-{uuid}"):
        create(client, new_uuid(), f"host-{uuid}")


def test_deleting_a_provider_with_allocations_raises_an_error(rest, client):
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 4}})
    rest.allocate({uuid: {"VCPU": 1}})
    with pytest.raises(ProviderInUse):
        client.delete(f"/resource_providers/{uuid}", MINIMUM)


def test_deleting_a_provider_with_children_raises_an_error(rest, client):
    uuid = rest.make_provider()
    rest.make_provider(parent=uuid)
    with pytest.raises(ProviderInUse):
        client.delete(f"/resource_providers/{uuid}", MINIMUM)


def test_the_error_for_a_bad_request_shows_placements_message(rest, client):
    """The agent sends an inventory with total 0; the error contains Placement's "0 is less than the minimum of 1"."""
    uuid = rest.make_provider()
    with pytest.raises(PlacementRejected, match=r"0 is less than the minimum of 1.*HTTP 400.*req-"):
        put_inventories(client, uuid, 0, VCPU=0)


def test_a_request_for_an_unknown_provider_fails_with_404(client):
    with pytest.raises(PlacementRejected) as raised:
        client.get(f"/resource_providers/{new_uuid()}/inventories", MINIMUM, wire.parse_inventories)
    assert raised.value.status == 404


def test_an_unsupported_microversion_is_rejected_with_406(client):
    with pytest.raises(PlacementRejected) as raised:
        client.get(LISTING, wire.Microversion(1, 999), wire.parse_providers)
    assert raised.value.status == 406


def test_a_request_without_a_token_is_denied_with_403(rest, tmp_path):
    """With auth_type = none the agent sends no token. A Placement server that expects one refuses the request."""
    client = client_of(tmp_path, rest.server.url, auth_type="none", endpoint_override=rest.server.url)
    with pytest.raises(PlacementDenied) as raised:
        listed(client)
    assert raised.value.status == 403


def test_a_denied_http_basic_login_does_not_show_the_password(rest, tmp_path):
    """Placement answers 401 to auth_type = http_basic; the agent's error does not contain the password."""
    client = client_of(tmp_path, rest.server.url, auth_type="http_basic", username="joe", password="hunter2-secret")
    with pytest.raises(PlacementDenied) as raised:
        listed(client)
    assert raised.value.status == 401
    assert "hunter2" not in str(raised.value)


def test_the_agent_needs_no_keystone_with_an_admin_token(rest, tmp_path):
    """The agent needs no Keystone if [placement] has an admin token and endpoint_override."""
    client = client_of(tmp_path, rest.server.url, endpoint_override=rest.server.url)
    assert listed(client) == ()


# Requests: their number, and their headers.


def test_the_client_requests_the_server_versions_once(rest, tmp_path):
    """The agent asks Placement for the supported microversions before its first request, and not before later ones."""
    client = client_of(tmp_path, rest.server.url)
    with rest.watched() as seen, client.global_request_id():
        listed(client)
        listed(client)
    assert seen == ["GET / 200", f"GET {LISTING} 200", f"GET {LISTING} 200"]
    assert client.requests == 3
    assert client.maximum() >= (1, 36)


def test_a_nested_task_keeps_the_global_request_id(rest, client):
    """The agent starts a task within another task, and sends Placement the same global request id for both."""
    request_id = f"req-{new_uuid()}"
    with client.global_request_id(request_id):
        listed(client)
        with client.global_request_id() as inner:
            listed(client)
    assert inner == request_id
    assert [line.split()[4] for line in rest.log()[-2:]] == [request_id, request_id]


def test_each_task_gets_a_new_global_request_id(rest, client):
    """The client makes a new id for each task of the agent, and sends the id to Placement with the task's requests."""
    ids = []
    for _ in range(2):
        with client.global_request_id() as request_id:
            listed(client)
        ids.append(request_id)
    assert ids[0] != ids[1]
    assert [line.split()[4] for line in rest.log()[-2:]] == ids


def test_a_placement_below_microversion_1_30_is_rejected(rest, tmp_path):
    """Placement supports microversions up to 1.29 only; the error says that the agent needs 1.30."""
    root = b'{"versions":[{"id":"v1.0","min_version":"1.0","max_version":"1.29","status":"CURRENT"}]}'
    transport = ScriptedAdapter(always(Answer(200, root)))
    client = client_of(tmp_path, rest.server.url, transport)
    with pytest.raises(PlacementRejected, match=r"up to 1\.29, the agent needs 1\.30"):
        listed(client)
    transport.script = lambda _request: None
    assert listed(client) == ()


# Injected faults.


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        (Refuse(), PlacementUnavailable, "Connection refused"),
        (LoseAnswer(), PlacementUnavailable, "timed out"),
        (Answer(503, b""), PlacementUnavailable, "HTTP 503"),
        (Answer(500, b'{"errors":[{"detail":"database is locked"}]}'), PlacementUnavailable, "database is locked"),
        (Answer(429, b"{}", (("Retry-After", "1"),)), PlacementUnavailable, "HTTP 429"),
        (Answer(502, HTML), PlacementUnavailable, "502 Bad Gateway"),
        (Answer(200, HTML), PlacementUnavailable, "not JSON"),
        (Answer(200, b""), PlacementUnavailable, "not understood"),
        (Answer(200, b"[]"), PlacementUnavailable, "not understood"),
        (Answer(302, b""), PlacementUnavailable, "HTTP 302"),
        (Truncate(20), PlacementUnavailable, "not JSON"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | type) else "",
)
def test_a_failed_request_raises_placement_unavailable(rest, tmp_path, fault, kind, says):
    """For example, Placement refuses the connection, answers 503 or sends no JSON. The error shows the reason."""
    after_root = on_match(1, lambda _request: False, fault)
    transport = ScriptedAdapter(after_root)
    client = client_of(tmp_path, rest.server.url, transport, **QUICK)
    client.maximum()
    transport.script = always(fault)
    with pytest.raises(kind, match=says) as raised:
        listed(client)
    assert LISTING in str(raised.value)
    assert "admin" not in str(raised.value)


def test_a_failing_get_request_is_sent_three_times(rest, tmp_path):
    for fault in (Refuse(), Answer(503)):
        transport = ScriptedAdapter(always(fault))
        client = client_of(tmp_path, rest.server.url, transport, **QUICK)
        with pytest.raises(PlacementUnavailable):
            listed(client)
        assert len(transport.sent) == client.requests == 3


@pytest.mark.parametrize("fault", [Refuse(), Answer(503), LoseAnswer()])
def test_a_failing_write_request_is_sent_once(rest, tmp_path, fault):
    """The agent does not repeat a write after an error, because Placement may have carried out the write."""
    transport = ScriptedAdapter(on_write(1, fault))
    client = client_of(tmp_path, rest.server.url, transport, **QUICK)
    uuid = rest.make_provider()
    with pytest.raises(PlacementUnavailable):
        put_inventories(client, uuid, 0, VCPU=8)
    assert [method for method, _ in transport.sent] == ["GET", "PUT"]
    assert bool(rest.inventories(uuid)) is isinstance(fault, LoseAnswer)


def test_a_refused_connection_raises_placement_unavailable(tmp_path):
    client = client_of(tmp_path, f"http://127.0.0.1:{free_port()}", **QUICK)
    with pytest.raises(PlacementUnavailable, match="refused"):
        listed(client)


def test_a_request_on_a_silent_connection_ends_at_the_timeout(rest, tmp_path):
    """The connection to Placement stays open and no answer arrives; the agent raises an error at its timeout."""
    port = int(rest.server.url.rpartition(":")[2])
    with proxied(("127.0.0.1", port)) as proxy:
        client = client_of(tmp_path, proxy.url, timeout=60, connect_retries=0)
        assert listed(client) == ()
        proxy.weather = Weather.SILENT
        began = time.monotonic()
        with impatient(client, 0.5), pytest.raises(PlacementUnavailable, match="timed out"):
            listed(client)
        assert time.monotonic() - began < 30
        proxy.drop_all()
        proxy.weather = Weather.FAIR
        assert listed(client) == ()


@pytest.mark.parametrize("weather", [Weather.RESET_AFTER_SEND, Weather.CLOSED])
def test_a_broken_connection_raises_placement_unavailable(rest, tmp_path, weather):
    """A request raises PlacementUnavailable if the server closes or resets the connection."""
    port = int(rest.server.url.rpartition(":")[2])
    with proxied(("127.0.0.1", port), weather) as proxy:
        client = client_of(tmp_path, proxy.url, connect_retries=0)
        with pytest.raises(PlacementUnavailable):
            listed(client)
        proxy.weather = Weather.FAIR
        assert listed(client) == ()


def test_a_truncated_answer_raises_placement_unavailable(tmp_path):
    """Placement's server closes the connection in the middle of its answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"versions":[')

        thread = threading.Thread(target=serve)
        thread.start()
        client = client_of(
            tmp_path, f"http://127.0.0.1:{server.getsockname()[1]}", connect_retries=0, status_code_retries=0
        )
        with pytest.raises(PlacementUnavailable):
            client.maximum()
        thread.join(10)


def test_a_connection_closed_by_the_server_is_opened_again(rest, tmp_path):
    """The server may close an idle connection; the agent's next read or write still succeeds."""
    port = int(rest.server.url.rpartition(":")[2])
    with proxied(("127.0.0.1", port)) as proxy:
        client = client_of(tmp_path, proxy.url, connect_retry_delay=0.01)
        uuid = rest.make_provider()
        for _ in range(3):
            listed(client)
            proxy.drop_all()
        listed(client)
        assert put_inventories(client, uuid, 0, VCPU=8).generation == 1


def test_a_keystone_connection_error_omits_the_password(tmp_path):
    """If the agent cannot connect to Keystone, its error does not contain the configured password."""
    conf = conf_of(
        tmp_path,
        auth_type="password",
        auth_url=f"http://127.0.0.1:{free_port()}/v3",
        username="placement",
        password="hunter2-secret",
        project_name="service",
        user_domain_name="Default",
        project_domain_name="Default",
    )
    client = client_from_conf(conf)
    with pytest.raises(PlacementUnavailable) as raised:
        listed(client)
    assert "hunter2" not in str(raised.value)


def test_the_error_for_a_wrong_url_mentions_endpoint_override(rest, tmp_path):
    """If the path of Placement's URL is wrong, the error says to check endpoint_override or the URL in the catalog."""
    client = client_of(tmp_path, f"{rest.server.url}/nowhere")
    with pytest.raises(PlacementUnavailable) as raised:
        listed(client)
    assert raised.value.status == 404
    assert "the answer is not Placement's root document" in str(raised.value)
    assert "check the path of [placement] endpoint_override or of the catalog's URL" in str(raised.value)


# Configuration.


def test_an_unset_auth_type_raises_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match=r"\[placement\] auth_type is not set"):
        client_from_conf(conf_of(tmp_path))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"auth_type": "noauth"}, "noauth"),
        ({"auth_type": "admin_token", "token": "t"}, "endpoint_override is not set"),
        ({"auth_type": "admin_token", "endpoint": "http://127.0.0.1:1"}, "token is not set"),
        ({"auth_type": "http_basic", "username": "joe"}, "endpoint_override is not set"),
        (
            {"auth_type": "none", "endpoint_override": "placement.example"},
            r"conf: \[placement\] endpoint_override = placement.example: not a URL",
        ),
        (
            {"auth_type": "none", "endpoint": "placement.example"},
            r"\[placement\] endpoint = placement.example: not a URL",
        ),
        (
            {"auth_type": "none", "endpoint_override": "http//p"},
            r"endpoint_override = http//p: not a URL",
        ),
        (
            {"auth_type": "none", "endpoint_override": "https://p", "cafile": "/nowhere.pem"},
            r"cafile = /nowhere.pem: No such",
        ),
        ({"auth_type": "none", "endpoint": "http://127.0.0.1:1", "timeout": "soon"}, "timeout"),
        ({"auth_type": "none", "endpoint": "http://127.0.0.1:1", "valid_interfaces": "up"}, "valid_interfaces"),
    ],
)
def test_the_error_for_a_wrong_option_contains_its_name(tmp_path, options, says):
    """If an option in [placement] is missing or invalid, the agent's error contains the option's name."""
    with pytest.raises(ConfigError, match=says) as raised:
        client_from_conf(conf_of(tmp_path, **options))
    assert "[placement]" in str(raised.value)


def test_an_invalid_auth_url_is_reported_as_such():
    """If auth_url lacks http://, the error says that the URL is not valid, and does not mention the catalog."""
    auth = generic.Password("keystone.example.org:5000/v3", username="nova", password="hunter2-secret")
    adapter = CatalogAdapter(TokenSession(auth=auth), service_type="placement", raise_exc=False)
    with pytest.raises(kx.DiscoveryFailure) as raised:
        adapter.request("/", "GET")
    said = str(failure("GET /", raised.value))
    assert "no token from Keystone at keystone.example.org:5000/v3: the URL of the token request is not valid" in said
    assert not any(word in said for word in ("catalog", "project_name", "hunter2"))


def test_auth_section_refers_to_the_section_with_the_token(rest, tmp_path):
    """With [placement] auth_section = shared, the agent reads auth_type, token and endpoint from [shared]."""
    conf = conf_of(tmp_path, auth_section="shared", endpoint_override=rest.server.url)
    with (tmp_path / "more.conf").open("w") as file:
        file.write(f"[shared]\nauth_type = admin_token\ntoken = admin\nendpoint = {rest.server.url}\n")
    conf([], default_config_files=[*conf.config_file, str(tmp_path / "more.conf")])
    assert listed(client_from_conf(conf)) == ()


def test_the_default_timeout_is_10_s_with_2_retries(tmp_path):
    """By default, a request to Placement has a timeout of 10 s and is repeated at most twice."""
    options = conf_of(tmp_path, auth_type="none").placement
    assert (options.service_type, options.valid_interfaces) == ("placement", ["internal", "public"])
    assert (options.timeout, options.connect_retries, options.status_code_retries) == (10.0, 2, 2)
