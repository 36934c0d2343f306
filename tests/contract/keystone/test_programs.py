"""The installed programs with a real Keystone: the command, one audit, and a daemon that starts before Keystone."""

import json
import re

import pytest

from tests.rigs.domains import node_xml
from tests.rigs.host import AgentHost, host_on
from tests.rigs.keystone import ADMIN_PASSWORD, Account, Cloud
from tests.rigs.wait import until

pytestmark = pytest.mark.xdist_group("keystone")

RECOVERY_S = 300.0
AUDITS = 10
LOUDEST = {"debug": "true", "default_log_levels": "keystoneauth=DEBUG,urllib3=DEBUG,requests=DEBUG"}


@pytest.fixture
def host(tmp_path, cloud: Cloud, account: Account) -> AgentHost:
    """A host with 4 CPUs and no guest; nova.conf has the credentials, as on a compute host."""
    made = host_on(
        tmp_path,
        cloud.placement.url,
        options={
            "DEFAULT": {"update_resources_interval": -1},
            "placement": {"auth_type": None, "token": None, "endpoint_override": None, "longest_pause": 0},
        },
    )
    (tmp_path / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096, domains=[]))
    made.configure()
    made.make_cell().dispose()
    nova_conf(made, account.options(cloud.auth_url))
    return made


def nova_conf(host: AgentHost, options: dict[str, object]) -> None:
    lines = [f"{name} = {value}" for name, value in options.items()]
    (host.folder / "nova.conf").write_text("\n".join(["[placement]", *lines, ""]))


def classes(cloud: Cloud, host: AgentHost) -> set[str]:
    """Return the classes in Placement's inventory of this host; none if the provider does not exist."""
    found = cloud.rest("GET", f"/resource_providers?uuid={host.provider_uuid}")["resource_providers"]
    if not found:
        return set()
    return set(cloud.rest("GET", f"/resource_providers/{host.provider_uuid}/inventories")["inventories"])


def token_requests(cloud: Cloud) -> list[str]:
    return [line for line in cloud.keystone.asked() if line.startswith("POST /v3/auth/tokens") and " stocktake" in line]


def test_config_check_live_tries_to_get_a_keystone_token(cloud, host, account):
    """`stocktake config check --live` gets a token with the configured credentials, and reports a wrong password."""

    def rows() -> dict[str, tuple[bool, str]]:
        live = json.loads(host.stocktake("config", "check", "--live", "-f", "json").stdout)["live"]
        return {row["what"]: (row["ok"], row["words"]) for row in live}

    found = rows()
    assert found["Keystone token"] == (True, f"a token from {cloud.auth_url}")
    assert found["Placement"][0]
    assert found["this host's provider"][1].endswith("is not in Placement yet")
    nova_conf(host, account.options(cloud.auth_url) | {"password": "wrong"})
    found = rows()
    assert not found["Keystone token"][0]
    assert "HTTP 401" in found["Keystone token"][1]


def test_the_programs_accept_the_credentials_in_nova_conf(cloud, host, account):
    """The agent and `stocktake audit` use Placement's credentials from nova.conf, and print no password or token."""
    host.configure({"DEFAULT": LOUDEST})
    once = host.agent("--once")
    assert once.code == 0, once.stderr
    assert classes(cloud, host) >= {"VCPU", "MEMORY_MB"}
    audit = host.stocktake("audit", "-f", "json")
    assert (audit.code, audit.document["outcome"]) == (0, "clean")
    told = "".join((once.stdout, once.stderr, audit.stdout, audit.stderr))
    # The libraries' log lines are included, among them the token's hash in place of the token.
    assert "Making authentication request" in told
    assert "{SHA256}" in told
    assert account.password not in told
    assert "gAAAAA" not in told


def test_config_show_prints_which_file_sets_the_password(cloud, host, account):
    """Keystone rejects the password.

    The error refers to `stocktake config show`, which prints the path of the file nova.conf.
    """
    nova_conf(host, account.options(cloud.auth_url, password="wrong-6e1f"))
    ended = host.stocktake("audit", "-f", "json")
    assert ended.code == 2
    error = next(s["error"] for s in json.loads(ended.stdout)["sources"] if s["name"] == "placement")
    assert "no token from Keystone" in error
    assert "stocktake config show" in error
    assert "wrong-6e1f" not in ended.stdout + ended.stderr
    shown = host.stocktake("config", "show").stdout
    (row,) = (line for line in shown.splitlines() if re.match(r"placement +password ", line))
    assert str(host.folder / "nova.conf") in row
    assert "wrong-6e1f" not in shown


def test_s154_a_daemon_may_start_before_keystone(cloud, host, account):
    """The agent reports that Keystone refuses connections.

    After Keystone's start, the agent publishes its inventory by itself.
    """
    cloud.keystone.stop()
    try:
        with host.daemon() as daemon:
            report = daemon.first_audit()
            placement = next(source for source in report["audit"]["sources"] if source["name"] == "placement")
            assert "Connection refused" in placement["error"]
            assert cloud.auth_url in placement["error"]
            cloud.keystone.start()
            # The daemon recovers by itself: the test sends no signal, and the interval is off.
            until(lambda: classes(cloud, host) >= {"VCPU", "MEMORY_MB"}, RECOVERY_S, "the daemon publishes")
            assert daemon.process.poll() is None
            assert account.password not in daemon.text()
    finally:
        if not cloud.keystone.runs:
            cloud.keystone.start()


def test_the_daemon_requests_one_token_for_ten_audits(cloud, host):
    before = len(token_requests(cloud))
    with host.daemon() as daemon:
        daemon.first_audit()
        for _ in range(AUDITS):
            report = daemon.audit_now()
        assert report["audit"]["outcome"] == "clean"
    assert len(token_requests(cloud)) - before == 1
    assert ADMIN_PASSWORD not in daemon.text()
