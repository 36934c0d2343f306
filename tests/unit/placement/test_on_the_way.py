"""Responses that are not Placement's own: the agent must not mistake a proxy's page or redirect for an answer."""

import json
from urllib.parse import urlsplit

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.errors import PlacementDenied, PlacementRejected, PlacementUnavailable
from agent.placement.http.answers import Reply, TokenMoved, failure, onward, onward_with_password, refusal

HERE = "http://placement.example:8778/placement/resource_providers?in_tree=u"


def reply(status: int, text: str, **changes) -> Reply:
    return Reply(request=f"GET {HERE}", status=status, text=text, request_id=None, **changes)


@pytest.mark.parametrize("status", [404, 405, 410])
def test_a_404_from_a_proxy_raises_placement_unavailable(status):
    """A proxy answers 404 in Placement's place. The agent raises PlacementUnavailable."""
    own = json.dumps({"errors": [{"status": status, "code": "placement.undefined_code", "detail": "No such provider"}]})
    assert type(refusal(reply(status, own))) is PlacementRejected
    for page in ("", "<html>404</html>", '{"message": "no Route matched"}', "[]", '{"errors": []}'):
        error = refusal(reply(status, page))
        assert type(error) is PlacementUnavailable
        assert "not Placement's own answer: check the path of [placement] endpoint_override" in str(error)


def test_the_error_repeats_the_message_of_a_gateway():
    """An API gateway answers 503 with a JSON message. The agent's error repeats the message."""
    assert "no Route matched" in str(refusal(reply(503, '{"message": "no Route matched"}')))


@pytest.mark.parametrize("page", ["", "<html>413</html>", '{"errors": [{"detail": "too large"}]}'])
def test_the_error_for_a_413_shows_the_size_of_the_request(page):
    """If a server refuses a request of 70000 bytes with 413, the agent's error contains the number 70000."""
    error = refusal(reply(413, page, sent_bytes=70000))
    assert type(error) is PlacementRejected
    assert "must accept requests of 70000 bytes" in str(error)


def test_the_error_for_a_redirect_shows_a_url_without_secrets():
    """The agent's error about a redirect shows the new URL, and leaves out the password and the query."""
    error = refusal(reply(302, "", location="https://joe:hunter2@login.example/sso?token=s3cr3t#x"))
    assert type(error) is PlacementUnavailable
    assert "the URL redirects to https://***@login.example/sso: put" in str(error)


def test_a_token_in_an_error_page_is_masked():
    """An error page repeats the agent's token. None of the agent's error messages shows the token."""
    token = "a-token-of-no-known-form"
    for status, page in ((500, f"you sent {token}"), (400, json.dumps({"errors": [{"detail": token}]}))):
        assert token not in str(refusal(reply(status, page, secrets=(token,))))
    with pytest.raises(PlacementUnavailable) as raised:
        reply(200, f"<b>{token}", secrets=(token,)).body()
    assert token not in str(raised.value)


def test_a_403_from_a_proxy_raises_placement_denied():
    """A proxy before Placement answers 403 with HTML. The agent raises PlacementDenied, as for a 403 from Placement."""
    assert type(refusal(reply(403, "<html>blocked</html>"))) is PlacementDenied


@pytest.mark.parametrize(
    ("location", "goes_to"),
    [
        ("/x?y=1", "http://placement.example:8778/x?y=1"),
        ("https://placement.example/x", "https://placement.example/x"),
        ("http://PLACEMENT.example:9000/x", "http://PLACEMENT.example:9000/x"),
        ("//placement.example/x", "http://placement.example/x"),
        ("http://elsewhere.example/x", None),
        ("//elsewhere.example/x", None),
        ("http://joe@placement.example/x", None),
        ("ftp://placement.example/x", None),
        ("", None),
        (None, None),
    ],
)
def test_a_redirect_is_followed_only_to_the_same_host(location, goes_to):
    assert onward(307, HERE, location) == goes_to


@pytest.mark.parametrize("status", [200, 300, 303, 304, 305, 404])
def test_only_301_302_307_and_308_redirects_are_followed(status):
    """The agent ignores the Location header of any other response, such as 200, 303 or 404."""
    assert onward(status, HERE, "/x") is None


def test_a_redirect_to_an_invalid_url_is_not_followed():
    assert onward(301, HERE, "http://[placement/") is None
    assert "the URL redirects to nowhere" in str(refusal(reply(305, "", location="http://[placement/")))


def test_a_redirect_from_https_to_http_is_not_followed():
    assert onward(301, HERE.replace("http:", "https:"), "http://placement.example/x") is None


@given(st.text())
def test_no_redirect_sends_the_token_to_another_host(location):
    """Whatever text is in the Location header, the agent follows a redirect only to Placement's own host."""
    goes_to = onward(302, HERE, location)
    assert goes_to is None or urlsplit(goes_to).hostname == "placement.example"


@pytest.mark.parametrize(
    ("location", "goes_to"),
    [
        ("/v3/", "http://keystone.example/v3/"),
        ("http://keystone.example:80/v3", "http://keystone.example:80/v3"),
        ("https://keystone.example:13000/v3", "https://keystone.example:13000/v3"),
        ("http://keystone.example:5000/v3", None),
        ("http://keystone.example:99999/v3", None),
        ("https://elsewhere.example/v3", None),
    ],
)
def test_a_redirect_sends_the_password_only_to_the_same_host(location, goes_to):
    """Keystone redirects a request with a password. The agent follows the redirect only to the same host."""
    assert onward_with_password(308, "http://keystone.example/v3", location) == goes_to


@pytest.mark.parametrize("location", ["http://keystone.example/v3", "https://keystone.example:5000/v3"])
def test_an_https_redirect_to_another_port_gets_no_password(location):
    """Keystone's https URL redirects to http or to another port. The agent does not send the password there."""
    assert onward_with_password(308, "https://keystone.example/v3", location) is None


def test_a_keystone_redirect_error_shows_no_secrets():
    """Keystone redirects to another host.

    The agent's error shows the old URL and the new URL without their passwords.
    """
    moved = TokenMoved(
        "http://joe:hunter2@keystone.example/v3", "http://joe:hunter2@elsewhere.example/v3?x=hunter2#hunter2"
    )
    said = str(failure("GET /", moved))
    assert "//***@keystone.example/v3 redirects to http://***@elsewhere.example/v3: put Keystone's own URL into" in said
    assert "hunter2" not in said
