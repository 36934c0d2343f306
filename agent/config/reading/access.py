"""Read how an operator reaches the sources by hand: URLs, hosts and ports without credentials.

The remedies of a finding contain commands with these values. A value that is missing or malformed becomes None: the
remedy then has no command, and a check of the configuration reports the option.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from oslo_config import cfg

from agent.config.loaded import Loaded
from agent.config.options.state import state_options_from
from agent.errors import ConfigError
from agent.model.nova import StateKind
from agent.model.settings import CephAccess, DatabaseAccess, Server, SourceAccess
from agent.text.urls import bare

T = TypeVar("T")

_RABBIT_PORT, _MYSQL_PORT = 5672, 3306
Reader = Callable[[Loaded], T]


def source_access(loaded: Loaded, uri: Reader[str], ceph: Reader[CephAccess | None]) -> SourceAccess:
    """Return the addresses that the commands in remedies contain, for example libvirt's URI for ``virsh -c URI``.

    The functions ``uri`` and ``ceph`` read libvirt's URI and the options for Ceph from ``loaded``.
    """
    section = _value(loaded, "placement", "auth_section") or "placement"
    override = _value(loaded, "placement", "endpoint_override") or _value(loaded, section, "endpoint")
    state = _known(state_options_from, loaded)
    return SourceAccess(
        placement_url=bare(override or "") or None,
        auth_url=bare(_value(loaded, section, "auth_url") or "") or None,
        broker=_broker(loaded) if state and state.kind is StateKind.CONDUCTOR else None,
        database=_database(state.connection) if state and state.connection else None,
        libvirt_uri=bare(_known(uri, loaded) or SourceAccess().libvirt_uri),
        ceph=_known(ceph, loaded),
    )


def _known(read: Reader[T], loaded: Loaded) -> T | None:
    with contextlib.suppress(ConfigError):
        return read(loaded)
    return None


def _value(loaded: Loaded, group: str, option: str) -> str | None:
    """Return the option's value; None if it is unset or malformed, or if the auth plugin has no such option."""
    with contextlib.suppress(ConfigError, cfg.NoSuchOptError, cfg.NoSuchGroupError):
        return loaded.value(group, option) or None
    return None


def _broker(loaded: Loaded) -> Server | None:
    """Return the first host of ``transport_url``, which may name several hosts: rabbit://a@h1:5672,a@h2:5672/vhost."""
    with contextlib.suppress(ValueError):
        first = urlsplit(_value(loaded, "DEFAULT", "transport_url") or "").netloc.split(",")[0]
        return _server(first, _RABBIT_PORT)
    return None


def _server(netloc: str, port: int) -> Server | None:
    parts = urlsplit(f"//{netloc.rpartition('@')[2]}")
    return Server(host=parts.hostname, port=parts.port or port) if parts.hostname else None


def _database(connection: str) -> DatabaseAccess | None:
    """Return the database of a SQLAlchemy URL: mysql+pymysql://user:password@host:port/name, or sqlite:////path."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(connection)
        name = parts.path.removeprefix("/")
        if not parts.hostname:
            return DatabaseAccess(name=name) if name else None
        user = unquote(parts.username) if parts.username else None
        return DatabaseAccess(name=name, server=_server(parts.netloc, _MYSQL_PORT), user=user)
    return None
