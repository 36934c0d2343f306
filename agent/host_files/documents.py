"""Read and replace a JSON document of the agent, and keep a copy of a document that cannot be read completely.

The agent keeps the first nine copies until an operator deletes them. Each further copy replaces the tenth, so a disk
that garbles every write does not fill up.
"""

from __future__ import annotations

import errno
import filecmp
import json
import os
from collections.abc import Iterable, Iterator

from agent.host_files.atomic import replace_by_parts, replace_file
from agent.host_files.regular_file import open_regular
from agent.text.own_rows import BadRow, Json, parse

_MODE = 0o640
_MOST = 10
# The errors of link(2) on a file system without hard links. link(2) also raises EPERM if the source is a folder.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})


def read_document(path: str, version: int, most_characters: int = -1) -> dict[str, Json]:
    """Return the JSON document in the file. Raises OSError.

    Raises BadRow if the file is not a JSON object whose schema_version is ``version``.
    """
    try:
        with open_regular(path) as file:
            document = parse(file.read(most_characters))
    except UnicodeDecodeError as error:
        raise BadRow("not a JSON document") from error
    if not isinstance(document, dict) or document.get("schema_version") != version:
        raise BadRow(f"the file is not a JSON object with schema_version {version}")
    return document


def replace_document(path: str, document: dict[str, Json]) -> None:
    """Write ``document`` to ``path``; only root and the folder's group may read the file. Raises OSError."""
    replace_file(path, json.dumps(document, indent=1) + "\n", _MODE)


def replace_document_of_rows(path: str, document: dict[str, Json], name: str, rows: Iterable[Json]) -> None:
    """Write ``document`` with the list ``rows`` under the key ``name``, one row per line. Raises OSError.

    Each row is made right before it is written, and never all rows at once: thousands of findings would take tens of
    MiB of memory.
    """
    replace_by_parts(path, _parts(document, name, rows), _MODE)


def _parts(document: dict[str, Json], name: str, rows: Iterable[Json]) -> Iterator[str]:
    yield f"{json.dumps(document)[:-1]}, {json.dumps(name)}: ["
    separator = "\n"
    for row in rows:
        yield separator + json.dumps(row)
        separator = ",\n"
    yield "]}\n"


def set_aside(path: str) -> str:
    """Keep the file ``path`` under the first free name of ``path.bad``, ``path.bad.1``, …; return this name.

    The new name is a hard link. So the file also stays at ``path`` until the caller replaces the file, and a crash
    loses nothing. If ``path`` can have no hard link (it may be a folder), it is moved. Raises OSError.
    """
    names = [f"{path}.bad", *(f"{path}.bad.{number}" for number in range(1, _MOST))]
    for name in names:
        if not os.path.lexists(name):
            _keep(path, name)
            return name
        if os.path.isfile(path) and os.path.isfile(name) and filecmp.cmp(path, name, shallow=False):
            return name
    os.replace(path, names[-1])
    return names[-1]


def _keep(path: str, name: str) -> None:
    try:
        os.link(path, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.replace(path, name)
