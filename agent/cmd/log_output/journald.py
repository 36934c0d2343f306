"""Give each line on stderr its priority, if systemd's journal reads stderr.

systemd sets ``JOURNAL_STREAM`` to the device and inode of the socket that it connected to stdout or stderr. A program
whose stderr is that socket may begin each line with ``<N>``, where N is a priority of syslog; journald removes the
prefix (sd-daemon(3)). Without the prefix journald stores every line as "info", and ``journalctl -p warning`` is empty.
"""

from __future__ import annotations

import logging
import os
import sys

_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
_DEBUG = 7


class JournaldFormatter(logging.Formatter):
    """Formats a record with another formatter, and begins each line with the record's priority.

    The lines of a traceback begin with the priority too.
    """

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._prefixed = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted text, each line with the prefix."""
        return with_prefix(self._prefixed.format(record), record.levelno)


def is_read_by_journald() -> bool:
    """Return whether stderr is the stream that systemd connected to its journal."""
    try:
        stream = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"


def prefix(level: int) -> str:
    """Return ``<N>`` for a level of the logging module; an empty text if journald does not read stderr."""
    return f"<{_priority(level)}>" if is_read_by_journald() else ""


def with_prefix(text: str, level: int) -> str:
    """Return the text with ``<N>`` before each line. The caller checks ``is_read_by_journald``."""
    return "\n".join(f"<{_priority(level)}>{line}" for line in text.split("\n"))


def _priority(level: int) -> int:
    return next((priority for least, priority in _PRIORITIES if level >= least), _DEBUG)
