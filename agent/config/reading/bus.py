"""Decide how the message broker is reached: its URL, and the options of its group that a file sets.

The URL is looked at here, before the library gets it: the library raises a bare ValueError
on a port that is no number, and only where it is used first. No problem quotes the URL: a
password with an unescaped character is exactly what ends up in the wrong part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from agent.bus.options import BusOptions
from agent.config.load import Loaded
from agent.config.options.rabbit import GROUP
from agent.config.reading.bounds import bounded
from agent.errors import ConfigError

# Names of oslo.messaging's one driver for RabbitMQ, its entry points; kombu's own transport may follow a "+".
SCHEMES = ("rabbit", "kombu")
_LAST_PORT = 65535
_ESCAPED = "characters such as / ? # , in a password must be percent-encoded"


def bus_options_from(loaded: Loaded) -> BusOptions | None:
    """How to reach the broker; None where no transport_url is set. Raises ConfigError on one that cannot be read."""
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
    """What keeps oslo.messaging from reading it (oslo_messaging/transport.py:TransportURL.parse), in words."""
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
            yield f"the port of host {number} is no number of 1 to {_LAST_PORT}; {_ESCAPED}"


def _has_good_port(address: str) -> bool:
    """Whether HOST:PORT has one that can be; without a port, as a bare IPv6 address is, there is nothing to be wrong.

    Source: oslo_utils/netutils.py:parse_host_port, which the library reads it with.
    """
    after_host = address.rpartition("]")[2] if address.startswith("[") else address if address.count(":") == 1 else ""
    _, separator, port = after_host.partition(":")
    return not separator or (port.isascii() and port.isdigit() and 1 <= int(port) <= _LAST_PORT)
