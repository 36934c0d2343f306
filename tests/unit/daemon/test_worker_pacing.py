"""When the worker schedules an audit by itself."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.daemon.audit_queue import Pacing
from agent.daemon.worker import (
    GATHER_CAP_S,
    REPEAT_CAP_S,
    RETRY,
    RETRY_CAP_S,
    FollowUp,
    follow_up,
    gathering,
    repeat_delay,
    retry_delay,
    worth_retrying,
)
from agent.model.report import AuditReport, Outcome, SourceStatus

AUDITS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


def test_a_successful_audit_clears_the_scheduled_retry():
    assert follow_up(
        FollowUp(failures=3, repeats=2, at=5.0, reason="retry"), 10.0, failed=False, audit_again=False
    ) == (FollowUp())


def test_the_delay_before_a_repeated_audit_grows_to_a_maximum():
    delays = [repeat_delay(number) for number in range(1, 20)]
    assert delays[0] == 0.0
    assert delays == sorted(delays)
    assert delays[1] >= 0.5
    assert delays[-1] == REPEAT_CAP_S


@given(st.integers(1, 10_000), st.floats(0.5, 1.0))
def test_the_retry_delay_never_exceeds_its_maximum(failures, chance):
    """After any number of failed audits, the random delay before the retry is at least 1 s and at most the maximum."""
    delay = retry_delay(failures, lambda _low, _high: chance)
    assert 1.0 <= delay <= RETRY_CAP_S
    assert delay <= 2.0 ** min(failures, 9)


def test_the_delay_before_a_retry_varies_randomly():
    assert len({retry_delay(4) for _ in range(20)}) > 10


@given(AUDITS)
def test_a_failed_audit_is_followed_by_another_audit(audits):
    state = FollowUp()
    for number, (failed, audit_again) in enumerate(audits):
        now = float(number)
        state = follow_up(state, now, failed=failed, audit_again=audit_again)
        if failed or audit_again:
            assert now <= state.at <= now + RETRY_CAP_S
        else:
            assert state.at is None


@pytest.mark.parametrize(
    ("ok", "error", "expected"),
    [
        ((True, True), None, False),
        ((True, False), None, True),
        ((True, True), "placement: PUT …/inventories: no answer (HTTP 503)", True),
        ((), "ZeroDivisionError: a bug", True),
    ],
)
def test_an_audit_is_retried_after_an_error_or_unread_source(ok, error, expected):
    """The agent retries an audit that ended with an error or could not read one of its sources."""
    sources = tuple(
        SourceStatus(name=str(number), ok=read, age_s=0.0, duration_ms=1.0, error=None if read else "refused")
        for number, read in enumerate(ok)
    )
    report = AuditReport(
        audit_id="a", host="h", node=None, provider_uuid=None, role="owner", reasons=(), duration_ms=0,
        started_at="2026-01-01T00:00:00.000Z", outcome=Outcome.PARTIAL, sources=sources, error=error,
    )  # fmt: skip
    assert worth_retrying(report) is expected


def report_of(*sources: SourceStatus, provider: str | None = "u", error: str | None = None) -> AuditReport:
    return AuditReport(
        audit_id="a", host="h", node=None, provider_uuid=provider, role="owner", reasons=(), duration_ms=0,
        started_at="2026-01-01T00:00:00.000Z", outcome=Outcome.PARTIAL, sources=sources, error=error,
    )  # fmt: skip


def read(name: str, *, ok: bool) -> SourceStatus:
    return SourceStatus(name=name, ok=ok, age_s=0.0, duration_ms=1.0, error=None if ok else "refused")


OUT = report_of(read("placement", ok=False), read("libvirt", ok=True))


@given(st.lists(st.floats(0.01, 20), min_size=1, max_size=200))
def test_a_failed_audit_does_not_postpone_a_scheduled_retry(gaps):
    """However many audits fail before a scheduled retry is due, the time of the retry does not change."""
    due = follow_up(FollowUp(failures=5), 0.0, failed=True, audit_again=False)
    now, state = 0.0, due
    for gap in gaps:
        now += gap
        if now >= due.at:
            break
        state = follow_up(state, now, failed=True, audit_again=False)
        assert state == due


def test_retry_pauses_double_up_to_a_maximum():
    state, now, pauses = FollowUp(), 0.0, []
    for _ in range(14):
        state = follow_up(state, now, failed=True, audit_again=False)
        pauses.append(state.at - now)
        now, state = state.at, FollowUp(failures=state.failures, reason=RETRY)
    assert all(2.0**n <= pause <= 2.0 ** (n + 1) for n, pause in enumerate(pauses[:7]))
    assert all(RETRY_CAP_S / 2 <= pause <= RETRY_CAP_S for pause in pauses[9:])


@given(st.booleans(), st.booleans(), st.floats(0, 600), st.sampled_from([None, 1.0, 250.0]))
def test_the_agent_does_not_retry_before_retry_after_has_passed(failed, audit_again, hold_s, due_in):
    """Placement answers a request with a Retry-After header.

    The agent schedules no retry of the audit before that time has passed.
    """
    before = FollowUp(failures=3, at=None if due_in is None else 100.0 + due_in, reason=RETRY)
    after = follow_up(before, 100.0, failed=failed, audit_again=audit_again, not_before=100.0 + hold_s)
    assert (after.at is None) is (not failed and not audit_again)
    assert after.at is None or after.at >= 100.0 + hold_s


def test_requests_are_collected_longer_if_placement_is_down():
    """While Placement is down, each failed audit lengthens the time in which the agent collects audit requests."""
    usual = Pacing()
    waits = [gathering(usual, failures, OUT).cap_s for failures in range(10)]
    assert waits == [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, GATHER_CAP_S, GATHER_CAP_S, GATHER_CAP_S, GATHER_CAP_S]
    assert gathering(usual, 9, OUT).settle_s == GATHER_CAP_S
    assert gathering(Pacing(settle_s=50.0, cap_s=60.0), 9, OUT) == Pacing(settle_s=50.0, cap_s=60.0)


@pytest.mark.parametrize(
    "report",
    [
        report_of(read("placement", ok=True), read("libvirt", ok=False)),
        report_of(read("placement", ok=False), read("libvirt", ok=False), provider=None),
        report_of(read("placement", ok=True), error="placement: PUT x: why (HTTP 400)"),
        report_of(),
    ],
    ids=["another source", "not asked, identity unknown", "a write", "a bug"],
)
def test_only_a_placement_outage_lengthens_the_wait(report):
    """Audit requests wait longer only if Placement cannot be read, not after a libvirt error or a failed write."""
    assert gathering(Pacing(), 9, report) == Pacing()
