"""The whole daemon with a real broker: it notifies and answers; a broker that dies or freezes never stops an audit."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent.demo import cell
from agent.model.nova import Service
from agent.telemetry import events
from tests.rigs import rabbitmq
from tests.rigs.bus import TRY_S, answered, bus, caller, heard, listener, notified, queues
from tests.rigs.domains import node_xml
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, Daemon, host_on
from tests.rigs.placement import Rest
from tests.rigs.placement import running as placement_running
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.skipif(not rabbitmq.available(), reason="no rabbitmq-server here"),
    # amqp does not close the socket of a broken connection; the garbage collector does.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

ROOT = Path(__file__).parents[2]
#: Runs the daemon to its end and then prints the modules that it has loaded.
LOADED = """
import queue, sys
from agent.cmd import daemon
from agent.daemon.signal_queue import install_handlers
inbox = queue.SimpleQueue()
install_handlers(inbox)
code = daemon.run(sys.argv[1:], inbox)
print(*sys.modules)
daemon.leave(code)
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with rabbitmq.running(tmp_path_factory.mktemp("broker")) as started:
        yield started
    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("bus-")], 180, "the bus's threads")
    gc.collect()


@pytest.fixture(scope="module")
def placement(tmp_path_factory):
    with placement_running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


@pytest.fixture
def host(tmp_path, placement, broker):
    made = host_on(tmp_path, placement.server.url)
    (tmp_path / "node.xml").write_text(node_xml(cpus=8, memory_mib=8192))
    made.options = {
        "DEFAULT": {"transport_url": broker.url, "use_json": True, "update_resources_interval": -1},
        "notifications": {"enabled": True, "publish_interval": 2},
    }
    made.configure()
    made.make_cell().dispose()
    yield made
    if not broker.is_running:
        broker.start()
    placement.request("DELETE", f"/resource_providers/{made.provider_uuid}")  # if the test has published it


def reserve(host: AgentHost, daemon: Daemon, memory_mib: int) -> None:
    """Change the daemon's reserved memory, so that the next audit has something to publish."""
    host.configure({"DEFAULT": {"reserved_host_memory_mb": memory_mib}})
    daemon.send(signal.SIGHUP)


def reserved(placement: Rest, host: AgentHost) -> int:
    return placement.inventories(host.provider_uuid).get("MEMORY_MB", {}).get("reserved", -1)


def logged(daemon: Daemon, event: str) -> list[dict]:
    return [record for record in daemon.records() if record["message"] == event]


def test_a_daemon_without_a_bus_loads_no_oslo_messaging(host):
    """Without [DEFAULT] transport_url the daemon saves memory: it does not import oslo.messaging or oslo.reports."""
    host.configure({"DEFAULT": {"transport_url": None}})
    command = [sys.executable, "-c", LOADED, "--config-file", str(host.config_file)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=host.environ(), text=True
    )
    try:
        until(host.report, PATIENCE_S, "a report")
        process.send_signal(signal.SIGTERM)
        loaded = process.communicate(timeout=PATIENCE_S)[0].split()
    finally:
        process.kill()
    assert process.returncode == 0
    assert "agent.cmd.bus_wiring" in loaded
    # The host has no transport_url, and the daemon got no SIGUSR2.
    unused = {"oslo_messaging", "kombu", "amqp", "oslo_reports", "jinja2", "psutil", "rich", "cliff"}
    assert unused & {name.split(".")[0] for name in loaded} == set()


