"""Check the health server, the metrics server and the metrics file as a monitoring system would read them."""

from __future__ import annotations

import functools
import http.client
import os
import socket
from collections.abc import Iterator

from agent.cmd.probes.probe import Probe
from agent.config.loaded import Loaded
from agent.config.options.healthcheck import health_options_from
from agent.config.options.metrics import metrics_options_from
from agent.host_files.own_folder import why_not_writable
from agent.monitoring.address import Address
from agent.ports import Deadline

_OURS = "application/health+json"


def monitoring_probes(loaded: Loaded) -> Iterator[Probe]:
    """Yield one probe for each address in [healthcheck] and [metrics], and one for [metrics] textfile if it is set."""
    metrics = metrics_options_from(loaded)
    for kind, addresses in (("health", health_options_from(loaded).addresses), ("metrics", metrics.addresses)):
        for number, address in enumerate(addresses, start=1):
            what = f"{kind} address" if len(addresses) == 1 else f"{kind} address {number}"
            yield Probe(what=what, ask=functools.partial(_address, address))
    if metrics.textfile:
        yield Probe(what="metrics text file", ask=functools.partial(_textfile, metrics.textfile))


def _address(address: Address, deadline: Deadline) -> str:
    """Return a sentence that says either that an agent serves the address, or that no program serves it.

    Raises OSError if a program that is not an agent serves the address.
    """
    try:
        connected = _connected(address, deadline.left_s())
    except (FileNotFoundError, ConnectionRefusedError):
        return f"nothing listens at {address.uri} yet: the agent listens there while it runs"
    with connected:
        if _content_type(connected) != _OURS:
            raise OSError(f"another program listens at {address.uri}, so the agent cannot listen there")
    return f"an agent answers at {address.uri}"


def _connected(address: Address, timeout_s: float) -> socket.socket:
    if not address.is_unix:
        return socket.create_connection((address.host, address.port), timeout_s)
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(timeout_s)
    try:
        connected.connect(address.path)
    except OSError:
        connected.close()
        raise
    return connected


def _content_type(connected: socket.socket) -> str:
    """Return the content type of the answer to ``GET /health``; "" if the other side does not speak HTTP."""
    connected.sendall(b"GET /health HTTP/1.0\r\n\r\n")
    answer = http.client.HTTPResponse(connected)
    try:
        answer.begin()
    except http.client.HTTPException:
        return ""
    return answer.getheader("Content-Type", "")


def _textfile(path: str, _deadline: Deadline) -> str:
    folder = os.path.dirname(path)
    problem = why_not_writable(folder)
    if problem is not None:
        raise OSError(f"{folder} cannot be written: {problem.strerror}")
    return f"{folder} can be written"
