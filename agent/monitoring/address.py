"""Parse the address of a monitoring server: ``tcp://HOST:PORT`` or ``unix:///PATH``, as in nova's [healthcheck].

This module does not look up names. Therefore the host of a TCP address must be an IP address or ``localhost``.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

_LAST_PORT = 65535
_FORMS = "use tcp://127.0.0.1:9199, tcp://[::1]:9199 or unix:///run/stocktake/NAME.sock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens: a ``path``, or else a ``host`` and a ``port``."""

    path: str = ""
    host: str = ""
    port: int = 0

    @property
    def is_unix(self) -> bool:
        """Whether the address is a unix socket."""
        return bool(self.path)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect: a unix socket, or a loopback address."""
        return self.is_unix or self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    @property
    def uri(self) -> str:
        """The address as in the configuration."""
        if self.is_unix:
            return f"unix://{self.path}"
        return f"tcp://[{self.host}]:{self.port}" if ":" in self.host else f"tcp://{self.host}:{self.port}"


def parsed(uri: str) -> Address:
    """Return the address. Raises ValueError with the reason if the text is no address."""
    scheme, separator, rest = uri.partition("://")
    if scheme == "unix" and separator:
        if not rest.startswith("/") or rest == "/" or "\0" in rest:
            raise ValueError(f"a unix address needs an absolute path: {_FORMS}")
        return Address(path=rest)
    if scheme != "tcp" or not separator:
        raise ValueError(_FORMS)
    return _tcp(uri)


def _tcp(uri: str) -> Address:
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{error}: {_FORMS}") from error
    if not host or not port or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(f"a TCP address is a host and a port from 1 to {_LAST_PORT}: {_FORMS}")
    if host != "localhost":
        try:
            ipaddress.ip_address(host)
        except ValueError as error:
            raise ValueError(f"{host} is no IP address, and names are not looked up: {_FORMS}") from error
    return Address(host=host, port=port)