def test_the_daemon_publishes_its_state_and_answers_rpc_calls(host, broker, placement):
    """On the message bus, the daemon sends its state and answers the RPC calls audit_now and last_report."""
    with listener(broker.url) as watcher, host.daemon() as daemon, bus(broker.url) as opened:
        daemon.first_audit()
        until(lambda: logged(daemon, events.ENDPOINT_UP), PATIENCE_S, "the endpoint")
        state = until(lambda: (told := heard(watcher))["resources"] is not None and told, PATIENCE_S, "a whole state")
        client = caller(opened, host.name)
        assert client.call({}, "audit_now")["accepted"] is True
        until(lambda: "rpc: audit_now" in host.report()["audit"]["reasons"], PATIENCE_S, "an audit for that reason")
        # An audit that libvirt's events request may come in between: wait until both reports are of the same audit.
        until(lambda: client.call({}, "last_report") == host.report(), PATIENCE_S, "the report, over the bus as well")
        later = host.report()
        daemon.send(signal.SIGTERM)
        assert daemon.ended() == 0
    totals = {one["resource_class"]: one["total"] for one in state["resources"]}
    assert totals == {name: one["total"] for name, one in placement.inventories(host.provider_uuid).items()}
    assert (state["host"], state["guests"], state["interval_s"]) == (host.name, 0, 2.0)
    with notified(broker.url, "stocktake_notifications") as listening:
        found = until(lambda: _notices_of(listening, host), PATIENCE_S, "the notification of the last audit")
    assert found["outcome"] == later["audit"]["outcome"]


def _notices_of(listening, host):
    _, _, event_type, payload = listening.found.get(timeout=60)
    return payload if event_type == "stocktake.audit.end" and payload["host"] == host.name else None


def test_a_role_observer_daemon_publishes_its_state(host, broker):
    """A daemon with [agent] role observer, which writes nothing to Placement, sends its state on the message bus."""
    host.configure({"agent": {"role": "observer"}})
    with listener(broker.url) as watcher, host.daemon() as daemon:
        daemon.first_audit()
        assert heard(watcher)["role"] == "observer"


def test_audits_continue_while_the_broker_is_down(host, broker, placement):
    """The daemon publishes to Placement while RabbitMQ is down, and connects again when RabbitMQ is back."""
    with host.daemon() as daemon:
        daemon.first_audit()
        until(lambda: logged(daemon, events.ENDPOINT_UP), PATIENCE_S, "the endpoint")
        broker.kill()
        reserve(host, daemon, 1024)
        until(lambda: reserved(placement, host) == 1024, PATIENCE_S, "the new reserve in Placement")
        until(lambda: logged(daemon, events.BROKER_LOST), PATIENCE_S, "the loss in the log")
        broker.start()
        with listener(broker.url) as watcher:
            until(lambda: _memory(heard(watcher))["reserved"] == 1024, PATIENCE_S, "the new reserve on the bus")
        until(lambda: logged(daemon, events.BROKER_BACK), PATIENCE_S, "the return in the log")
        with bus(broker.url) as opened:
            until(lambda: _pings(opened, host), PATIENCE_S, "an answer")
        daemon.send(signal.SIGTERM)
        assert daemon.ended() == 0
    assert len(logged(daemon, events.BROKER_LOST)) == 1
    assert len(logged(daemon, events.BROKER_BACK)) == 1
    # The agent logs one line; the library would log a line at every try.
    assert "AMQP server" not in "".join(record["message"] for record in daemon.records())
    assert "Traceback" not in daemon.text()
    assert rabbitmq.PASSWORD not in daemon.text()


def _memory(state: dict) -> dict:
    return next(one for one in state["resources"] if one["resource_class"] == "MEMORY_MB")


def _pings(opened, host) -> bool:
    from agent.bus.transport import oslo_messaging

    try:
        return bool(caller(opened, host.name).prepare(timeout=TRY_S).call({}, "ping"))
    except (oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure):
        return False


def test_a_frozen_broker_does_not_delay_audits_or_the_stop(host, broker, placement):
    """RabbitMQ accepts connections and does not answer; the daemon still audits, and still stops in time."""
    with host.daemon() as daemon:
        daemon.first_audit()
        until(lambda: logged(daemon, events.ENDPOINT_UP), PATIENCE_S, "the endpoint")
        with broker.paused():
            for number in range(5):
                reserve(host, daemon, 1000 + number)
                until(
                    lambda n=number: reserved(placement, host) == 1000 + n, PATIENCE_S, "the new reserve in Placement"
                )
            daemon.send(signal.SIGTERM)
            assert daemon.ended(STOP_S) == 0


