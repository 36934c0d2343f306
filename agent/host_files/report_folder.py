"""Read a folder of report files, one after another: ``*.json`` in the folder, and ``report.json`` in its subfolders.

An operator gathered these files from many hosts, so each file may be truncated, huge, or no report at all. A file that
cannot be read yields its error, and the next file follows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from agent.errors import SourceError, SourceInconsistent, SourceUnavailable
from agent.host_files.reports import FILE, text_of_file
from agent.render.documents import Document, report_from_json
from agent.text.wording import printable

#: The maximum number of characters of a file; a longer file is not read. Even the report of a host with 20,000 volumes
#: has only a fifth of this length.
MOST_CHARACTERS = 64 * 1024 * 1024
#: The maximum number of files that are read, one file for each host. The fleet's page cannot show more hosts than this.
MOST_FILES = 30_000
_REPORT = re.compile(r"[^.].*\.json")


def report_files(folder: str) -> tuple[str, ...]:
    """Return the names of the report files below the folder, sorted.

    Raises SourceUnavailable if the folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(name for entry in entries for name in _names(entry))
    except OSError as error:
        raise SourceUnavailable("report", f"the folder {folder} cannot be read: {error.strerror}") from error
    return tuple(names)


def read_folder(folder: str, names: tuple[str, ...]) -> Iterator[tuple[str, Document | SourceError]]:
    """Yield the name of each file, and its document or its error. Files beyond MOST_FILES yield an error."""
    for number, name in enumerate(names):
        try:
            if number >= MOST_FILES:
                raise SourceInconsistent("report", f"not read: the folder has more than {MOST_FILES} files")
            yield printable(name), _document(os.path.join(folder, name))
        except SourceError as error:
            yield printable(name), error


def _names(entry: os.DirEntry[str]) -> tuple[str, ...]:
    if not entry.is_dir():
        return (entry.name,) if _REPORT.fullmatch(entry.name) else ()
    inside = os.path.join(entry.name, FILE)
    return (inside,) if os.path.lexists(os.path.join(os.path.dirname(entry.path), inside)) else ()


def _document(path: str) -> Document:
    text = text_of_file(path, MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise SourceInconsistent("report", f"larger than {MOST_CHARACTERS} characters")
    return report_from_json(text)
