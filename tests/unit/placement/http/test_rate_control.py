"""The pace of one client, as laws, and the pace of ten thousand clients in simulated time."""

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.placement.http.rate_control import (
    AWAY,
    PATIENCE,
    PAUSES_OF_AN_AUDIT_S,
    Answer,
    Manners,
    Pace,
    after_answer,
    after_pause,
    delay_s,
    of_a_new_audit,
)
from tests.rigs.fleet_model import Fleet, Seen, Server, Simulation

MANNERS = Manners()
CHANCE = st.floats(0, 1, exclude_max=True)
LATENCY = st.floats(0, 100)
STATUS = st.sampled_from([None, 200, 204, 404, 409, 429, 500, 502, 503, 504])
ANSWERS = st.lists(st.tuples(LATENCY, STATUS, CHANCE), max_size=40)
BUSY = st.sampled_from([429, 502, 503, 504])


# A tenth of 10,000 agents that start at once, against a tenth of a server that handles 400 requests a second.
CROWDED = Server(workers=8, service_s=0.2, probe_s=0.02)
THOUSAND = Fleet(agents=1000)


def answer(status: int | None = 200, *, at: float = 100.0, latency_s: float = 0.01) -> Answer:
    return Answer(at=at, latency_s=latency_s, status=status)


def paced(*answers: Answer, start: Pace | None = None, chance: float = 0.5) -> Pace:
    pace = start or Pace()
    for one in answers:
        pace = after_answer(pace, one, MANNERS, chance)
    return pace


@given(st.lists(st.tuples(st.floats(0, 0.5), CHANCE), max_size=20))
def test_fast_responses_cause_no_pause(answers):
    """The agent does not pause between its requests if Placement answers all of them within half a second."""
    pace = Pace()
    for at, (latency_s, chance) in enumerate(answers):
        pace = after_answer(pace, answer(at=float(at), latency_s=latency_s), MANNERS, chance)
        assert delay_s(pace, float(at)) == 0.0


@given(ANSWERS, st.floats(0.1, 120))
def test_a_pause_never_exceeds_the_configured_maximum(answers, longest_s):
    """The agent's pause between two requests to Placement is never longer than the configured maximum."""
    manners, pace = Manners(longest_s=longest_s), Pace()
    for at, (latency_s, status, chance) in enumerate(answers):
        one = Answer(at=float(at), latency_s=latency_s, status=status)
        pace = after_answer(pace, one, manners, chance)
        assert 0.0 <= delay_s(pace, float(at)) <= longest_s + 1e-9


@given(ANSWERS)
def test_a_maximum_pause_of_0_seconds_disables_pauses(answers):
    """If the configured maximum pause is 0 s, the agent never pauses between its requests to Placement."""
    manners, pace = Manners(longest_s=0.0), Pace()
    for at, (latency_s, status, chance) in enumerate(answers):
        one = Answer(at=float(at), latency_s=latency_s, status=status)
        pace = after_answer(pace, one, manners, chance)
        assert delay_s(pace, float(at)) == 0.0


@given(st.floats(1, 3), st.floats(0, 5))
def test_a_slower_response_never_shortens_the_pause(latency_s, more_s):
    """The agent pauses after a slow response of Placement. A still slower response never makes the pause shorter."""
    quick = paced(answer(latency_s=0.01))
    late = paced(answer(latency_s=latency_s), start=quick)
    later = paced(answer(latency_s=latency_s + more_s), start=quick)
    assert delay_s(later, 100) >= delay_s(late, 100) > 0


def test_the_mean_pause_grows_with_the_latency():
    """The mean pause is proportional to the latency above the threshold for slow responses."""
    quick = paced(answer(latency_s=0.0))
    pauses = [delay_s(paced(answer(latency_s=1.5), start=quick, chance=n / 1000), 100) for n in range(1000)]
    assert sum(pauses) / len(pauses) == pytest.approx(PATIENCE * (1.5 - MANNERS.slow_s), rel=0.01)


def test_a_steady_latency_of_900_ms_causes_no_pause():
    """Every response of Placement takes 0.9 s. The agent does not pause, because the server may only be far away."""
    pace = paced(*(answer(at=float(n), latency_s=0.9) for n in range(10)))
    assert delay_s(pace, 9.0) == 0.0