def test_a_daemon_connects_to_a_broker_that_starts_later(host, broker, placement):
    """The daemon starts while RabbitMQ is down; it audits at once, and answers RPC calls after RabbitMQ has started."""
    broker.stop_broker()
    with host.daemon() as daemon:
        daemon.first_audit()
        until(lambda: reserved(placement, host) == 512, PATIENCE_S, "the inventory in Placement")
        broker.start()
        until(lambda: logged(daemon, events.ENDPOINT_UP), PATIENCE_S, "the endpoint")
        with bus(broker.url) as opened:
            until(lambda: _pings(opened, host), PATIENCE_S, "an answer")
        daemon.send(signal.SIGTERM)
        assert daemon.ended() == 0


def test_the_daemon_stops_in_time_while_the_broker_is_down(host, broker):
    broker.stop_broker()
    with host.daemon() as daemon:
        daemon.first_audit()
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0


def test_no_requests_pile_up_for_a_killed_daemon(host, broker):
    """Requests of `stocktake watch` to a killed daemon do not pile up in the daemon's RabbitMQ queues."""
    host.configure({"notifications": {"enabled": False, "publish_interval": 1}})
    with listener(broker.url) as watcher, host.daemon() as daemon:
        daemon.first_audit()
        heard(watcher)
        until(lambda: logged(daemon, events.ENDPOINT_UP), PATIENCE_S, "the endpoint")
        os.kill(daemon.process.pid, signal.SIGKILL)
        daemon.process.wait(PATIENCE_S)
        for _ in range(3):
            watcher.ask()
    left = {name: count for name, count in queues(broker).items() if host.name in name or name == "stocktake"}
    assert left == {f"stocktake.{host.name}": 0, "stocktake": 0}


def test_watch_once_prints_a_row_for_each_host(host, broker):
    """`stocktake watch --once --all` prints each host's condition and free amounts, and exits with 0."""
    with host.daemon() as daemon:
        daemon.first_audit()
        until(lambda: logged(daemon, events.ENDPOINT_UP), PATIENCE_S, "the endpoint")
        done = host.stocktake("watch", "--once", "--all")
        whole = host.stocktake("watch", "--once", "-f", "json")
    assert (done.code, whole.code) == (0, 0), done.stderr + whole.stderr
    head, row = [line.split() for line in done.stdout.splitlines() if line.startswith(("SEV", "CLEAN"))]
    assert head == ["SEV", "HOST", "FOR", "WHAT", "LEAKED", "FREE"]
    # 8 CPUs at nova's initial ratio of 4.0, and none recorded as used; 8192 MiB less 512 for the host.
    assert [*row[:3], row[-1].rsplit("/", 1)[0]] == ["CLEAN", host.name, "-", "32/7"]
    document = json.loads(whole.stdout)
    assert [(each["host"], each["condition"]) for each in document["hosts"]] == [(host.name, "clean")]


def test_watch_once_exits_2_if_no_agent_answers(host):
    done = host.stocktake("watch", "--once", "--timeout", "1")
    assert (done.code, done.stdout) == (2, "")
    assert "no agent has answered within 1 s" in done.stderr


def test_watch_exits_78_without_a_transport_url(host):
    """`stocktake watch` needs the message bus; without [DEFAULT] transport_url it says so and exits with 78."""
    host.configure({"DEFAULT": {"transport_url": None}})
    done = host.stocktake("watch", "--once")
    assert (done.code, done.stdout) == (78, "")
    assert "watch needs the message bus: set [DEFAULT] transport_url" in done.stderr


@pytest.mark.parametrize("wrong", ["0", "-1", "nan", "x", "1e9"])
def test_watch_exits_127_for_an_invalid_timeout(host, wrong):
    """`stocktake watch --once --timeout 0` exits with 127, and so do a negative, a huge and a non-numeric timeout."""
    assert host.stocktake("watch", "--once", "--timeout", wrong).code == 127


def test_watch_exits_75_if_the_broker_is_down(host, broker):
    """RabbitMQ is down: `stocktake watch` prints that the connection was refused, and exits with 75."""
    broker.stop_broker()
    done = host.stocktake("watch", "--once")
    assert (done.code, done.stdout) == (75, "")
    assert "Connection refused" in done.stderr or "ECONNREFUSED" in done.stderr
    assert rabbitmq.PASSWORD not in done.stderr
    assert "Traceback" not in done.stderr


