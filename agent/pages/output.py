"""Write a page: to a file that only its owner may read, or to stdout."""

from __future__ import annotations

import os
from typing import TextIO

from agent.errors import SourceUnavailable
from agent.host_files.atomic import replace_file

STDOUT = "-"
# Only the owner may read the file, because the page contains the names that tenants gave their instances.
MODE = 0o600


def write_page(file: str, text: str, stdout: TextIO) -> None:
    """Write the page atomically to ``file``, or to ``stdout`` if ``file`` is ``-``. Raises SourceUnavailable."""
    if file == STDOUT:
        stdout.write(text)
        return
    try:
        replace_file(os.path.abspath(file), text, MODE)
    except OSError as error:
        raise SourceUnavailable("report", f"{file} cannot be written: {error.strerror}") from error
