"""Helpers for logs: the JSON records of a log so far, and logging set up in the test's process and then restored."""

import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any


def json_lines(text: str) -> list[dict[str, Any]]:
    """Return the records of a log of JSON lines; ignore a last line that is still being written."""
    whole, _, _unfinished = text.rpartition("\n")
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]


@contextlib.contextmanager
def logging_as_it_was() -> Iterator[logging.Logger]:
    """Yield the root logger without handlers, for a block that sets up logging; restore everything afterwards."""
    root = logging.getLogger()
    handlers, level, hook = list(root.handlers), root.level, sys.excepthook
    # oslo.log sets the levels of many libraries (default_log_levels).
    levels = {name: logging.getLogger(name).level for name in list(root.manager.loggerDict)}
    # oslo.log closes the handlers that it finds.
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
        logging.captureWarnings(False)
