"""``config check --live`` against real parts, each of them dead once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.demo.placement import TOKEN
from tests.rigs import rabbitmq
from tests.rigs.commands import stocktake_here
from tests.rigs.host import AgentHost, empty_host
from tests.rigs.mariadb import free_port
from tests.rigs.placement import Rest

#: How each part dies: the option, and a value with which the part cannot answer. ``{port}`` is a port without a server.
DEAD = {
    "Keystone token": {
        "placement": {
            "auth_type": "password",
            "auth_url": "http://127.0.0.1:{port}/v3",
            "username": "u",
            "password": "p",
            "project_name": "service",
            "user_domain_id": "default",
            "project_domain_id": "default",
            "token": None,
        }
    },
    "Placement": {"placement": {"endpoint_override": "http://127.0.0.1:{port}"}},
    "state source (sql)": {"state": {"connection": "sqlite:////nonexistent/cell.sqlite"}},
    "libvirt": {"libvirt": {"connection_uri": "test:///nonexistent/node.xml"}},
    "message broker": {"DEFAULT": {"transport_url": "rabbit://u:hunter2@127.0.0.1:{port}/"}},
    "state_dir": {"agent": {"state_dir": "/dev/null"}},
    "run_dir": {"agent": {"run_dir": "/dev/null"}},
    "volume group absent": {"lvm": {"volume_groups": "absent"}},
}
# Without a token, Placement cannot be asked. Without the state directory, the host's identity is not known for certain.
ALSO = {
    "Keystone token": {"this host's provider", "Placement"},
    "Placement": {"this host's provider"},
    "state_dir": {"this host's provider"},
    "run_dir": {"health address"},
}


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    return empty_host(tmp_path, placement)


def checked(host: AgentHost) -> tuple[int, dict[str, tuple[bool, str]]]:
    """Return the exit code, and for each part whether it answered and its words."""
    done = stocktake_here("--config-file", host.config_file, "--quiet", "config", "check", "--live", "-f", "json")
    assert "hunter2" not in done.stdout + done.stderr
    return done.code, {row["what"]: (row["ok"], row["words"]) for row in done.document["live"]}


def test_config_check_live_exits_0_if_every_service_answers(host):
    """`stocktake config check --live` contacts Placement, nova's database and libvirt.

    If all three answer, the command exits with 0 and shows each answer.
    """
    code, rows = checked(host)
    assert (code, {what for what, (ok, _) in rows.items() if not ok}) == (0, set()), rows
    assert rows["this host's provider"][1].endswith(f"/compute_id) is named {host.name}")
    assert rows["Placement"][1].startswith("speaks microversions up to 1.")
    assert rows["state source (sql)"][1].startswith(f"host {host.name} has 0 instances and 1 compute node record")
    assert rows["libvirt"][1].startswith("libvirt ")


@pytest.mark.parametrize("what", DEAD)
def test_config_check_live_exits_2_and_shows_what_failed(host, what):
    """`stocktake config check --live` exits with 2 and shows which service or directory failed, and why."""
    port = free_port()
    changes = {
        group: {name: value.format(port=port) if isinstance(value, str) else value for name, value in options.items()}
        for group, options in DEAD[what].items()
    }
    host.configure(changes)
    code, rows = checked(host)
    assert (code, {name for name, (ok, _) in rows.items() if not ok}) == (2, {what} | ALSO.get(what, set())), rows
    assert len(rows[what][1]) > 20


def test_config_check_live_contacts_nothing_for_a_wrong_option(host):
    """For a wrong option, such as [agent] role = king, `stocktake config check --live` contacts no service."""
    host.configure({"agent": {"role": "king"}})
    done = stocktake_here("--config-file", host.config_file, "config", "check", "--live", "-f", "json")
    assert (done.code, done.document["live"]) == (78, None)


def test_config_check_says_that_nothing_was_contacted(host):
    """`stocktake config check` without --live reads only files, and its output says so."""
    done = stocktake_here("--config-file", host.config_file, "config", "check")
    files = f"{host.config_file}, {host.folder}/nova.conf"
    assert (done.code, done.stdout) == (0, f"no mistakes found in {files}; nothing was contacted\n")


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[rabbitmq.RabbitMq]:
    if not rabbitmq.available():
        pytest.skip("no rabbitmq-server here")
    with rabbitmq.running(tmp_path_factory.mktemp("broker")) as started:
        yield started


@pytest.mark.parametrize(("user", "ok"), [("", True), ("stranger:hunter2@", False)])
def test_config_check_live_tests_the_message_broker(host, broker, user, ok):
    """`stocktake config check --live` says that RabbitMQ accepts messages, or that RabbitMQ refuses the user."""
    url = broker.url if ok else f"rabbit://{user}{broker.url.rpartition('@')[2]}"
    host.configure({"DEFAULT": {"transport_url": url}})
    code, rows = checked(host)
    assert (code, rows["message broker"][0]) == (0 if ok else 2, ok), rows
    assert ("accepts messages" if ok else "refuses user 'stranger'") in rows["message broker"][1]


def test_a_free_metrics_address_passes_the_check(host):
    """`stocktake config check --live` accepts the agent's metrics address if no other program listens there."""
    address = f"tcp://127.0.0.1:{free_port()}"
    host.configure({"DEFAULT": {"update_resources_interval": -1}, "metrics": {"uri": address}})
    _, rows = checked(host)
    assert rows["metrics address"] == (True, f"nothing listens at {address} yet: the agent listens there while it runs")
    with host.daemon() as daemon:
        daemon.first_audit()
        _, rows = checked(host)
    assert rows["metrics address"] == (True, f"an agent answers at {address}")
    assert rows["health address"] == (True, f"an agent answers at unix://{host.folder}/run/health.sock")


def test_a_metrics_address_in_use_fails_the_check(host, placement):
    """`stocktake config check --live` exits with 2 if another program listens at the agent's metrics address."""
    address = placement.server.url.replace("http", "tcp")
    host.configure({"metrics": {"uri": address}})
    code, rows = checked(host)
    words = f"another program listens at {address}, so the agent cannot listen there"
    assert (code, rows["metrics address"]) == (2, (False, words))


@pytest.mark.parametrize(("token", "ok"), [(TOKEN, True), ("wrong", False)])
def test_config_check_live_finds_the_provider_by_name(host, token, ok):
    """Without a compute_id file, `stocktake config check --live` looks up the host's provider in Placement by name."""
    host.provider_uuid = ""
    (host.folder / "compute_id").unlink()
    host.configure({"placement": {"token": token}})
    code, rows = checked(host)
    assert (code, rows["this host's provider"][0]) == (0 if ok else 2, ok)
    assert (f"named {host.name}" if ok else "asks for a role") in rows["this host's provider"][1]
