"""Every way to authenticate with a real Keystone, every way to be refused, and no secret in a log or an error."""

import logging

import pytest

from agent.errors import ConfigError, PlacementDenied, PlacementUnavailable
from agent.placement import wire
from agent.placement.http.client import MINIMUM
from tests.rigs.keystone import REGION, token_in_hand
from tests.rigs.placement import new_uuid
from tests.rigs.wait import until

pytestmark = pytest.mark.xdist_group("keystone")

LISTING = "/resource_providers?name=nobody"
NO_PROJECT = {"project_name": None, "project_domain_name": None}


def listed(client):
    return client.get(LISTING, MINIMUM, wire.parse_providers)


def made(client):
    uuid = new_uuid()
    return client.post("/resource_providers", MINIMUM, {"uuid": uuid, "name": uuid}, wire.parse_provider).uuid == uuid


def as_credential(cloud, credential, **changes):
    return {
        "auth_type": "v3applicationcredential",
        "auth_url": cloud.auth_url,
        "application_credential_id": credential["id"],
        "application_credential_secret": credential["secret"],
        "region_name": REGION,
    } | changes


def denied(client) -> PlacementDenied:
    with pytest.raises(PlacementDenied) as raised:
        listed(client)
    return raised.value


def works(client) -> bool:
    try:
        return listed(client) == ()
    except PlacementDenied:
        return False


# Credentials that Keystone accepts.


def test_the_client_authenticates_with_a_password(cloud, account, client_with):
    """With a user, a password, a project and their domains, the agent gets a token, and reads and writes Placement."""
    client = client_with(**account.options(cloud.auth_url))
    assert listed(client) == ()
    assert made(client)


@pytest.mark.parametrize("suffix", ["", "/v3", "/v3/"])
def test_auth_url_may_end_with_v3_or_not(cloud, account, client_with, suffix):
    assert listed(client_with(**account.options(cloud.keystone.url + suffix))) == ()


def test_the_client_accepts_user_and_project_ids(cloud, account, client_with):
    """[placement] user_id and project_id can replace the names and their domains."""
    by_id = {"user_id": account.user, "project_id": account.project, "username": None, "user_domain_name": None}
    assert listed(client_with(**account.options(cloud.auth_url, **by_id, **NO_PROJECT))) == ()


def test_credentials_may_be_in_the_auth_section(cloud, account, tmp_path, client_with):
    """With [placement] auth_section = keystone, the agent reads its credentials from the section [keystone]."""
    from agent.placement.http.access import client_from_conf
    from tests.rigs.placement import conf_of

    options = account.options(cloud.auth_url)
    region = options.pop("region_name")
    conf = conf_of(tmp_path, region_name=region, auth_section="keystone")
    path = tmp_path / "auth.conf"
    path.write_text("[keystone]\n" + "".join(f"{name} = {value}\n" for name, value in options.items()))
    conf([], default_config_files=[*conf.config_file, str(path)])
    assert listed(client_from_conf(conf)) == ()


def test_a_deleted_application_credential_is_denied(cloud, account, client_with):
    """An operator deleted the agent's application credential in Keystone. The error says to check the credential."""
    credential = cloud.identity.make_credential(account)
    client = client_with(**as_credential(cloud, credential))
    assert made(client)
    cloud.identity.delete_credential(account, credential["id"])
    said = str(denied(client))
    assert "no token from Keystone" in said
    assert "that the application credential still exists" in said
    assert credential["secret"] not in said


def test_a_read_only_application_credential_cannot_write(cloud, account, client_with):
    """An access rule of the credential permits only GET.

    The agent can read Placement; a write raises PlacementDenied.
    """
    rules = [{"service": "placement", "method": "GET", "path": "/**"}]
    client = client_with(**as_credential(cloud, cloud.identity.make_credential(account, rules)))
    assert listed(client) == ()
    with pytest.raises(PlacementDenied, match="access rule") as raised:
        made(client)
    assert raised.value.status == 401


def test_the_client_accepts_an_existing_token(cloud, account, client_with):
    """With auth_type = v3token, the agent uses the configured token of Keystone instead of a password."""
    token = cloud.identity.token_of(account)
    scope = {"token": token, "project_id": account.project, "region_name": REGION}
    client = client_with(auth_type="v3token", auth_url=cloud.auth_url, **scope)
    assert listed(client) == ()
    assert token not in repr(client)


# Credentials that are refused.


def test_the_error_for_a_wrong_password_omits_the_password(cloud, account, client_with):
    """Keystone denies the token.

    The error tells the operator to check the credentials, and does not show the password.
    """
    error = denied(client_with(**account.options(cloud.auth_url, password="wrong-6e1f")))
    assert error.status == 401
    assert error.request_id.startswith("req-")
    assert f"no token from Keystone at {cloud.auth_url}/auth/tokens" in str(error)
    assert "check the credentials and the project in [placement]" in str(error)
    assert "wrong-6e1f" not in str(error)


