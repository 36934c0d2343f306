"""Logs: what is written in one so far; logging set up inside a test's own process, and put back as it was."""

import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any


def json_lines(text: str) -> list[dict[str, Any]]:
    """The records of a log of JSON lines; what has no end yet is being written."""
    whole, _, _unfinished = text.rpartition("\n")
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]


@contextlib.contextmanager
def logging_as_it_was() -> Iterator[logging.Logger]:
    """The root logger, without handlers, for a block that sets logging up."""
    root = logging.getLogger()
    handlers, level, hook = list(root.handlers), root.level, sys.excepthook
    # oslo.log sets those of many libraries (default_log_levels).
    levels = {name: logging.getLogger(name).level for name in list(root.manager.loggerDict)}
    # oslo.log closes those that it finds.
    root.handlers[:] = []
    try:
        yield root
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        for name in list(root.manager.loggerDict):
            logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))
        sys.excepthook = hook
