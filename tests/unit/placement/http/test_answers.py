"""How HTTP and keystoneauth errors map to the agent's errors, and what an error message never contains."""

import json

import pytest
from keystoneauth1 import exceptions as kx

from agent.errors import (
    AllocationRefused,
    DuplicateName,
    GenerationConflict,
    InventoryInUse,
    PlacementDenied,
    PlacementRejected,
    PlacementUnavailable,
    ProviderInUse,
    Retry,
)
from agent.placement.http.answers import Reply, failure, quoted, refusal, written_of


def reply(status: int, code: str = "", request: str = "PUT /x", detail: str = "why") -> Reply:
    body = {"errors": [{"status": status, "code": code, "detail": detail}]}
    return Reply(request=request, status=status, text=json.dumps(body), request_id="req-server")


@pytest.mark.parametrize(
    ("modified", "date", "age_s"),
    [
        ("Wed, 25 Nov 2026 20:00:00 GMT", "Wed, 25 Nov 2026 20:01:05 GMT", 65.0),
        ("Wed, 25 Nov 2026 20:00:00 GMT", "Wed, 25 Nov 2026 19:59:58 GMT", -2.0),
        ("Wed, 25 Nov 2026 20:00:00 GMT", None, None),
        (None, "Wed, 25 Nov 2026 20:01:05 GMT", None),
        ("yesterday", "Wed, 25 Nov 2026 20:01:05 GMT", None),
        ("Wed, 25 Nov 2026 20:00:00", "Wed, 25 Nov 2026 20:01:05 GMT", None),
    ],
)
def test_the_age_of_a_response_comes_from_its_headers(modified, date, age_s):
    """The agent takes the age of Placement's response from the headers Date and Last-Modified."""
    found = written_of(modified, date)
    assert (found and found.age_s) == age_s
    assert found is None or found.at == modified


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "placement.undefined_code", PlacementRejected),
        (400, "placement.query.bad_value", PlacementRejected),
        (401, "", PlacementDenied),
        (403, "", PlacementDenied),
        (404, "placement.undefined_code", PlacementRejected),
        (406, "", PlacementRejected),
        (409, "placement.concurrent_update", GenerationConflict),
        (409, "placement.inventory.inuse", InventoryInUse),
        (409, "placement.duplicate_name", DuplicateName),
        (409, "placement.resource_provider.inuse", ProviderInUse),
        (409, "placement.resource_provider.cannot_delete_parent", ProviderInUse),
        (409, "placement.undefined_code", GenerationConflict),
        (302, "", PlacementUnavailable),
        (429, "", PlacementUnavailable),
        (500, "", PlacementUnavailable),
        (503, "", PlacementUnavailable),
    ],
)
def test_the_status_and_the_error_code_select_the_exception(status, code, kind):
    """The agent raises an exception according to the HTTP status and the error code of Placement's response."""
    error = refusal(reply(status, code))
    assert type(error) is kind
    assert (error.status, error.request_id) == (status, "req-server")


def test_a_full_provider_raises_allocation_refused():
    """Placement answers 409 to an allocation because the provider is full. The agent raises AllocationRefused."""
    full = "Unable to allocate inventory: Unable to create allocation for 'VCPU' on resource provider 'u'."
    error = refusal(reply(409, "placement.undefined_code", request="PUT http://p:8778/x/allocations/c", detail=full))
    assert (type(error), error.retry) == (AllocationRefused, Retry.NEVER)
    assert full in str(error)
    reshape = reply(409, "placement.undefined_code", request="POST http://p:8778/x/reshaper", detail=full)
    assert type(refusal(reshape)) is AllocationRefused
    for code in ("placement.concurrent_update", ""):
        assert type(refusal(reply(409, code, request="PUT http://p/allocations/c"))) is GenerationConflict
    other = reply(409, "placement.undefined_code", request="PUT http://p/resource_providers/u/allocations")
    assert type(refusal(other)) is GenerationConflict


