"""Find out stdout's width, colours and encoding, and escape characters that stdout cannot show.

Colour is on if stdout is a terminal, TERM is not ``dumb``, NO_COLOR is unset or empty, and --no-color is not given.
The width is $COLUMNS or the terminal's width. Without $COLUMNS, output to a pipe or a file is neither wrapped nor cut.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Mapping
from typing import TextIO

from agent.render.layout import UNLIMITED, Look

#: The width in columns for a terminal that does not report its width.
USUAL_WIDTH = 80


def look_of(stdout: TextIO, options: argparse.Namespace, max_width: int | None = None) -> Look:
    """Return the width, colours and encoding of ``stdout``. ``max_width``: the operator's choice, else 0 or None."""
    return Look(
        width=max_width or width_of(stdout, os.environ),
        colour=_is_coloured(stdout, os.environ) and not getattr(options, "no_color", False),
        encoding=getattr(stdout, "encoding", None) or "utf-8",
    )


def width_of(stdout: TextIO, environ: Mapping[str, str]) -> int | None:
    """Return $COLUMNS, or the terminal's width in columns; None if stdout is not a terminal."""
    asked = environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        return int(asked)
    if not stdout.isatty():
        return None
    with contextlib.suppress(OSError):
        return os.get_terminal_size(stdout.fileno()).columns or USUAL_WIDTH
    return USUAL_WIDTH


def wrapping_width(stdout: TextIO) -> int:
    """Return the width in columns for a text that the caller wraps itself; a very large number means no wrapping."""
    return width_of(stdout, os.environ) or UNLIMITED


def _is_coloured(stdout: TextIO, environ: Mapping[str, str]) -> bool:
    return stdout.isatty() and environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")


def escape_unencodable(*streams: TextIO) -> None:
    """Make the streams escape characters that their encoding lacks, instead of raising UnicodeEncodeError."""
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
