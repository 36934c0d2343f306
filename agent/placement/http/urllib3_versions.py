"""Handle the differences between urllib3 1.26 (OpenStack 2025.1) and urllib3 2 that concern the agent.

Before version 2.6, urllib3 decompresses a whole received piece before the caller can count its bytes and stop. So with
these versions the agent asks for uncompressed answers.
"""

from __future__ import annotations

import importlib.metadata
import socket
from typing import Any

from urllib3 import exceptions

_COUNTS_WHILE_UNPACKING = (2, 6)


def accepted_encodings() -> str:
    """Return the value of the header Accept-Encoding: the encodings that this urllib3 can decompress piece by piece."""
    version = tuple(int(part) for part in importlib.metadata.version("urllib3").split(".")[:2])
    return "gzip, deflate" if version >= _COUNTS_WHILE_UNPACKING else "identity"


def name_error(host: str, connection: Any, error: socket.gaierror) -> Exception:  # noqa: ANN401 - urllib3's connection
    """Return the error of a failed name look-up: NameResolutionError in urllib3 2, NewConnectionError in 1.26."""
    of_version_2 = getattr(exceptions, "NameResolutionError", None)
    if of_version_2 is not None:
        found: Exception = of_version_2(host, connection, error)
        return found
    return exceptions.NewConnectionError(connection, f"Failed to resolve '{host}' ({error})")
