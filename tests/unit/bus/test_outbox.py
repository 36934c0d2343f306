"""The outbox is bounded and first in, first out; its put never blocks."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agent.bus.notices import Notice
from agent.bus.outbox import Outbox
from tests.rigs.reports import REPORT


def notice(number: int) -> Notice:
    return Notice(event_type=str(number), priority="info", payload={})


def drained(outbox: Outbox) -> list[str]:
    found = []
    while (first := outbox.first()) is not None:
        outbox.done(first)
        found.append(first.event_type)
    return found


@given(st.lists(st.integers(min_value=0, max_value=7), max_size=20))
def test_a_full_outbox_drops_the_oldest_notifications(sizes):
    """The queue of unsent notifications has a limit; the agent drops the oldest ones and counts them."""
    outbox = Outbox(most_notices=10)
    number = 0
    for size in sizes:
        outbox.put(REPORT, tuple(notice(number + step) for step in range(size)))
        number += size
    assert outbox.dropped == max(0, number - 10)
    assert drained(outbox) == [str(one) for one in range(max(0, number - 10), number)]


def test_the_outbox_keeps_only_the_newest_audit_report():
    outbox = Outbox()
    later = replace(REPORT, audit_id="later")
    outbox.put(REPORT, ())
    outbox.put(later, ())
    assert outbox.report is later


def test_a_notification_queued_during_a_send_is_not_lost():
    """If a notification is queued while the agent sends an older one, the new notification is not lost."""
    outbox = Outbox(most_notices=1)
    outbox.put(REPORT, (notice(1),))
    being_sent = outbox.first()
    outbox.put(REPORT, (notice(2),))
    outbox.done(being_sent)
    assert drained(outbox) == ["2"]


def test_two_requests_for_the_host_state_become_one():
    """Two watchers ask for the host state before the agent answers, and the outbox passes on one request."""
    outbox = Outbox()
    outbox.ask()
    outbox.ask()
    assert [outbox.asked(), outbox.asked()] == [True, False]


def test_a_new_report_wakes_the_waiting_sender():
    """The thread that sends messages waits for work; a new audit report or a shutdown ends its wait."""
    outbox = Outbox()
    outbox.put(REPORT, ())
    outbox.wait(60.0)
    outbox.close()
    outbox.wait(60.0)
    assert outbox.closed
