"""How long a command waits for a server that does not answer."""

import pytest
import requests

from agent.placement.http.question_time import QuestionTime
from agent.placement.http.unanswered_time import UnansweredTime


def test_each_request_may_use_its_full_timeout_if_no_common_limit_is_set():
    unanswered = UnansweredTime()
    unanswered.used(10_000.0)
    assert not unanswered.is_over
    assert QuestionTime(unanswered).left_s(30.0) == pytest.approx(30.0, abs=1.0)


@pytest.mark.parametrize(("used", "left", "is_over"), [(0.0, 30.0, False), (20.0, 10.0, False), (29.9, 0.1, True)])
def test_all_requests_without_an_answer_share_one_time_limit(used, left, is_over):
    unanswered = UnansweredTime(30.0)
    unanswered.used(used)
    assert unanswered.left_s == pytest.approx(left)
    assert unanswered.is_over is is_over
    assert QuestionTime(unanswered).left_s(60.0) == pytest.approx(left, abs=1.0)


def test_the_remaining_time_is_zero_after_the_time_limit_was_exceeded():
    unanswered = UnansweredTime(30.0)
    unanswered.used(31.0)
    assert (unanswered.left_s, unanswered.is_over) == (0.0, True)


def test_answered_requests_do_not_reduce_the_time_limit_of_a_command():
    """All requests of a command that get no answer share one limit."""
    unanswered = UnansweredTime(30.0)
    asked = QuestionTime(unanswered)
    with asked.question():
        assert asked.sent(lambda: "answer", 10.0) == "answer"
    assert unanswered.left_s == 30.0
    asked.close()


def test_pauses_do_not_count_against_the_time_limit_for_unanswered_requests():
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


def test_the_timeout_error_states_the_common_limit_and_not_the_time_left():
    unanswered = UnansweredTime(30.0)
    unanswered.used(30.0)
    asked = QuestionTime(unanswered)
    with asked.question(), pytest.raises(requests.RequestException, match="no complete answer within 30 s"):
        asked.sent(lambda: None, 60.0)
    asked.close()
