"""Log an event: its constant text, at its level, by its logger, with values as fields."""

from __future__ import annotations

import logging as levels
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oslo_log import log as logging

from agent.telemetry.events import Event
from agent.text.redact import blotted

# The attribute names of a log record. The logging module refuses extra fields with these names, so ``emit`` renames
# such fields. A field may have such a name, because the facts of a finding become fields.
_TAKEN = {*vars(levels.makeLogRecord({})), "message", "asctime", "extra"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One log record: an event with values as fields.

    ``chosen_level`` is the level of this record if the event has no constant level. ``words`` has the values for the
    ``%(name)s`` placeholders in the event's text. Only events that repeat a log message of nova have placeholders; for
    any other event ``words`` is None.
    """

    event: Event
    fields: Mapping[str, Any]
    chosen_level: int | None = None
    words: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.event.level, int) != (self.chosen_level is None):
            raise ValueError(f"{self.event}: give a level if and only if the event has no constant level")

    @property
    def level(self) -> int:
        """The level of this record, as the logging module numbers levels."""
        return self.event.level if isinstance(self.event.level, int) else self.chosen_level or levels.WARNING


def emit(lines: tuple[Line, ...], exc_info: BaseException | None = None) -> None:
    """Log the lines; with ``exc_info`` also the traceback of this exception.

    A field whose name the logging module reserves is logged with an underscore after the name.
    """
    for line in lines:
        arguments = (line.words,) if line.words is not None else ()
        fields = {f"{name}_" if name in _TAKEN else name: value for name, value in line.fields.items()}
        if exc_info is not None:
            fields.setdefault("error", f"{type(exc_info).__name__}: {blotted(str(exc_info))}")
        logger = logging.getLogger(line.event.logger.value)
        logger.log(line.level, line.event, *arguments, exc_info=exc_info, extra=fields)


def log_event(event: Event, **fields: Any) -> None:  # noqa: ANN401 - a field may have any value
    """Log the event. This works only for an event with a constant level."""
    emit((Line(event=event, fields=fields),))


def log_bug(event: Event, error: BaseException, **fields: Any) -> None:  # noqa: ANN401 - as above
    """Log the event and the traceback of ``error``. This works only for an event with a constant level."""
    emit((Line(event=event, fields=fields),), error)
