"""What differs between urllib3 1.26 (OpenStack 2025.1) and urllib3 2, as far as the agent uses it.

Before 2.6, urllib3 decompresses a whole compressed piece before the caller can count any of it. Therefore the agent
asks for uncompressed answers with these versions.
"""

from __future__ import annotations

import importlib.metadata
import socket
from typing import Any

from urllib3 import exceptions

_COUNTS_WHILE_UNPACKING = (2, 6)


def accepted_encodings() -> str:
    """Return the value of the header Accept-Encoding: what this urllib3 can decompress piece by piece."""
    version = tuple(int(part) for part in importlib.metadata.version("urllib3").split(".")[:2])
    return "gzip, deflate" if version >= _COUNTS_WHILE_UNPACKING else "identity"


def name_error(host: str, connection: Any, error: socket.gaierror) -> Exception:  # noqa: ANN401 - urllib3's connection
    """Return the error of a failed name look-up: urllib3 2 has a class for it, urllib3 1.26 uses NewConnectionError."""
    of_version_2 = getattr(exceptions, "NameResolutionError", None)
    if of_version_2 is not None:
        found: Exception = of_version_2(host, connection, error)
        return found
    return exceptions.NewConnectionError(connection, f"Failed to resolve '{host}' ({error})")
