"""The sender's thread, with plain lists as channels: what it sends when, and what a failed or hung channel costs."""

import contextlib
import itertools
import threading
import time
from dataclasses import replace

import pytest

from agent.bus import sender as module
from agent.bus import timeouts
from agent.bus.outbox import Outbox
from agent.bus.sender import Channels, Sender
from agent.errors import SourceUnavailable
from agent.model.report import Outcome
from agent.telemetry import events
from agent.telemetry.finding_changes import Change, FindingChange
from tests.rigs.reports import FINDING, REPORT
from tests.rigs.wait import until

# How long a channel hangs: longer than any machine needs for work that must not wait for that channel.
HANGS_S = 30.0
APPEARED = (FindingChange(change=Change.APPEARED, seen=FINDING),)


class Channel:
    """A channel that keeps the messages; it fails while ``error`` is set and hangs while ``gate`` is not set."""

    def __init__(self):
        self.sent = []
        self.sent_at = []
        self.tries = 0
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.inside = threading.Event()

    def send(self, message):
        self.inside.set()
        self.tries += 1
        self.gate.wait(HANGS_S)
        if self.error is not None:
            raise self.error
        self.sent.append(message)
        self.sent_at.append(time.monotonic())


@contextlib.contextmanager
def sending(fleet: Channel | None, notices: Channel | None, interval_s: float = 3600.0, most: int = 512):
    channels = Channels(
        send_state=fleet and fleet.send,
        send_notice=notices and notices.send,
        interval_s=interval_s,
        agent_version="1",
        broker="rabbit://x/",
    )
    sender = Sender(channels, Outbox(most), now=lambda: "2026-11-21T10:00:05.000Z")
    sender.start()
    try:
        yield sender
    finally:
        for channel in (fleet, notices):
            if channel is not None:
                channel.gate.set()
        sender.stop()


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_GAP_S", 0.05)
    monkeypatch.setattr(timeouts, "FIRST_PAUSE_S", 0.01)


def types(channel: Channel) -> list[str]:
    return [notice.event_type for notice in channel.sent]


def test_an_audit_without_change_sends_only_a_notification():
    """If an audit finds no change, the agent sends `stocktake.audit.end` but not the host state again."""
    fleet, notices = Channel(), Channel()
    with sending(fleet, notices) as sender:
        sender.publish(REPORT, APPEARED)
        sender.publish(replace(REPORT, audit_id="second"), ())
        until(lambda: len(notices.sent) == 3, 60, "three notices")
    assert types(notices) == ["stocktake.finding.appeared", "stocktake.audit.end", "stocktake.audit.end"]
    assert [state["outcome"] for state in fleet.sent] == ["findings"]


def test_only_a_changed_host_state_is_sent_before_the_interval():
    """Before the interval ends, the agent sends the host state again only if an audit's result has changed."""
    fleet = Channel()
    with sending(fleet, None) as sender:
        sender.publish(REPORT, ())
        until(lambda: len(fleet.sent) == 1, 60, "the first state")
        sender.publish(replace(REPORT, audit_id="same"), ())
        sender.publish(replace(REPORT, audit_id="other", outcome=Outcome.CLEAN), ())
        until(lambda: len(fleet.sent) == 2, 60, "the changed state")
    assert [state["audit_id"] for state in fleet.sent] == [REPORT.audit_id, "other"]


def test_an_unchanged_host_state_is_sent_every_interval():
    """The agent repeats an unchanged host state once per interval, so that watchers see that the agent is alive."""
    fleet = Channel()
    with sending(fleet, None, interval_s=0.1) as sender:
        sender.publish(REPORT, ())
        until(lambda: len(fleet.sent) >= 3, 60, "three states")


def test_many_state_requests_do_not_flood_the_broker():
    """Watchers may ask for the host state all the time; the agent keeps a minimum gap between two answers."""
    fleet = Channel()
    with sending(fleet, None) as sender:
        sender.publish(REPORT, ())

        def asked_until_told() -> bool:
            sender.ask()
            return len(fleet.sent) >= 4

        until(asked_until_told, 60, "four states")
    assert min(later - earlier for earlier, later in itertools.pairwise(fleet.sent_at)) >= module.SMALLEST_GAP_S