def test_a_slow_first_response_causes_a_pause():
    """Placement answers the agent's first request after 4 s, and the agent pauses before its second request."""
    assert delay_s(paced(answer(latency_s=4.0)), 100) > 10.0


@given(BUSY, CHANCE)
def test_pauses_grow_if_two_of_three_requests_are_refused(status, chance):
    """Placement refuses two of three requests with 429, 502, 503 or 504, and the agent's pauses become longer."""
    pace, spreads = Pace(), []
    for at in range(30):
        pace = after_answer(pace, answer(200 if at % 3 == 2 else status, at=float(at)), MANNERS, chance)
        spreads.append(pace.pushed_s)
    assert spreads[0] > 0
    assert spreads[-1] > 0.8 * MANNERS.longest_s


@given(BUSY, st.integers(1, 200))
def test_refusals_lengthen_a_pause_by_at_most_16_s(status, refusals):
    """However often Placement answers 429, 502, 503 or 504, the agent adds at most 16 s to its pause."""
    pace = paced(*(answer(status) for _ in range(refusals)))
    assert pace.pushed_s <= 16.0


@given(st.lists(st.tuples(LATENCY, BUSY | st.none(), CHANCE), min_size=1, max_size=20))
def test_an_unreachable_server_delays_a_read_by_at_most_10_s(answers):
    """If Placement cannot be reached for a long time, the agent pauses at most 10 s before each read."""
    pace, at = Pace(refusals=AWAY), 0.0
    for latency_s, status, chance in answers:
        at += delay_s(pace, at) + latency_s
        pace = after_answer(pace, answer(status, at=at, latency_s=latency_s), MANNERS, chance)
        assert delay_s(pace, at) <= 10.0


@given(BUSY, st.integers(1, 20))
def test_pauses_end_when_placement_answers_fast_again(status, refusals):
    """The agent's pauses become zero after Placement has refused requests and then answers fast again."""
    pace = paced(*(answer(status) for _ in range(refusals)))
    for _ in range(100):
        pace = after_answer(pace, answer(at=pace.quiet_until + 0.01), MANNERS, 0.5)
    assert pace.pushed_s == 0.0
    assert delay_s(pace, pace.quiet_until) == 0.0


@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_a_response_400_404_409_or_500_causes_no_pause(status):
    """The agent does not pause after a response 400, 404, 409 or 500, since Placement is not overloaded then."""
    assert delay_s(paced(*(answer(status, at=float(n)) for n in range(20))), 19.0) == 0.0


@given(st.integers(1, 30), CHANCE)
def test_a_refused_connection_causes_a_pause_of_at_most_1_s(failures, chance):
    """The agent pauses at most 1 s before its next request if Placement's host refused the connection at once."""
    pace = Pace()
    for at in range(failures):
        pace = after_answer(pace, answer(None, at=float(at * 10), latency_s=0.0), MANNERS, chance)
        assert delay_s(pace, float(at * 10)) <= 1.0


@given(st.lists(st.floats(1.0, 9.0), min_size=1, max_size=10))
def test_the_pauses_after_several_writes_add_up(latencies):
    """The agent does not pause between writes. Before the next read, it pauses for all of them together."""
    pace, at, owed = replace(Pace(), best_s=0.0), 100.0, 0.0
    for latency_s in latencies:
        at += latency_s
        pace = after_answer(pace, answer(at=at, latency_s=latency_s), MANNERS, 0.5)
        alone = after_answer(Pace(best_s=0.0), answer(at=at, latency_s=latency_s), MANNERS, 0.5)
        owed = min(MANNERS.longest_s, max(0.0, owed - latency_s) + delay_s(alone, at))
    assert delay_s(pace, at) == pytest.approx(owed)


def ideal_s(fleet: Fleet, capacity: float) -> float:
    """Return the earliest time when all have started: the server is never idle, and no request is wasted."""
    return fleet.agents * (fleet.reads + fleet.writes) / capacity


