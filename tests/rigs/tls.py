"""A private CA, certificates of every kind, and a server that terminates TLS in front of a plain server.

Keystone and Placement are served as in most clouds: TLS ends in front of them, and ``X-Forwarded-Proto`` and
``X-Forwarded-Host`` carry the original scheme and host.
"""

import contextlib
import os
import select
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.rigs.gateway import Answer, Asked, Gateway

_CONFIG = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = {name}
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = {alternative}
"""
LINGER_S = 2.0
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """PEM files of a certificate and its key."""

    path: Path
    key: Path


class Authority:
    """A CA that only explicitly configured clients trust; its certificate is ``path``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "ca.pem"
        folder.mkdir(parents=True, exist_ok=True)
        config = self._config("ca", "Stocktake test CA", "DNS:ca")
        self._run("req", "-x509", *_NEW_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", *config("ca"))

    def certificate(self, name: str, alternative: str = "IP:127.0.0.1", days: int = 2) -> Certificate:
        """Return a certificate for ``alternative`` (a subjectAltName); with ``days`` below 0 it has expired."""
        config = self._config(name, name, alternative)
        self._run("req", "-new", *_NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", *config(None))
        signed_by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        extensions = ("-extfile", f"{name}.cnf", "-extensions", "leaf")
        files = ("-in", f"{name}.csr", "-out", f"{name}.pem")
        self._run("x509", "-req", *files, *signed_by, "-days", str(days), *extensions)
        return Certificate(path=self._folder / f"{name}.pem", key=self._folder / f"{name}.key")

    def _config(self, file: str, name: str, alternative: str):
        (self._folder / f"{file}.cnf").write_text(_CONFIG.format(name=name, alternative=alternative))
        return lambda extensions: ("-config", f"{file}.cnf", *(("-extensions", extensions) if extensions else ()))

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            ["openssl", *arguments], cwd=self._folder, capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, f"openssl {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}"


class TlsGateway(Gateway):
    """A Gateway that speaks TLS to the agent; ``url`` is https://127.0.0.1:port."""

    def __init__(self, target: str, context: ssl.SSLContext) -> None:
        super().__init__(target)
        # The handshake takes place at the first read, in that connection's own thread.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        # Most of these tests have clients that abort the handshake.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._server.shutdown_request = self._end  # type: ignore[method-assign]
        self.url = self.url.replace("http://", "https://")

    def _end(self, connection: socket.socket) -> None:
        # A close with an unread request would reset the connection, and the alert with the reason might be lost.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
            while select.select([connection], [], [], LINGER_S)[0] and os.read(connection.fileno(), 65536):
                pass
        connection.close()

    def carry(self, asked: Asked, body: bytes, headers: dict[str, str]) -> Answer:
        host = self.url.removeprefix("https://")
        return super().carry(asked, body, {**headers, "X-Forwarded-Proto": "https", "X-Forwarded-Host": host})


@contextlib.contextmanager
def tls_before(target: str, server: Certificate, clients_of: Authority | None = None) -> Iterator[TlsGateway]:
    """Yield a gateway before ``target``; with ``clients_of`` it requests a client certificate of that CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.path, server.key)
    if clients_of is not None:
        context.load_verify_locations(clients_of.path)
        context.verify_mode = ssl.CERT_REQUIRED
    made = TlsGateway(target, context)
    try:
        yield made
    finally:
        made.close()
