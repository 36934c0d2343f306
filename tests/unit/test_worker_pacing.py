"""When the worker audits by itself."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.model.report import AuditReport, Outcome, SourceStatus
from agent.worker import LOOK_CAP_S, RETRY_CAP_S, FollowUp, follow_up, look_delay, retry_delay, worth_retrying

AUDITS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


def test_a_clean_audit_leaves_nothing_open():
    assert follow_up(FollowUp(failures=3, looks=2, at=5.0, reason="retry"), 10.0, failed=False, look_again=False) == (
        FollowUp()
    )


def test_the_first_look_again_is_at_once_and_the_next_ones_wait_longer():
    delays = [look_delay(number) for number in range(1, 20)]
    assert delays[0] == 0.0
    assert delays == sorted(delays)
    assert delays[1] >= 0.5
    assert delays[-1] == LOOK_CAP_S


@given(st.integers(1, 10_000), st.floats(0.5, 1.0))
def test_a_retry_waits_a_jittered_while_and_never_longer_than_the_cap(failures, chance):
    delay = retry_delay(failures, lambda _low, _high: chance)
    assert 1.0 <= delay <= RETRY_CAP_S
    assert delay <= 2.0 ** min(failures, 9)


def test_retries_of_many_hosts_are_spread():
    assert len({retry_delay(4) for _ in range(20)}) > 10


@given(AUDITS)
def test_what_failed_or_asked_is_always_looked_at_again(audits):
    state = FollowUp()
    for number, (failed, look_again) in enumerate(audits):
        now = float(number)
        state = follow_up(state, now, failed=failed, look_again=look_again)
        if failed or look_again:
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
def test_an_audit_is_worth_retrying_where_anything_was_not_read_or_not_written(ok, error, expected):
    sources = tuple(
        SourceStatus(name=str(number), ok=read, age_s=0.0, duration_ms=1.0, error=None if read else "refused")
        for number, read in enumerate(ok)
    )
    report = AuditReport(
        audit_id="a", host="h", node=None, provider_uuid=None, role="owner", reasons=(), duration_ms=0,
        started_at="2026-01-01T00:00:00.000Z", outcome=Outcome.PARTIAL, sources=sources, error=error,
    )  # fmt: skip
    assert worth_retrying(report) is expected
