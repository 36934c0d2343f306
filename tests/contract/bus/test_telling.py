"""Notifications, fleet messages and calls over a real RabbitMQ, with real listeners, before and after an outage."""

import gc
import threading
import time
from dataclasses import replace

import pytest

from agent.bus.fanout import Fleet
from agent.bus.host_state import Sending, host_state
from agent.bus.options import BusOptions
from agent.bus.service import checked_bus
from agent.bus.transport import oslo_messaging
from agent.errors import ConfigError, SourceUnavailable
from agent.model.finding import SeenFinding, Severity
from agent.model.report import Outcome
from agent.render.documents import report_document
from agent.telemetry import events
from agent.telemetry.finding_changes import Change, FindingChange
from tests.rigs import rabbitmq
from tests.rigs.bus import NOW, agent, answered, bus, caller, heard, listener, notified, queues
from tests.rigs.placement import new_uuid
from tests.rigs.reports import FINDING, REPORT
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.skipif(not rabbitmq.available(), reason="no rabbitmq-server here"),
    # amqp does not close the socket of a broken connection; the garbage collector does.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

TOPIC = "stocktake_notifications"
# The time for which a message to a frozen broker hangs, until the heartbeat detects the outage.
HANGS_S = 60.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with rabbitmq.running(tmp_path_factory.mktemp("broker")) as started:
        yield started
    # Threads blocked by a frozen broker end with it; collect the garbage while the filterwarnings mark applies.
    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("bus-")], 180, "the bus's threads")
    gc.collect()


@pytest.fixture
def host():
    return f"cmp-{new_uuid()}"


def changed(change: Change, severity: Severity) -> FindingChange:
    finding = replace(FINDING.finding, severity=severity)
    return FindingChange(change=change, seen=SeenFinding(finding=finding, confirmed=True, first_seen_at=NOW))


def test_notifications_about_findings_have_a_priority(broker, host):
    """The agent sends notifications about findings over RabbitMQ.

    A notification about a new finding of severity error has priority error. A notification that a finding is gone has
    priority info.
    """
    with notified(broker.url, TOPIC) as listening, agent(broker.url, host, topics=(TOPIC,)) as told:
        told.audited(REPORT, (changed(Change.APPEARED, Severity.ERROR), changed(Change.GONE, Severity.ERROR)))
        found = [listening.found.get(timeout=60) for _ in range(3)]
    assert {publisher for _, publisher, _, _ in found} == {f"stocktake.{host}"}
    assert sorted((priority, event_type) for priority, _, event_type, _ in found) == [
        ("error", "stocktake.finding.appeared"),
        ("info", "stocktake.audit.end"),
        ("info", "stocktake.finding.gone"),
    ]
    assert {payload["audit_id"] for _, _, _, payload in found} == {REPORT.audit_id}


def test_two_bus_listeners_receive_the_same_host_state(broker, host):
    """After an audit the agent sends the state of its host over RabbitMQ to every listener."""
    with listener(broker.url) as one, listener(broker.url) as other, agent(broker.url, host) as told:
        told.audited(REPORT)
        states = heard(one), heard(other)
    sending = Sending(at=NOW, interval_s=3600.0, agent_version="1.2.3")
    assert states == (host_state(REPORT, sending),) * 2


def test_a_changed_audit_result_is_sent_at_once(broker, host):
    """An audit has another outcome than the audit before. The agent sends the new outcome over RabbitMQ at once."""
    with listener(broker.url) as watcher, agent(broker.url, host) as told:
        told.audited(REPORT)
        heard(watcher)
        told.audited(replace(REPORT, audit_id="equal"))
        told.audited(replace(REPORT, audit_id="other", outcome=Outcome.CLEAN))
        assert heard(watcher)["audit_id"] == "other"


def test_a_late_listener_can_request_the_host_state(broker, host):
    """A listener starts after the agent's last message, asks for the state of the host, and receives it."""
    with agent(broker.url, host) as told, bus(broker.url) as opened:
        with listener(broker.url) as early:
            told.audited(REPORT)
            heard(early)  # sent once: the late watcher receives only what it asks for
        answered(caller(opened, host), "ping")
        with listener(broker.url) as late:
            assert late.take(0.5) is None
            late.ask()
            assert heard(late)["host"] == REPORT.host


