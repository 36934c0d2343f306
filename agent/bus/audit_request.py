"""Ask the agent of one host to audit now, for an operator who waits for the answer."""

from __future__ import annotations

import re
from typing import Any

from agent.bus.timeouts import ended_within
from agent.bus.transport import AUDIT_NOW, BROKER, Bus, oslo_messaging
from agent.errors import SourceUnavailable

#: ANSWER_S: seconds to wait for the agent's answer. REACH_S: seconds for the whole call, including the time to connect
#: to the broker.
ANSWER_S = 8.0
REACH_S = 12.0
#: Matches a host name. ``audit_soon`` refuses any other text, because its call makes the broker create a queue that is
#: named after the host.
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")


def can_be_asked(host: str) -> bool:
    """Return whether ``host`` has the form of a host name. ``audit_soon`` refuses any other text."""
    return _HOST.fullmatch(host) is not None


def audit_soon(bus: Bus, host: str) -> str:
    """Ask the host's agent for an audit; return its answer in words. Raises SourceUnavailable if no answer arrives."""
    if not can_be_asked(host):
        raise SourceUnavailable(BROKER, "the given host is not a valid host name")
    answers: list[Any] = []
    errors: list[Exception] = []

    def call() -> None:
        try:
            answers.append(bus.host_client(host, ANSWER_S).call({}, AUDIT_NOW))
        except Exception as error:  # noqa: BLE001 - oslo.messaging also raises errors of other libraries
            errors.append(error)

    # The call's own time-out does not limit the time that connecting to the broker takes.
    if not ended_within(REACH_S, call, "bus-audit-request"):
        raise SourceUnavailable(BROKER, f"the broker did not answer within {REACH_S:g} s")
    if errors:
        raise SourceUnavailable(BROKER, _words(errors[0])) from errors[0]
    return _answer(answers[0])


def _words(error: Exception) -> str:
    if isinstance(error, oslo_messaging.MessagingTimeout):
        return f"no answer within {ANSWER_S:g} s"
    return (str(error).splitlines() or [type(error).__name__])[0]


def _answer(answer: object) -> str:
    if not isinstance(answer, dict) or not answer.get("accepted"):
        return "the agent is stopping and starts no audit"
    due_s = answer.get("audit_in_s")
    if isinstance(due_s, int | float) and due_s >= 1:
        return f"the audit begins within {due_s:.0f} s"
    return "the audit begins now"
