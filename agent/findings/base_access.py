"""The commands by which an operator checks a source that the agent cannot read, with values from the configuration.

No command contains a password: ``mysql -p`` asks the operator for the password, and curl sends no token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from agent.errors import AgentError, PlacementDenied, PlacementError
from agent.findings.base import AuditFacts
from agent.findings.base_remedies import inspect, line, virsh
from agent.model.finding import Remedy
from agent.model.settings import DatabaseAccess, Server, Settings
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGE_CACHE, IMAGES, LIBVIRT, LVM, PLACEMENT, PMEM, STATE

_HTTPS = 443
_PROBE_LOG = "journalctl --no-pager -n 20 -u stocktake-probe.socket -u 'stocktake-probe@*'"
# The sources that read the folder of the guests' disks.
_PATHS = frozenset({IMAGES, FILESYSTEM, IMAGE_CACHE})
# Matches an error about TLS, from OpenSSL, the Python library "requests" or the agent.
_TLS = re.compile(r"\bSSL|\bTLS|certificate", re.IGNORECASE)


def looks(source: str, error: AgentError, audit: AuditFacts) -> tuple[Remedy, ...]:
    """Return the remedies that show why the source could not be read; an empty tuple if there are none."""
    if "stocktake-probe (" in str(error):
        return (inspect("see what stocktake-probe logged", _PROBE_LOG),)
    if source == PLACEMENT:
        return _placement(error, audit.settings)
    if source == STATE:
        return _state(audit.settings)
    if source == LIBVIRT:
        return (inspect("see whether libvirt answers", virsh(audit, "list", "--all")),)
    if source in _PATHS:
        return (path_look(audit.settings.instances_path),)
    shown = _STORES.get(source)
    return (inspect(f"see what {source} reports", shown(audit.settings)),) if shown else ()


def path_look(path: str) -> Remedy:
    """Return a remedy with a command that shows whether the path can be read.

    The tool ``timeout`` ends this command if the file server does not answer.
    """
    return inspect("see whether the path can be read", line("timeout", "10", "stat", "-f", path))


def _placement(error: AgentError, settings: Settings) -> tuple[Remedy, ...]:
    if isinstance(error, PlacementDenied):
        return (_check("see whether Keystone and Placement accept the agent's credentials"),)
    endpoint = (error.endpoint if isinstance(error, PlacementError) else None) or settings.access.placement_url
    url = endpoint or settings.access.auth_url
    if url and _TLS.search(str(error)):
        return (inspect("see the server's certificate and the TLS error", _certificate(url)),)
    if url is None:
        return (_check("see whether Keystone and Placement answer the agent"),)
    what = "Placement" if endpoint else "Keystone"
    at = f"{url.rstrip('/')}/"
    return (inspect(f"see whether {what} answers", line("curl", "-sS", "-m", "10", "-i", at)),)


def _certificate(url: str) -> str | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = line("openssl", "s_client", "-connect", f"{host}:{parts.port or _HTTPS}", "-servername", host)
    return f"{shown} </dev/null" if host and shown else None


def _state(settings: Settings) -> tuple[Remedy, ...]:
    broker, database = settings.access.broker, settings.access.database
    check = _check("see whether the source of nova's data ([state]) answers the agent")
    if broker is not None:
        return (inspect("see whether the broker's port is open", _port(broker)), check)
    if database is not None:
        return (inspect("see whether the cell database answers", _query(database)), check)
    return (check,)


def _check(words: str) -> Remedy:
    return inspect(words, "stocktake config check --live")


def _port(server: Server) -> str | None:
    return line("timeout", "5", "bash", "-c", f"</dev/tcp/{server.host}/{server.port}")


def _query(database: DatabaseAccess) -> str | None:
    if database.server is None:
        return line("sqlite3", "-readonly", database.name, "SELECT 1")
    host, port = database.server.host, str(database.server.port)
    user = ("-u", database.user) if database.user else ()
    return line("mysql", "-h", host, "-P", port, *user, "-p", database.name, "-e", "SELECT 1")


def _ceph(settings: Settings) -> str | None:
    access = settings.access.ceph
    user = ("--id", access.user) if access and access.user else ()
    conf = ("--conf", access.conf) if access and access.conf else ()
    return line("ceph", *user, *conf, "df")


_STORES: Mapping[str, Callable[[Settings], str | None]] = {
    LVM: lambda _: line("vgs", "--reportformat", "json"),
    CEPH: _ceph,
    PMEM: lambda _: line("ndctl", "list", "-X"),
}
