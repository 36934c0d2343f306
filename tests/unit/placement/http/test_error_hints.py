"""The hint beside an error: OpenSSL's own texts, as measured in tests/contract/keystone, point to the option."""

import pytest

from agent.placement.http.error_hints import keystone_hint, placement_hint, tls_hint, with_hint

LIST = "GET http://p:8778/x/resource_providers"
RESHAPE = "POST http://p:8778/x/reshaper"
FAILED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {} (_ssl.c:992)"


@pytest.mark.parametrize(
    ("said", "option"),
    [
        (FAILED.format("unable to get local issuer certificate"), "cafile"),
        (FAILED.format("self-signed certificate in certificate chain"), "cafile"),
        (FAILED.format("Hostname mismatch, certificate is not valid for 'keystone'."), "auth_url"),
        (FAILED.format("IP address mismatch, certificate is not valid for '127.0.0.1'."), "auth_url"),
        (FAILED.format("certificate has expired"), "clock is ahead"),
        (FAILED.format("certificate is not yet valid"), "clock is behind"),
        ("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required", "certfile and keyfile"),
        ("EOF occurred in violation of protocol (_ssl.c:2393)", "certfile and keyfile"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "http://"),
    ],
)
def test_a_tls_error_has_a_hint_about_what_to_check(said, option):
    """The hint beside a TLS error mentions the option or the clock that the operator must check."""
    assert option in tls_hint(f"SSL exception connecting to https://keystone:5000/v3: (Caused by SSLError({said!r}))")


def test_errors_that_no_option_can_fix_have_no_hint():
    """Keystone's errors 500 and 503, Placement's 404 and 409, and a refused connection are shown without a hint."""
    assert tls_hint("Unable to establish connection to https://keystone:5000/v3: Connection refused") == ""
    assert keystone_hint(500) == keystone_hint(503) == ""
    assert {placement_hint(status, LIST) for status in (404, 409)} == {""}
    assert with_hint("it broke", "") == "it broke"


def test_a_403_from_placement_has_a_hint_about_roles():
    """Placement answers 403, and the hint beside the agent's error mentions the roles admin and service."""
    assert "asks for admin or service" in placement_hint(403, LIST)
    assert "role" not in placement_hint(401, LIST)
    assert "credentials" in keystone_hint(401)
    assert "auth_url" in keystone_hint(404)


def test_a_refused_reshape_has_a_hint_about_the_service_role():
    """Placement refuses a reshape with 403.

    The hint says that the request needs the role "service", because "admin" may not reshape.
    """
    assert 'needs the role "service"' in placement_hint(403, RESHAPE)
    assert '("admin" is not enough' in placement_hint(403, RESHAPE)
    assert "admin or service" not in placement_hint(403, RESHAPE)
    assert placement_hint(401, RESHAPE) == placement_hint(401, LIST)
