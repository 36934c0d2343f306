"""The HTTP server of the monitoring pages, on real sockets."""

import contextlib
import http.client
import os
import socket
import stat
import threading
import time

import pytest

from agent.monitoring import server as module
from agent.monitoring.address import Address
from agent.monitoring.server import Answer, HttpServer
from tests.rigs.mariadb import free_port
from tests.rigs.wait import until

PAGES = {"/a": lambda accept: Answer(status=200, body=f"accept {accept}\n".encode(), headers=(("X-One", "1"),))}


@pytest.fixture
def tcp():
    server = HttpServer(Address(host="127.0.0.1", port=free_port()), PAGES)
    server.start()
    yield server
    server.end()


def ask(server, method, path, **headers):
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def connected(server):
    return socket.create_connection(server.server_address[:2], timeout=30)


def test_the_monitoring_server_answers_get_and_head(tcp):
    """A GET request for a known path gets the page, and a HEAD request gets the headers alone."""
    answer, body = ask(tcp, "GET", "/a?x=1", Accept="text/plain")
    assert (answer.status, body, answer.headers["X-One"]) == (200, "accept text/plain\n", "1")
    answer, body = ask(tcp, "HEAD", "/a")
    assert (answer.status, body, answer.headers["Content-Length"]) == (200, "", "8")
    assert answer.headers["Connection"] == "close"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
def test_the_monitoring_server_accepts_only_get_and_head(tcp, method):
    """The monitoring server answers every HTTP method except GET and HEAD with status 405."""
    answer, _ = ask(tcp, method, "/a")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_an_unknown_path_is_answered_with_404(tcp):
    assert ask(tcp, "GET", "/b")[0].status == 404


def test_a_too_long_http_request_gets_no_answer(tcp):
    """The monitoring server accepts at most 8 KiB, and closes the connection of a longer request."""
    answer, _ = ask(tcp, "GET", "/a", Padding="x" * 7000)
    assert answer.status == 200
    with connected(tcp) as client:
        # The server closes the connection without an answer; what it has not read makes that a reset.
        answer = b""
        with contextlib.suppress(OSError):
            client.sendall(b"GET /a HTTP/1.0\r\nPadding: " + b"x" * 20000)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(100)
        assert answer == b""


def test_a_slow_http_request_is_ended_at_its_deadline(tcp, monkeypatch):
    """If a client sends its request byte by byte, the monitoring server closes the connection at a deadline."""
    monkeypatch.setattr(module, "REQUEST_S", 0.3)
    with connected(tcp) as client:
        began = time.monotonic()
        while time.monotonic() - began < 30:
            try:
                client.sendall(b"G")
                client.settimeout(0.05)
                if client.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert 0.25 < time.monotonic() - began < 20


def test_a_fifth_simultaneous_connection_gets_503(tcp):
    """The monitoring server serves four clients at a time. A fifth client gets status 503."""
    slow = [connected(tcp) for _ in range(4)]
    until(lambda: tcp._free._value == 0, 30, "four connections are served")
    with connected(tcp) as fifth:
        assert fifth.recv(100).startswith(b"HTTP/1.0 503")
    for client in slow:
        client.close()
    until(lambda: tcp._free._value == 4, 30, "their places are free again")
    assert ask(tcp, "GET", "/a")[0].status == 200


def unix_answer(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(path))
        client.sendall(b"GET /a HTTP/1.0\r\n\r\n")
        return client.makefile("rb").read()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose sockets have short names: the kernel accepts 107 bytes."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_monitoring_socket_has_the_configured_mode(folder):
    """The monitoring server creates its Unix socket with the configured mode."""
    server = HttpServer(Address(path="s.sock"), PAGES, mode=0o640)
    server.start()
    assert stat.S_IMODE(os.stat("s.sock").st_mode) == 0o640
    assert b"200 OK" in unix_answer("s.sock")
    server.end()
    assert not os.path.exists("s.sock")


def test_a_new_monitoring_socket_is_closed_to_others(folder, monkeypatch):
    """A new Unix socket of the monitoring server has mode 0600 until its configured mode is set."""
    seen, chmod, before = [], os.chmod, os.umask(0)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("the umask belongs to all threads"))
            patch.setattr(os, "chmod", lambda path, mode: (seen.append(os.stat(path).st_mode), chmod(path, mode)))
            server = HttpServer(Address(path="s.sock"), PAGES, mode=0o660)
    finally:
        os.umask(before)
    server.end()
    assert list(map(stat.S_IMODE, seen)) == [0o600]


def test_a_socket_is_removed_if_its_mode_cannot_be_set(folder, monkeypatch):
    """If the mode of the Unix socket cannot be set, the monitoring server fails and removes the socket file."""

    def refused(_path, _mode):
        raise PermissionError(1, "not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "chmod", refused)
        with pytest.raises(PermissionError):
            HttpServer(Address(path="s.sock"), PAGES)
    assert os.listdir() == []
    HttpServer(Address(path="s.sock"), PAGES).end()


def test_a_socket_file_is_replaced_only_without_a_server(folder):
    """The monitoring server replaces the socket file of an ended server, and fails if another server still runs."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind("s.sock")
    server = HttpServer(Address(path="s.sock"), PAGES)
    server.start()
    with pytest.raises(OSError, match="in use"):
        HttpServer(Address(path="s.sock"), PAGES)
    assert b"200 OK" in unix_answer("s.sock")
    server.end()


def test_a_regular_file_is_not_replaced_by_a_socket(folder):
    """If a regular file is at the path of the monitoring server's socket, the server fails and the file stays."""
    (folder / "s.sock").write_text("mine")
    with pytest.raises(OSError, match="no socket"):
        HttpServer(Address(path="s.sock"), PAGES)
    assert (folder / "s.sock").read_text() == "mine"


def test_the_monitoring_servers_thread_ends_with_the_server():
    server = HttpServer(Address(host="127.0.0.1", port=free_port()), PAGES)
    server.start()
    server.end()
    until(lambda: not server._thread.is_alive(), 30, "the thread has ended")
    assert threading.current_thread().is_alive()
