"""Keystone and Placement behind TLS of a private CA: the options to set, and the error if an option is missing."""

import pytest

from agent.errors import ConfigError, PlacementUnavailable
from agent.placement import wire
from agent.placement.http.client import MINIMUM
from tests.rigs.tls import Authority, tls_before

pytestmark = pytest.mark.xdist_group("keystone")

LISTING = "/resource_providers?name=nobody"
QUICK = {"connect_retries": 0}


def listed(client):
    return client.get(LISTING, MINIMUM, wire.parse_providers)


def refused(client) -> str:
    with pytest.raises(PlacementUnavailable) as raised:
        listed(client)
    return str(raised.value)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def secure(cloud, authority):
    """Placement behind TLS; its certificate is for 127.0.0.1."""
    with tls_before(cloud.placement.url, authority.certificate("placement")) as door:
        yield door


@pytest.fixture(scope="module")
def secure_keystone(cloud, authority):
    with tls_before(cloud.keystone.url, authority.certificate("keystone")) as door:
        yield door


def test_cafile_is_used_for_keystone_and_placement(cloud, account, authority, secure, secure_keystone, client_with):
    """If both services have a certificate of a private authority, [placement] cafile is the only option to set."""
    region = cloud.identity.make_region()
    cloud.identity.make_endpoint(cloud.service, "internal", secure.url, region)
    options = account.options(f"{secure_keystone.url}/v3", region_name=region, cafile=authority.path)
    assert listed(client_with(**options)) == ()
    assert secure.seen
    # The client also requests the token there, and not at a URL of Keystone's version document.
    assert ("POST", "/v3/auth/tokens") in [(asked.method, asked.path) for asked in secure_keystone.seen]


def test_requests_fail_while_cafile_is_missing(cloud, account, authority, secure, client_with, tmp_path):
    """Someone removes the file of [placement] cafile at run time. Requests succeed again after the file is back."""
    cafile = tmp_path / "ca.pem"
    cafile.write_bytes(authority.path.read_bytes())
    client = client_with(**account.options(cloud.auth_url, endpoint_override=secure.url, cafile=cafile, **QUICK))
    assert listed(client) == ()
    cafile.unlink()
    assert str(cafile) in refused(client)
    cafile.write_bytes(authority.path.read_bytes())
    assert listed(client) == ()


def test_an_untrusted_placement_certificate_raises_an_error(cloud, account, secure, client_with):
    """Placement's certificate is from a private authority and cafile is not set.

    The error tells the operator to set it.
    """
    said = refused(client_with(**account.options(cloud.auth_url, endpoint_override=secure.url, **QUICK)))
    assert "set [placement] cafile" in said
    assert secure.url in said


@pytest.mark.parametrize("suffix", ["", "/v3"])
def test_an_untrusted_keystone_certificate_raises_an_error(account, secure_keystone, client_with, suffix):
    """Keystone's certificate is from a private authority and cafile is not set.

    The error tells the operator to set it.
    """
    said = refused(client_with(**account.options(secure_keystone.url + suffix, **QUICK)))
    assert "set [placement] cafile" in said
    assert secure_keystone.url in said


def test_a_certificate_of_an_authority_not_in_cafile_is_rejected(cloud, account, secure, client_with, tmp_path):
    other = Authority(tmp_path / "other")
    options = account.options(cloud.auth_url, endpoint_override=secure.url, cafile=other.path, **QUICK)
    assert "set [placement] cafile" in refused(client_with(**options))


def test_a_certificate_for_another_host_name_is_rejected(cloud, account, authority, client_with):
    with tls_before(cloud.placement.url, authority.certificate("elsewhere", "DNS:placement.example.org")) as door:
        options = account.options(cloud.auth_url, endpoint_override=door.url, cafile=authority.path, **QUICK)
        assert "the certificate is for another host name than the URL's" in refused(client_with(**options))


def test_an_expired_certificate_is_rejected(cloud, account, authority, client_with):
    with tls_before(cloud.placement.url, authority.certificate("old", days=-1)) as door:
        options = account.options(cloud.auth_url, endpoint_override=door.url, cafile=authority.path, **QUICK)
        assert "has expired, or this host's clock is ahead" in refused(client_with(**options))


def test_a_required_client_certificate_must_be_configured(cloud, account, authority, client_with):
    """If Placement requires a client certificate and none is configured, the error advises to set certfile."""
    ours = authority.certificate("agent")
    with tls_before(cloud.placement.url, authority.certificate("mutual"), clients_of=authority) as door:
        options = account.options(cloud.auth_url, endpoint_override=door.url, cafile=authority.path, **QUICK)
        assert "set [placement] certfile and keyfile" in refused(client_with(**options))
        assert listed(client_with(**options, certfile=ours.path, keyfile=ours.key)) == ()
        both = authority.path.parent / "both.pem"
        both.write_bytes(ours.path.read_bytes() + ours.key.read_bytes())
        assert listed(client_with(**options, certfile=both)) == ()


def test_insecure_true_accepts_an_untrusted_certificate(cloud, account, secure, client_with, recwarn):
    """With [placement] insecure = true, the agent accepts any certificate of Placement and prints no warning."""
    options = account.options(cloud.auth_url, endpoint_override=secure.url, insecure="true")
    assert listed(client_with(**options)) == ()
    # Ignore ResourceWarnings: the garbage collector may report objects of other tests.
    told = [warning for warning in recwarn if not issubclass(warning.category, ResourceWarning)]
    assert [str(warning.message) for warning in told] == []


def test_a_url_with_the_wrong_scheme_raises_an_error(cloud, account, authority, secure, client_with):
    """Placement's URL begins with http:// instead of https://, or the other way round; the agent reports an error."""
    backwards = cloud.placement.url.replace("http://", "https://")
    options = account.options(cloud.auth_url, endpoint_override=backwards, cafile=authority.path, **QUICK)
    assert "does not speak TLS: check whether the URL must begin with http://" in refused(client_with(**options))
    plain = secure.url.replace("https://", "http://")
    assert plain in refused(client_with(**account.options(cloud.auth_url, endpoint_override=plain, **QUICK)))


def wrong_files(authority, folder):
    text, other = folder / "text.pem", authority.certificate("unrelated")
    text.write_text("not a certificate\n")
    ours = authority.certificate("ours")
    return {
        "missing cafile": ({"cafile": folder / "none.pem"}, "none.pem: No such file"),
        "cafile of text": ({"cafile": text}, "not a PEM file of certificates"),
        "missing certfile": ({"certfile": folder / "none.pem", "keyfile": ours.key}, "none.pem: No such file"),
        "missing keyfile": ({"certfile": ours.path, "keyfile": folder / "none.key"}, "none.key: No such file"),
        "key of another": ({"certfile": ours.path, "keyfile": other.key}, "found no PEM certificate with a"),
        "certfile without a key": ({"certfile": ours.path}, "found no PEM certificate with a"),
    }


@pytest.mark.parametrize(
    "case",
    [
        "missing cafile",
        "cafile of text",
        "missing certfile",
        "missing keyfile",
        "key of another",
        "certfile without a key",
    ],
)
def test_an_unusable_tls_file_raises_a_config_error(authority, account, client_with, tmp_path, case):
    """The file of cafile, certfile or keyfile is missing or unusable; the error contains the option and its value."""
    options, said = wrong_files(authority, tmp_path)[case]
    with pytest.raises(ConfigError) as raised:
        client_with(**account.options("https://keystone:5000/v3", **options))
    assert said in str(raised.value)
    assert f"[placement] {next(iter(options))} = " in str(raised.value)
