"""[oslo_messaging_rabbit]: how to connect to the broker. These options exist only with a broker (dynamic.py).

Importing oslo.messaging costs 9 MiB of memory, which a host without a broker need not spend. So Stocktake loads the
options of oslo.messaging only if ``transport_url`` is set or if one of Stocktake's own files contains the group.

This module checks the URL before oslo.messaging gets it. For a port that is not a number, oslo.messaging raises a
bare ValueError, and only at the first use. No error message here quotes the URL: if a character in the password is not
escaped, a part of the password may appear as the host or the path of the URL.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from urllib.parse import urlsplit

from oslo_config import cfg

from agent.backend import choose_threads
from agent.bus.options import BusOptions
from agent.config.bounds import bounded
from agent.config.loaded import Loaded
from agent.errors import ConfigError

GROUP = "oslo_messaging_rabbit"
# The valid URL schemes: the names of oslo.messaging's RabbitMQ driver. The name of a kombu transport may follow, as in
# "kombu+memory".
SCHEMES = ("rabbit", "kombu")
_LAST_PORT = 65535
_ESCAPED = "in a password, special characters such as '/', '?', '#' or ',' must be percent-encoded"


def rabbit_opts() -> list[cfg.Opt]:
    """Return the group's options, from oslo.messaging's own entry point."""
    choose_threads()
    (point,) = importlib.metadata.entry_points(group="oslo.config.opts", name="oslo.messaging")
    return [opt for group, found in point.load()() if group == GROUP for opt in found]


def bus_options_from(loaded: Loaded) -> BusOptions | None:
    """Return the broker options, None if no transport_url is set. Raises ConfigError if the URL is invalid."""
    url = loaded.value("DEFAULT", "transport_url")
    if not url:
        return None
    if problem := next(_url_problems(url), None):
        raise ConfigError(f"{loaded.quote('DEFAULT', 'transport_url')}: {problem}")
    set_ones = ((opt, loaded.value(GROUP, opt.dest)) for group, opt in loaded.options if group == GROUP)
    return BusOptions(
        url=url,
        rabbit=tuple((opt.dest, value) for opt, value in set_ones if loaded.origin(GROUP, opt.dest) != "default"),
        response_timeout_s=float(bounded(loaded, "DEFAULT", "rpc_response_timeout")),
    )


def _url_problems(url: str) -> Iterator[str]:
    """Yield each fault that prevents oslo.messaging from parsing the URL (oslo_messaging/transport.py:TransportURL)."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme.partition("+")[0].lower() not in SCHEMES:
        yield f"must begin with {SCHEMES[0]}://, as in rabbit://USER:PASSWORD@HOST:5672/"
        return
    try:
        netloc = urlsplit(url).netloc
    except ValueError:
        yield f"cannot be read as a URL; {_ESCAPED}"
        return
    for number, host in enumerate(netloc.split(","), start=1):
        if not _has_good_port(host.rpartition("@")[2]):
            yield f"the port of host {number} is not a number from 1 to {_LAST_PORT}; {_ESCAPED}"


def _has_good_port(address: str) -> bool:
    """Return whether the port of HOST:PORT is valid or missing; a bare IPv6 address has no port.

    Source: oslo_utils/netutils.py:parse_host_port, with which oslo.messaging parses the address.
    """
    after_host = address.rpartition("]")[2] if address.startswith("[") else address if address.count(":") == 1 else ""
    _, separator, port = after_host.partition(":")
    return not separator or (port.isascii() and port.isdigit() and 1 <= int(port) <= _LAST_PORT)