def test_rate_control_lets_1000_agents_start_together():
    """In a simulation, 1000 agents start at once. All of them finish, and Placement is never overloaded for long."""
    seen = Simulation(CROWDED, THOUSAND).run()
    assert len(seen.done_at) == 1000
    assert seen.error_share == 0.0
    assert max(seen.done_at) < 1.25 * ideal_s(THOUSAND, CROWDED.capacity)
    # A wave of requests can exceed the server's capacity, but not for long: 40 s are one mean pause.
    rates = [seen.offered_rate(begin, begin + 40) for begin in range(5, int(max(seen.done_at)) - 40)]
    assert max(rates) < 1.2 * CROWDED.capacity
    # Latency stays far below the time-out, so the server handles no request whose client has given up.
    assert max(latency for second, latency in seen.latency.items() if second > 30) < THOUSAND.timeout_s * 0.8


def test_1000_agents_without_rate_control_overload_placement():
    """In a simulation, 1000 agents without rate control start at once, and over 30 % of their requests fail."""
    seen = Simulation(CROWDED, Fleet(agents=1000, manners=None)).run()
    assert seen.error_share > 0.3
    assert len(seen.done_at) < 1000 or max(seen.done_at) > 2 * ideal_s(THOUSAND, CROWDED.capacity)


def later_error_share(seen: Seen, after_s: int) -> float:
    """Return the share of errors among the requests after that second."""
    failed = sum(count for second, count in (seen.refused + seen.timed_out).items() if second >= after_s)
    return failed / sum(count for second, count in seen.offered.items() if second >= after_s)


@pytest.mark.parametrize("seed", range(3))
def test_agents_adapt_to_a_short_request_queue_within_30_s(seed):
    """A simulated Placement has a short request queue. 30 s after 1000 agents start, less than 3 % of requests fail."""
    seen = Simulation(Server(workers=8, service_s=0.2, probe_s=0.02, queue=200), THOUSAND, seed).run()
    assert len(seen.done_at) == 1000
    assert later_error_share(seen, 30) < 0.03


def test_fewer_requests_fail_if_starts_are_spread_over_2_min():
    """In a simulation, fewer requests fail if 1000 agents start spread over 2 minutes than if all start at once."""
    short = Server(workers=8, service_s=0.2, probe_s=0.02, queue=200)
    splayed = Simulation(short, Fleet(agents=1000, within_s=120.0)).run()
    at_once = Simulation(short, THOUSAND).run()
    assert splayed.error_share < 0.01 < at_once.error_share
    # The server has work for six minutes: an agent that starts later does not finish later.
    assert max(splayed.done_at) < 1.1 * max(at_once.done_at)


def test_rate_control_reduces_the_errors_of_a_limited_server():
    """A simulated Placement refuses requests above 40 per second.

    It refuses fewer of them if the agents use rate control.
    """
    limited = Server(workers=16, service_s=0.02, rate_limit=40.0)
    with_manners = Simulation(limited, THOUSAND).run()
    without = Simulation(limited, Fleet(agents=1000, manners=None)).run()
    assert len(with_manners.done_at) == 1000
    assert with_manners.error_share < without.error_share / 1.5


def test_one_agent_finishes_16_requests_in_2_seconds():
    """In a simulation with a fast Placement, one agent finishes 16 requests within 2 seconds."""
    seen = Simulation(Server(workers=1, service_s=0.05), Fleet(agents=1)).run()
    assert max(seen.done_at) < 2.0
    assert seen.offered.total() == 1 + THOUSAND.reads + THOUSAND.writes


def test_an_agent_starts_within_5_minutes_if_placement_is_slow():
    """In a simulation with a slow Placement, a single agent finishes its first requests within 5 minutes."""
    seen = Simulation(Server(workers=1, service_s=1.5, probe_s=1.5), Fleet(agents=1)).run()
    assert max(seen.done_at) < 300.0


@pytest.mark.parametrize("latency_s", [2.0, 5.0, 9.0])
def test_an_audit_pauses_for_at_most_10_minutes_in_total(latency_s):
    """However slow Placement is, the agent's pauses during one audit take at most 10 minutes together."""
    pace, now = Pace(), 0.0
    for _ in range(72):
        paused_s = delay_s(pace, now)
        pace, now = after_pause(pace, paused_s), now + paused_s + latency_s
        pace = after_answer(pace, answer(at=now, latency_s=latency_s), MANNERS, 0.5)
    assert now - 72 * latency_s == pytest.approx(PAUSES_OF_AN_AUDIT_S)
    assert delay_s(of_a_new_audit(pace), now) > 0, "the next audit has manners again"