def test_a_disabled_user_is_denied(cloud, own_account, client_with):
    """Keystone denies a disabled user a token. The agent reads Placement again once the user is enabled."""
    client = client_with(**own_account.options(cloud.auth_url))
    assert listed(client) == ()
    cloud.identity.change_user(own_account.user, enabled=False)
    error = denied(client)
    assert (error.status, "no token from Keystone" in str(error)) == (401, True)
    cloud.identity.change_user(own_account.user, enabled=True)
    until(lambda: works(client), 60, "tokens are given again")


def test_a_changed_password_is_denied(cloud, own_account, client_with):
    """Keystone denies the configured password while the user has a new one.

    The client recovers after the change is undone.
    """
    client = client_with(**own_account.options(cloud.auth_url))
    assert listed(client) == ()
    cloud.identity.change_user(own_account.user, password="another-3b7")
    assert denied(client).status == 401
    cloud.identity.change_user(own_account.user, password=own_account.password)
    until(lambda: works(client), 60, "tokens are given again; those of the second of the change count as old ones")


def test_a_user_without_a_role_in_the_project_is_denied(cloud, account, client_with):
    """Keystone denies a user without a role in the project, and the agent's error mentions the project."""
    other = cloud.identity.make_account()
    error = denied(client_with(**account.options(cloud.auth_url, project_name=other.project_name)))
    assert error.status == 401
    assert "the project in [placement]" in str(error)


def test_a_member_role_is_denied_with_403(cloud, client_with):
    """Placement's policy does not let a user with only the role member list providers; the agent's error says so."""
    error = denied(client_with(**cloud.identity.make_account("member").options(cloud.auth_url)))
    assert error.status == 403
    assert "Placement's policy asks for a role" in str(error)
    assert "placement:resource_providers:list" in str(error)


def test_missing_project_options_raise_an_error(cloud, account, client_with):
    """Without a project, Keystone's token has an empty catalog. The agent's error refers to project_name."""
    with pytest.raises(PlacementUnavailable, match=r"catalog is empty.*project_name"):
        listed(client_with(**account.options(cloud.auth_url, **NO_PROJECT)))


def test_a_user_name_without_user_domain_name_is_denied(cloud, account, client_with):
    """[placement] user_domain_name is missing. Keystone gives no token, and the agent's error mentions the domain."""
    error = denied(client_with(**account.options(cloud.auth_url, user_domain_name=None)))
    assert error.status in {400, 401}
    assert "domain" in str(error)


@pytest.mark.parametrize("suffix", ["", "/v3"])
def test_an_auth_url_of_placement_raises_an_error(cloud, account, client_with, suffix):
    """If auth_url is Placement's URL instead of Keystone's, the agent reports an error and does not hang."""
    # Placement answers 401 at /v3, where Keystone lists its versions: keystoneauth alone would deadlock on itself.
    with pytest.raises((PlacementDenied, PlacementUnavailable), match=r"auth_url|the credentials") as raised:
        listed(client_with(**account.options(f"{cloud.placement.url}{suffix}")))
    assert cloud.placement.url in str(raised.value)
    assert account.password not in str(raised.value)


@pytest.mark.parametrize(
    ("auth_type", "missing", "said"),
    [
        ("password", "password", "password is not set"),
        ("password", "auth_url", "auth_url"),
        ("v3applicationcredential", "application_credential_secret", "auth secret"),
    ],
)
def test_a_missing_credential_option_raises_a_config_error(cloud, account, client_with, auth_type, missing, said):
    """At its start, the agent finds that password, auth_url or application_credential_secret is not set."""
    credential = {"id": "0" * 32, "secret": "s3"}
    options = account.options(cloud.auth_url) if auth_type == "password" else as_credential(cloud, credential)
    with pytest.raises(ConfigError, match=rf"\[placement\].*{said}"):
        client_with(**{name: value for name, value in options.items() if name != missing})


# What the agent logs.


def test_debug_logs_contain_no_passwords_and_no_tokens(cloud, account, client_with, caplog):
    credential = cloud.identity.make_credential(account)
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    clients = [
        client_with(**account.options(cloud.auth_url)),
        client_with(**as_credential(cloud, credential)),
    ]
    tokens = []
    for client in clients:
        assert made(client)
        tokens.append(token_in_hand(client))
        cloud.identity.revoke(tokens[-1])
        assert made(client)
        tokens.append(token_in_hand(client))
    denied(client_with(**account.options(cloud.auth_url, password="wrong-6e1f")))
    # Check that the libraries log at DEBUG: without their lines the test would prove nothing.
    assert "Making authentication request" in caplog.text
    assert "X-Auth-Token" in caplog.text
    for secret in (account.password, credential["secret"], "wrong-6e1f", *tokens):
        assert secret not in caplog.text