def test_an_early_state_request_adds_at_most_one_message():
    """A request for the host's state before the first audit adds at most one message to the audit's message."""
    fleet = Channel()
    with sending(fleet, None) as sender:
        sender.ask()
        sender.publish(REPORT, ())
        until(lambda: fleet.sent, 60, "the state")
    assert len(fleet.sent) <= 2


def test_no_notification_is_lost_while_the_broker_is_down(caplog):
    """The agent sends all queued notifications when the broker is back. It logs only failures 1, 2, 4, 8 and so on."""
    caplog.set_level("INFO")
    fleet, notices = Channel(), Channel()
    notices.error = SourceUnavailable("broker", "refused")
    with sending(fleet, notices) as sender:
        sender.publish(REPORT, APPEARED)
        until(lambda: any(r.msg == events.BROKER_LOST for r in caplog.records), 60, "the loss in the log")
        sender.publish(replace(REPORT, audit_id="second"), ())
        until(lambda: notices.tries >= 6, 60, "six tries")
        notices.error = None
        until(lambda: any(r.msg == events.BROKER_BACK for r in caplog.records), 60, "the return in the log")
    assert types(notices) == ["stocktake.finding.appeared", "stocktake.audit.end", "stocktake.audit.end"]
    told = [(record.msg, getattr(record, "times", 0)) for record in caplog.records if record.msg.startswith("broker")]
    assert told[:3] == [(events.BROKER_LOST, 1), (events.BROKER_STILL_LOST, 2), (events.BROKER_STILL_LOST, 4)]
    # On a slow machine the eighth failure may have happened as well.
    assert told[3:] in ([(events.BROKER_BACK, 0)], [(events.BROKER_STILL_LOST, 8), (events.BROKER_BACK, 0)])


def test_a_hanging_broker_does_not_delay_audits():
    """The broker hangs while the agent sends a notification; audits go on, and the sender can still stop."""
    notices = Channel()
    notices.gate.clear()
    with sending(None, notices, most=10) as sender:
        sender.publish(REPORT, ())
        until(notices.inside.is_set, 60, "the send that hangs")
        for _ in range(1000):
            sender.publish(REPORT, APPEARED)
        sender.stop()
        assert notices.sent == [], "whoever waits for the send that hangs waits for its end"
        notices.gate.set()
        until(lambda: len(notices.sent) >= 10, 60, "the last ten, and the one on its way")
    assert len(notices.sent) <= 11


def test_the_sender_sends_queued_notifications_before_it_stops(monkeypatch):
    monkeypatch.setattr(module, "STOP_S", HANGS_S)
    notices = Channel()
    notices.gate.clear()
    with sending(None, notices) as sender:
        sender.publish(REPORT, ())
        until(notices.inside.is_set, 60, "the send that waits")
        sender.publish(REPORT, APPEARED)
        threading.Timer(0.1, notices.gate.set).start()
        sender.stop()
        assert types(notices)[-1] == "stocktake.audit.end"
        assert len(notices.sent) == 3


def test_a_notification_that_is_no_json_does_not_block_others(caplog):
    """A bug makes a notification impossible to write as JSON; the agent logs the error and sends the later ones."""
    notices = Channel()
    notices.error = TypeError("not JSON")
    with sending(None, notices) as sender:
        sender.publish(REPORT, ())
        until(lambda: any(r.msg == events.MESSAGE_NOT_BUILT for r in caplog.records), 60, "the bug in the log")
        notices.error = None
        sender.publish(REPORT, APPEARED)
        until(lambda: len(notices.sent) == 2, 60, "the later ones")
    (record,) = [record for record in caplog.records if record.msg == events.MESSAGE_NOT_BUILT]
    assert record.exc_info[0] is TypeError


def test_a_broken_host_state_causes_no_busy_loop(caplog):
    """A bug makes the host state impossible to write as JSON; the agent pauses between its attempts to send it."""
    fleet = Channel()
    fleet.error = TypeError("not JSON")
    with sending(fleet, None) as sender:
        sender.publish(REPORT, ())
        until(lambda: any(getattr(r, "times", 0) == 4 for r in caplog.records), 60, "four tries")
        began = time.process_time()
        threading.Event().wait(0.3)
        assert time.process_time() - began < 0.2