def test_a_409_to_a_delete_raises_provider_in_use():
    """Placement answers 409 to the DELETE of a provider. The agent raises ProviderInUse."""
    assert type(refusal(reply(409, request="DELETE /resource_providers/u"))) is ProviderInUse


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (kx.ConnectFailure("refused"), PlacementUnavailable),
        (kx.ConnectTimeout("timed out"), PlacementUnavailable),
        (kx.SSLError("bad certificate"), PlacementUnavailable),
        (kx.UnknownConnectionError("odd", ValueError()), PlacementUnavailable),
        (kx.DiscoveryFailure("no versions"), PlacementUnavailable),
        (kx.EndpointNotFound("nothing"), PlacementUnavailable),
        (kx.EmptyCatalog("nothing"), PlacementUnavailable),
        (kx.MissingAuthPlugin("none"), PlacementDenied),
        (kx.AuthorizationFailure("no"), PlacementDenied),
        (kx.Unauthorized("wrong password"), PlacementDenied),
        (kx.NotFound("no such page"), PlacementDenied),
        (kx.InternalServerError("keystone broke"), PlacementUnavailable),
        (kx.ServiceUnavailable("keystone is away"), PlacementUnavailable),
        (kx.GatewayTimeout("keystone is slow"), PlacementUnavailable),
    ],
)
def test_keystoneauth_exceptions_become_errors_of_the_agent(raised, kind):
    """An exception of keystoneauth becomes the agent's PlacementUnavailable or PlacementDenied."""
    error = failure("GET /x", raised)
    assert type(error) is kind
    assert "GET /x" in str(error)


def test_a_keystone_401_error_shows_url_reason_and_advice():
    """If Keystone rejects the password, the agent's error contains the URL, the reason and the options to check."""
    raised = kx.Unauthorized("wrong password", url="http://keystone/v3/auth/tokens", request_id="req-1")
    assert str(failure("GET /", raised)) == (
        "placement: GET /: no token from Keystone at http://keystone/v3/auth/tokens: wrong password: "
        "check the credentials and the project in [placement]; `stocktake config show` names the file of each "
        "option (HTTP 401) [req-1]"
    )


def test_a_connection_error_shows_its_url_only_once():
    """The long text of a refused connection becomes a short error with one URL and "Connection refused"."""
    raised = kx.ConnectFailure(
        "Unable to establish connection to http://keystone.example.org:5000/v3/auth/tokens: "
        "HTTPConnectionPool(host='keystone.example.org', port=5000): Max retries exceeded with url: /v3/auth/tokens "
        "(Caused by NewConnectionError(\"HTTPConnection(host='keystone.example.org', port=5000): "
        'Failed to establish a new connection: [Errno 111] Connection refused"))'
    )
    text = str(failure("GET /", raised))
    assert "http://keystone.example.org:5000/v3/auth/tokens" in text
    assert "Connection refused" in text
    assert text.count("keystone.example.org") == 1, "host and port are said once"


def test_a_missing_endpoint_error_shows_endpoint_override():
    """If Keystone's catalog has no Placement endpoint, the agent's error shows the option endpoint_override."""
    assert "endpoint_override" in str(failure("GET /x", kx.EndpointNotFound()))


def test_credentials_in_a_url_are_masked_in_errors():
    """A URL in an error contains a user name and a password. The agent shows "***" in their place."""
    text = str(failure("GET /x", kx.ConnectFailure("no route to http://admin:hunter2@placement:8778/x")))
    assert "hunter2" not in text
    assert "//***@placement:8778" in text


def test_an_html_error_page_is_quoted_on_one_line():
    """A proxy answers with an HTML error page of 9000 characters.

    The agent's error quotes the page's beginning on one line.
    """
    page = Reply(request="GET /x", status=502, text="<html>\n<h1>Bad\tGateway</h1>" + "x" * 9000, request_id=None)
    error = refusal(page)
    assert type(error) is PlacementUnavailable
    assert "<html> <h1>Bad Gateway</h1>" in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 400


def test_deeply_nested_json_raises_placement_unavailable():
    with pytest.raises(PlacementUnavailable, match="not JSON"):
        Reply(request="GET /x", status=200, text="[" * 100_000, request_id=None).body()


def test_a_quoted_response_is_on_one_line():
    """If an error quotes Placement's response, line breaks and repeated spaces become single spaces."""
    assert quoted("  all \n of it ") == "all of it"
