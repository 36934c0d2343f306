"""Each request is followed by an audit that starts after the request, and audits never overlap."""

import itertools
import threading
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.daemon.audit_queue import KINDS, REASONS_PER_KIND, AuditQueue, Pacing
from tests.rigs.wait import until

SETTLE_S, CAP_S = 0.2, 1.0


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock) -> AuditQueue:
    return AuditQueue(Pacing(settle_s=SETTLE_S, cap_s=CAP_S), clock)


class QueueMachine(RuleBasedStateMachine):
    """A model that knows the time of every request and every audit."""

    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.queue = AuditQueue(Pacing(settle_s=SETTLE_S, cap_s=CAP_S), self.clock)
        self.asked: list[tuple[float, str]] = []
        self.urgent = False
        self.auditing = False

    @rule(reason=st.sampled_from(["start-up", "interval", "domain: started", "domain: stopped"]))
    def event(self, reason):
        self.queue.request(reason)
        self.asked.append((self.clock.now, reason))

    @rule()
    def operator(self):
        self.queue.request_now("operator")
        self.asked.append((self.clock.now, "operator"))
        self.urgent = True

    @rule(seconds=st.sampled_from([0.01, 0.1, 0.25, 0.9, 5.0]))
    def time_passes(self, seconds):
        self.clock.now += seconds

    @precondition(lambda self: not self.auditing)
    @rule()
    def worker_takes(self):
        taken = self.queue.take(0)
        if taken is None:
            assert not self._must_be_due()
            return
        assert set(taken) == {reason for _, reason in self.asked}
        assert list(taken) == sorted(set(taken))
        assert self.urgent or self._may_be_due()
        self.asked, self.urgent, self.auditing = [], False, True

    @precondition(lambda self: self.auditing)
    @rule()
    def audit_ends(self):
        self.auditing = False

    def _may_be_due(self) -> bool:
        quiet = self.clock.now - self.asked[-1][0]
        waited = self.clock.now - self.asked[0][0]
        return quiet >= SETTLE_S - 1e-6 or waited >= CAP_S - 1e-6

    def _must_be_due(self) -> bool:
        if not self.asked:
            return False
        quiet = self.clock.now - self.asked[-1][0]
        waited = self.clock.now - self.asked[0][0]
        return self.urgent or quiet >= SETTLE_S + 1e-6 or waited >= CAP_S + 1e-6

    @invariant()
    def nothing_asked_is_forgotten(self):
        assert set(self.queue.waiting) == {reason for _, reason in self.asked}


TestQueueLaw = QueueMachine.TestCase


def test_a_burst_of_requests_causes_one_audit(queue, clock):
    """Five audit requests in half a second cause a single audit, which starts shortly after the last request."""
    for _ in range(5):
        queue.request("domain: started")
        clock.now += 0.1
    assert queue.take(0) is None
    clock.now += 0.11
    assert queue.take(0) == ("domain: started",)
    assert queue.take(0) is None


def test_steady_requests_cannot_postpone_an_audit_for_ever(queue, clock):
    """Audit requests arrive every 0.1 s without a pause; an audit still starts after the maximum wait of 1 s."""
    taken = []
    for _ in range(30):
        queue.request("domain: started")
        clock.now += 0.1
        taken.append(queue.take(0))
    assert sum(answer is not None for answer in taken) == 3
    assert taken[9] == ("domain: started",)


def test_an_audit_for_an_operator_also_serves_queued_requests(queue):
    """An operator's request starts an audit at once, and this audit also serves all queued requests."""
    queue.request("domain: started")
    queue.request_now("signal")
    assert queue.take(0) == ("domain: started", "signal")


def test_requests_during_an_audit_cause_one_further_audit(queue, clock):
    queue.request_now("start-up")
    assert queue.take(0) == ("start-up",)
    for _ in range(100):
        queue.request("domain: started")
    clock.now += 3
    assert queue.take(0) == ("domain: started",)
    assert queue.take(0) is None


def test_the_audit_queue_limits_the_stored_reasons(queue, clock):
    """The queue stores a reason for each audit request, and limits the number and the length of the reasons."""
    for number in range(10_000):
        queue.request(f"domain: {number} {'x' * 1000}")
        queue.request(f"kind{number}: once")
    clock.now += 1
    taken = queue.take(0)
    assert f"domain: more than {REASONS_PER_KIND} audit requests" in taken
    assert "other" in taken
    assert len(taken) <= KINDS + 1
    assert max(map(len, taken)) <= 250


def test_new_delays_apply_to_requests_already_queued(queue, clock):
    """When the delays of the audit queue change, the new delays also apply to the requests that are already waiting."""
    queue.request("domain: started")
    queue.pace(Pacing(settle_s=30.0, cap_s=60.0))
    clock.now += 29
    assert queue.take(0) is None
    queue.pace(Pacing(settle_s=0.0, cap_s=0.0))
    assert queue.take(0) == ("domain: started",)


def test_closing_the_queue_wakes_the_waiting_worker(queue):
    """A worker that waits for an audit request returns when the queue is closed, and later requests are ignored."""
    real = AuditQueue(Pacing())
    answers = []
    worker = threading.Thread(target=lambda: answers.append(real.take(60)))
    worker.start()
    real.close()
    worker.join(60)
    assert answers == [None]
    real.request_now("late")
    assert real.closed
    assert real.take(0) is None
    assert real.waiting == ()