def test_a_new_listener_hears_messages_after_others_left(broker):
    """RabbitMQ deletes the exchange together with its last listener.

    A later listener still receives the agent's messages.
    """
    with bus(broker.url) as opened:
        fleet = Fleet(opened)
        for number in range(3):
            with listener(broker.url) as watcher:
                fleet.send({"number": number})
                assert heard(watcher) == {"number": number}
            # The exchange was deleted with its last listener.
            fleet.send({"number": "unheard"})
            fleet.send({"number": "unheard"})


def test_the_agent_answers_calls_of_every_rpc_method(broker, host):
    """The agent answers ping, last_report, audit_now and publish_now over RabbitMQ."""
    with agent(broker.url, host) as told, bus(broker.url) as opened:
        client = caller(opened, host)
        assert answered(client, "ping") == {"host": host, "agent_version": "1.2.3"}
        assert client.call({}, "last_report") is None
        told.audited(REPORT)
        assert client.call({}, "last_report") == {"agent_version": "1.2.3"} | report_document(REPORT)
        assert client.call({}, "audit_now") == {
            "accepted": True,
            "waiting": ["rpc: audit_now"],
            "audit_in_s": 7.25,
        }
        assert client.call({}, "publish_now") == {"accepted": True}
        assert told.reasons == ["rpc: audit_now"]


def test_publish_now_is_refused_without_periodic_messages(broker, host):
    """The agent answers the RPC call publish_now with accepted: false if its periodic messages are disabled."""
    with agent(broker.url, host, interval_s=None) as told, bus(broker.url) as opened:
        told.audited(REPORT)
        assert answered(caller(opened, host), "publish_now") == {"accepted": False}


@pytest.mark.parametrize(
    ("target", "method", "arguments", "named"),
    [
        ({}, "audit_now", {"reasons": ["mine"]}, "BadCall"),
        ({}, "last_report", {"path": "/etc/shadow"}, "BadCall"),
        ({}, "ping", {"_context": 1}, "BadCall"),
        ({}, "publish_now", {"context": {}}, "BadCall"),
        ({}, "no_such_method", {}, "NoSuchMethod"),
        ({}, "_refuse", {}, "NoSuchMethod"),
        ({"version": "2.0"}, "ping", {}, "UnsupportedVersion"),
        ({"namespace": "other"}, "ping", {}, "UnsupportedVersion"),
    ],
)
def test_an_invalid_rpc_call_raises_an_error(broker, host, caplog, target, method, arguments, named):
    """The caller gets an error for a wrong argument, method, version or namespace, and the agent starts no audit."""
    with agent(broker.url, host) as told, bus(broker.url) as opened:
        answered(caller(opened, host), "ping")
        with pytest.raises(oslo_messaging.RemoteError) as error:
            caller(opened, host, **target).call({}, method, **arguments)
        assert error.value.exc_type == named
        assert answered(caller(opened, host), "ping")["host"] == host
        assert told.reasons == []


def test_no_old_messages_remain_in_the_broker(broker, host):
    """After agents and listeners have left, RabbitMQ keeps no waiting message and no queue of a listener."""
    with agent(broker.url, host, interval_s=1.0) as told, bus(broker.url) as opened:
        client = caller(opened, host)
        answered(client, "ping")
        for number in range(3):
            told.audited(replace(REPORT, audit_id=str(number), duration_ms=float(number), published=number % 2 == 0))
            assert client.call({}, "publish_now") == {"accepted": True}
        with listener(broker.url) as watcher:
            heard(watcher)
    # A queue without a reader would keep its messages; the queue of a watcher that has just left expires after a while.
    until(lambda: left(broker) == ({}, []), 120, "no message waits, and the watcher's queue has gone")
    assert [name for name in queues(broker) if name.startswith("stocktake_fleet")] != []


def left(broker) -> tuple[dict[str, int], list[str]]:
    """Return the queues in which messages wait, with their number, and the queues of watchers."""
    found = queues(broker)
    waiting = {name: count for name, count in found.items() if count and not name.startswith(TOPIC)}
    return waiting, [name for name in found if name.startswith("stocktake_fleet_fanout")]


