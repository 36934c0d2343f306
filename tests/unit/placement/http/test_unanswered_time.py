"""How long a command waits for a server that does not answer."""

import pytest
import requests

from agent.placement.http.question_time import QuestionTime
from agent.placement.http.unanswered_time import UnansweredTime


def test_requests_have_full_timeouts_without_a_shared_limit():
    """If a command has no shared time limit, each of its requests has its full timeout."""
    unanswered = UnansweredTime()
    unanswered.used(10_000.0)
    assert not unanswered.is_over
    assert QuestionTime(unanswered).left_s(30.0) == pytest.approx(30.0, abs=1.0)


@pytest.mark.parametrize(("used", "left", "is_over"), [(0.0, 30.0, False), (20.0, 10.0, False), (29.9, 0.1, True)])
def test_unanswered_requests_share_one_time_limit(used, left, is_over):
    """A command gives all its unanswered requests 30 s together. After 20 s without an answer, 10 s are left."""
    unanswered = UnansweredTime(30.0)
    unanswered.used(used)
    assert unanswered.left_s == pytest.approx(left)
    assert unanswered.is_over is is_over
    assert QuestionTime(unanswered).left_s(60.0) == pytest.approx(left, abs=1.0)


def test_the_time_left_is_never_negative():
    """A command may wait 30 s in all for requests without an answer.

    Unanswered requests have already taken 31 s. The time left is 0 s, and not -1 s.
    """
    unanswered = UnansweredTime(30.0)
    unanswered.used(31.0)
    assert (unanswered.left_s, unanswered.is_over) == (0.0, True)


def test_an_answered_request_does_not_reduce_the_time_left():
    """A command may wait 30 s in all for missing answers; an answered request does not reduce the time left."""
    unanswered = UnansweredTime(30.0)
    asked = QuestionTime(unanswered)
    with asked.question():
        assert asked.sent(lambda: "answer", 10.0) == "answer"
    assert unanswered.left_s == 30.0
    asked.close()


def test_pauses_do_not_count_against_the_shared_time_limit():
    """All requests of a command share one time limit. The agent's pauses do not count against it."""
    unanswered = UnansweredTime(30.0)
    asked = QuestionTime(unanswered)
    with asked.question():
        asked.sent(lambda: None, 10.0)
        asked.lost()
    without_pause_s = unanswered.left_s
    with asked.question():
        asked.sent(lambda: None, 10.0)
        # The pause counts as waited without any time passing here, so the second question gives time back.
        asked.paused(7.0)
        asked.lost()
    assert without_pause_s < 30.0
    assert unanswered.left_s == pytest.approx(37.0, abs=1.0)
    asked.close()


def test_the_timeout_error_shows_the_total_time_limit():
    """A command waits at most 30 s in total for answers; then the error says "no complete answer within 30 s"."""
    unanswered = UnansweredTime(30.0)
    unanswered.used(30.0)
    asked = QuestionTime(unanswered)
    with asked.question(), pytest.raises(requests.RequestException, match="no complete answer within 30 s"):
        asked.sent(lambda: None, 60.0)
    asked.close()
