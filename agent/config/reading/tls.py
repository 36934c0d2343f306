"""Find TLS options of [placement] that have no effect.

In Stocktake's own files, such an option is an error. In nova.conf, it causes a notice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from agent.config.loaded import Loaded
from agent.config.problems import Tolerated, novas_notices

_CAFILE = ("placement", "cafile")
_CERTFILE = ("placement", "certfile")
_KEYFILE = ("placement", "keyfile")


def tls_files(loaded: Loaded) -> None:
    """Raise ConfigError if Stocktake's own files set a key without its certificate."""
    KEY_ALONE.refuse_own(loaded)


def cafile_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice if nova.conf names a CA file that does not exist.

    This is not an error, because only an https URL needs the file.
    """
    path = loaded.value(*_CAFILE)
    if path and not os.path.exists(path):
        problem = f"{loaded.quote(*_CAFILE)}: there is no such file"
        yield from novas_notices(loaded, _CAFILE, [problem], "the agent needs the file only for an https URL")


def _key_alone(loaded: Loaded) -> Iterator[str]:
    # keystoneauth ignores the key if no certificate is set (see its method load_from_options).
    if loaded.value(*_KEYFILE) and not loaded.value(*_CERTFILE):
        yield f"{loaded.quote(*_KEYFILE)}: has no effect without certfile"


KEY_ALONE = Tolerated(_KEYFILE, _key_alone, "the agent sends no certificate")