def test_watch_exits_75_if_the_broker_is_frozen(host, broker):
    """RabbitMQ accepts connections and does not answer; `stocktake watch --once` gives up and exits with 75."""
    with broker.paused():
        done = host.stocktake("watch", "--once")
    assert (done.code, done.stdout) == (75, "")
    assert "did not answer within" in done.stderr


def test_watch_exits_75_if_the_broker_password_is_wrong(host, broker):
    host.configure({"DEFAULT": {"transport_url": broker.url.replace(rabbitmq.PASSWORD, "wrong-one")}})
    done = host.stocktake("watch", "--once")
    assert (done.code, done.stdout) == (75, "")
    assert "wrong-one" not in done.stderr


def test_watch_prints_a_line_for_each_message_into_a_pipe(host):
    """If its output is a pipe, `stocktake watch` prints one line for each message of an agent instead of a table."""
    with host.daemon() as daemon:
        daemon.first_audit()
        process = subprocess.Popen(
            host.command("stocktake", "watch"), stdout=subprocess.PIPE, env=host.environ(), text=True
        )
        try:
            told = [process.stdout.readline() for _ in range(2)]
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 130
        finally:
            process.kill()
            process.communicate()
    assert all(line.split()[0] == host.name and " vcpu=" in line for line in told)


def test_watch_lists_unseen_hosts_with_a_nova_service(host):
    """`stocktake watch` also lists a host that has a nova-compute service and never sent a message."""
    with host.rows() as connection:
        for number, (name, disabled) in enumerate((("cmp-gone", False), ("cmp-disabled", True)), start=9001):
            service = Service(
                id=number, version=1, disabled=disabled, forced_down=False, last_seen_up=None, created_at=None
            )
            cell.add_service(connection, name, service)
    with host.daemon() as daemon:
        daemon.first_audit()
        done = host.stocktake("watch", "--once", "--fail-on", "never")
    assert done.code == 3, done.stderr
    assert "0 of 2 expected hosts seen, 1 unexpected host" in done.stdout
    rows = [line.split("  ") for line in done.stdout.splitlines() if line.startswith("NEVER")]
    assert [row[1] for row in rows] == ["cmp-disabled", "cmp-gone"]
    assert "(disabled) expected host, no message since" in done.stdout


def audits_for(daemon: Daemon, reason: str) -> int:
    return sum(reason in record["extra"]["reasons"] for record in logged(daemon, events.AUDIT_DONE))


def test_audit_requests_by_rpc_are_rate_limited(host, broker):
    """Requests by the RPC audit_now start at most one audit per [agent] peer_audit_interval.

    SIGUSR1 starts an audit at once.
    """
    host.configure({"DEFAULT": {"debug": True}, "agent": {"peer_audit_interval": 3600}})
    with host.daemon() as daemon, bus(broker.url) as opened:
        daemon.first_audit()
        until(lambda: logged(daemon, events.ENDPOINT_UP), PATIENCE_S, "the endpoint")
        client = caller(opened, host.name)
        answered(client, "ping")
        for _ in range(500):
            client.cast({}, "audit_now")
        # The endpoint serves the queue in order: all casts have arrived before this call.
        answer = answered(client, "audit_now")
        assert answer["accepted"] is True
        assert 3600 - PATIENCE_S < answer["audit_in_s"] <= 3600
        until(lambda: audits_for(daemon, "rpc: audit_now") >= 1, PATIENCE_S, "the first one's audit")
        assert answered(client, "audit_now")["waiting"] == ["rpc: audit_now"]
        # An operator's request does not wait, and its audit also serves the waiting requests.
        daemon.send(signal.SIGUSR1)
        until(lambda: audits_for(daemon, "signal: USR1") == 1, PATIENCE_S, "the operator's audit")
        assert audits_for(daemon, "rpc: audit_now") == 2
        # A shorter interval applies from the reload on, also to waiting requests.
        assert answered(client, "audit_now")["audit_in_s"] > 3000
        host.configure({"DEFAULT": {"debug": True}, "agent": {"peer_audit_interval": 1}})
        daemon.send(signal.SIGHUP)
        until(lambda: audits_for(daemon, "rpc: audit_now") == 3, PATIENCE_S, "what waited")
        daemon.send(signal.SIGTERM)
        assert daemon.ended() == 0
