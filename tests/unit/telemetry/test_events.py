"""Each event has one level and one logger."""

import logging

import pytest

from agent.telemetry import events
from agent.telemetry.event_log import Line
from agent.telemetry.events import EVENTS, Logger, Varies

# What an operator's alert rules rest on. Events that are not here are WARNING.
LEVELS = {
    Varies.SEVERITY: {"finding appeared", "finding changed", "finding confirmed"},
    Varies.LOSS: {"source lost", "source still lost"},
    Varies.OUTCOME: {"outcome changed"},
    Varies.ROLE: {"write held back"},
    logging.DEBUG: {"audit done"},
    logging.INFO: {
        "finding gone", "findings known again", "source back", "first audit done", "summary", "placement speaks",
        "nova speaks", "placement written", "heal waiting", "broker back", "rpc endpoint up", "configuration reloaded",
        "agent starting", "agent started", "agent stopping", "agent stopped", "report written by a run with --once",
        "state dump",

        events.HYPERVISOR_VIEW, events.USABLE_VCPUS, events.FINAL_VIEW,
    },
    logging.ERROR: {
        "audit error", "audit crashed", "heal outcome not known",
        "outcome of a change in Placement not written to the agent's journal",
        "reload refused, old configuration kept", "agent start failed", "worker ended", "agent stop incomplete",
        "signal not served",
    },
}  # fmt: skip


@pytest.mark.parametrize("event", EVENTS)
def test_each_log_event_has_the_level_that_alerts_rely_on(event):
    """Operators' alert rules rely on log levels, so each of the agent's log events must keep its level."""
    levels = [level for level, texts in LEVELS.items() if event in texts]
    assert levels in ([event.level], [] if event.level == logging.WARNING else None)


def test_each_event_in_the_table_of_log_levels_exists():
    """Every event in the table of log levels is a log event of the agent."""
    assert set().union(*LEVELS.values()) <= set(EVENTS)
    assert len(set(EVENTS)) == len(EVENTS)


def test_every_logger_has_at_least_one_event():
    """The agent's catalogue of log events contains at least one event for each of its loggers."""
    assert {event.logger for event in EVENTS} == set(Logger)


@pytest.mark.parametrize(("event", "level"), [(events.STARTED, logging.ERROR), (events.OUTCOME_CHANGED, None)])
def test_a_missing_or_second_log_level_raises_value_error(event, level):
    """A log line without a level, or with a second level beside its event's fixed level, raises ValueError."""
    with pytest.raises(ValueError, match="level"):
        Line(event=event, fields={}, chosen_level=level)