def test_the_agent_reconnects_after_a_broker_outage(broker, host, caplog):
    """After an outage of RabbitMQ, the agent reconnects and sends the messages that waited."""
    caplog.set_level("INFO", logger="stocktake")
    with (
        listener(broker.url) as watcher,
        agent(broker.url, host, topics=(TOPIC,), interval_s=1.0) as told,
        bus(broker.url) as opened,
    ):
        told.audited(REPORT)
        heard(watcher)
        answered(caller(opened, host), "ping")
        broker.kill()
        until(lambda: [r for r in caplog.records if r.msg == events.BROKER_LOST], 120, "the loss in the log")
        told.audited(replace(REPORT, audit_id="while it was away"))
        broker.start()
        until(lambda: [r for r in caplog.records if r.msg == events.BROKER_BACK], 120, "the return in the log")
        until(lambda: heard(watcher)["audit_id"] == "while it was away", 120, "the newest state")
        assert answered(caller(opened, host), "ping")["host"] == host
        with notified(broker.url, TOPIC) as listening:
            until(
                lambda: listening.found.get(timeout=60)[3]["audit_id"] == "while it was away", 120, "what was kept back"
            )
    assert len([r for r in caplog.records if r.msg == events.BROKER_LOST]) == 1
    assert len([r for r in caplog.records if r.msg == events.BROKER_BACK]) == 1


def test_a_frozen_broker_delays_no_audit_or_shutdown(broker, host):
    """While RabbitMQ does not answer, the agent neither waits after an audit nor hangs at its shutdown."""
    with agent(broker.url, host, topics=(TOPIC,), interval_s=1.0) as told, bus(broker.url) as opened:
        told.audited(REPORT)
        answered(caller(opened, host), "ping")
        with broker.paused():
            began = time.monotonic()
            for number in range(2000):
                told.audited(replace(REPORT, audit_id=str(number)))
            told_s = time.monotonic() - began
            began = time.monotonic()
            told.bus.deafen()
            told.bus.stop()
            stopped_s = time.monotonic() - began
    assert told_s < HANGS_S / 2
    assert stopped_s < HANGS_S / 2


def test_a_request_to_all_agents_times_out(broker, monkeypatch):
    """If RabbitMQ is frozen, a listener's request to all agents ends with an error after a time limit."""
    monkeypatch.setattr("agent.bus.listener.REACH_S", 0.5)
    with listener(broker.url) as watcher, broker.paused():
        began = time.monotonic()
        with pytest.raises(SourceUnavailable, match=r"did not answer within 0\.5 s"):
            watcher.ask()
        assert time.monotonic() - began < HANGS_S / 2


def test_a_message_arrives_after_a_frozen_broker_resumes(broker, host):
    """While RabbitMQ is frozen, a listener receives nothing. It receives the agent's message after RabbitMQ resumes."""
    with listener(broker.url) as watcher, agent(broker.url, host) as told:
        told.audited(REPORT)
        heard(watcher)
        with broker.paused():
            told.audited(replace(REPORT, audit_id="held up", outcome=Outcome.CLEAN))
            assert watcher.take(1.5) is None
        until(lambda: heard(watcher)["audit_id"] == "held up", 240, "the state that was held up")


def test_an_agent_connects_to_a_broker_that_starts_later(broker, host):
    """An agent starts while RabbitMQ is down.

    After RabbitMQ starts, the agent answers calls and sends its host's state.
    """
    broker.stop_broker()
    try:
        with agent(broker.url, host, interval_s=1.0) as told:
            told.audited(REPORT)
            broker.start()
            with bus(broker.url) as opened, listener(broker.url) as watcher:
                assert answered(caller(opened, host), "ping")["host"] == host
                assert heard(watcher)["host"] == REPORT.host
    finally:
        if not broker.is_running:
            broker.start()


@pytest.mark.parametrize("url", ["rabbit", "nonsense://somewhere/", "rabbit://h:port/"])
def test_an_invalid_transport_url_raises_a_config_error(url):
    """The transport_url of the message bus is invalid, for example because the port is no number.

    The agent raises a ConfigError that names transport_url.
    """
    with pytest.raises(ConfigError, match="transport_url"):
        checked_bus(BusOptions(url=url))