def test_the_audit_queue_loses_no_reason_of_parallel_threads():
    """Six threads request audits at the same time, and the worker receives the reason of every request."""
    queue = AuditQueue(Pacing(settle_s=0.0, cap_s=0.0))
    taken: set[str] = set()

    def consume():
        while (answer := queue.take(60)) is not None:
            taken.update(answer)

    worker = threading.Thread(target=consume)
    worker.start()
    producers = [
        threading.Thread(target=lambda k=kind: [queue.request(f"k{k}: {n % 5}") for n in range(500)])
        for kind in range(6)
    ]
    for producer in producers:
        producer.start()
    for producer in producers:
        producer.join()
    until(lambda: len(taken) == 30, 60, "every reason handed out")
    queue.close()
    worker.join(60)
    assert taken == {f"k{kind}: {n}" for kind in range(6) for n in range(5)}


def test_the_worker_waits_until_an_audit_request_is_due():
    """The worker that takes an audit request from the queue waits until the request's short delay has passed."""
    queue = AuditQueue(Pacing(settle_s=0.1, cap_s=60.0))
    asked_at = time.monotonic()
    queue.request("domain: started")
    assert queue.take(120) == ("domain: started",)
    assert 0.1 <= time.monotonic() - asked_at < 60.0


def test_a_queue_on_hold_starts_no_audit(queue, clock):
    """While the audit queue is on hold, it collects requests and starts no audit."""
    queue.hold()
    queue.request("libvirt: connected")
    queue.request_in_turn("interval")
    clock.now += 100 * CAP_S
    assert queue.take(0) is None
    assert queue.waiting == ("interval", "libvirt: connected")
    queue.release("start-up")
    assert queue.take(0) == ("interval", "libvirt: connected", "start-up")


def test_an_operator_request_ignores_a_hold_of_the_queue(queue, clock):
    """An operator's request starts an audit at once even while the audit queue is on hold at start-up."""
    queue.hold()
    queue.request("libvirt: connected")
    queue.request_now("signal: USR1")
    assert queue.take(0) == ("libvirt: connected", "signal: USR1")
    queue.request("domain: started")
    queue.request_in_turn("interval")
    clock.now += CAP_S
    assert queue.take(0) is None
    queue.release("start-up")
    assert queue.take(0) == ("domain: started", "interval", "start-up")


def test_periodic_audits_start_without_a_delay(queue, clock):
    """A periodic audit starts at once; an audit for a libvirt event waits briefly for further events."""
    queue.hold()
    queue.release("start-up")
    assert queue.take(0) == ("start-up",)
    queue.request("domain: started")
    assert queue.take(0) is None
    clock.now += SETTLE_S
    assert queue.take(0) == ("domain: started",)
    queue.request_in_turn("interval")
    assert queue.take(0) == ("interval",)


def test_rpc_requests_soon_after_an_rpc_audit_share_one_audit(queue, clock):
    """For 10 s after an audit by RPC, further RPC requests only wait; then one audit serves them all."""
    assert queue.request_by_peer("rpc") == 0.0
    assert queue.take(0) == ("rpc",)
    clock.now += 3
    assert [queue.request_by_peer("rpc") for _ in range(500)] == [7.0] * 500
    assert queue.take(0) is None
    clock.now += 7
    assert queue.take(0) == ("rpc",)
    assert queue.take(0) is None


def test_an_audit_for_an_event_also_serves_an_rpc_request(queue, clock):
    """An audit for a libvirt event also serves an RPC request that is waiting in the queue."""
    queue.request_by_peer("rpc")
    queue.take(0)
    queue.request_by_peer("rpc")
    queue.request("domain: started")
    assert queue.request_by_peer("rpc") == pytest.approx(SETTLE_S), "peers do not put off what an event asks for"
    clock.now += SETTLE_S
    assert queue.take(0) == ("domain: started", "rpc")
    assert queue.request_by_peer("rpc") == 10.0
    queue.request_now("operator")
    assert queue.take(0) == ("operator", "rpc")


def test_an_rpc_audit_starts_if_the_minimum_pause_becomes_0(queue):
    """A waiting audit requested over RPC starts at once if the operator sets the minimum pause to 0."""
    queue.request_by_peer("rpc")
    queue.take(0)
    queue.request_by_peer("rpc")
    queue.pace(Pacing(peer_s=0.0))
    assert queue.take(0) == ("rpc",)


def test_a_closed_audit_queue_drops_rpc_requests(queue):
    """A closed audit queue drops the waiting RPC requests and accepts no new ones."""
    queue.request_by_peer("rpc")
    queue.close()
    assert queue.waiting == ()
    assert queue.request_by_peer("rpc") is None


@given(st.lists(st.tuples(st.sampled_from(["peer", "event", "operator"]), st.floats(0, 20)), max_size=40))
def test_an_rpc_audit_starts_no_later_than_its_caller_was_told(steps):
    """The answer to an RPC request says when the audit starts, and the audit starts no later than that."""
    clock = Clock()
    queue = AuditQueue(Pacing(settle_s=SETTLE_S, cap_s=CAP_S), clock)
    alone, promised = [], None
    for kind, pause_s in steps:
        if kind == "peer":
            due_at = clock.now + queue.request_by_peer("rpc")
            promised = due_at if promised is None else min(promised, due_at)
        else:
            (queue.request_now if kind == "operator" else queue.request)(kind)
        clock.now += pause_s
        taken = queue.take(0) or ()
        if taken == ("rpc",):
            alone.append(clock.now)
        if "rpc" in taken:
            promised = None
        assert promised is None or clock.now < promised, "a peer was promised an audit by now"
    assert all(later - earlier >= 9.999 for earlier, later in itertools.pairwise(alone))
