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


def test_a_page_of_the_http_server_answers_get_and_head_requests(tcp):
    answer, body = ask(tcp, "GET", "/a?x=1", Accept="text/plain")
    assert (answer.status, body, answer.headers["X-One"]) == (200, "accept text/plain\n", "1")
    answer, body = ask(tcp, "HEAD", "/a")
    assert (answer.status, body, answer.headers["Content-Length"]) == (200, "", "8")
    assert answer.headers["Connection"] == "close"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
def test_http_methods_other_than_get_and_head_are_rejected(tcp, method):
    answer, _ = ask(tcp, method, "/a")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_request_for_an_unknown_path_is_answered_with_not_found(tcp):
    assert ask(tcp, "GET", "/b")[0].status == 404


def test_a_request_of_more_than_8_kib_gets_no_answer(tcp):
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


def test_a_request_that_arrives_slowly_is_ended_at_its_deadline(tcp, monkeypatch):
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


def test_a_fifth_simultaneous_connection_is_answered_with_503(tcp):
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


def test_a_unix_socket_has_the_configured_mode_and_is_removed_at_the_end(folder):
    server = HttpServer(Address(path="s.sock"), PAGES, mode=0o640)
    server.start()
    assert stat.S_IMODE(os.stat("s.sock").st_mode) == 0o640
    assert b"200 OK" in unix_answer("s.sock")
    server.end()
    assert not os.path.exists("s.sock")


def test_a_unix_socket_is_accessible_only_to_its_owner_until_the_mode_is_set(folder, monkeypatch):
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


def test_a_socket_whose_mode_cannot_be_set_is_closed_and_removed(folder, monkeypatch):
    def refused(_path, _mode):
        raise PermissionError(1, "not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "chmod", refused)
        with pytest.raises(PermissionError):
            HttpServer(Address(path="s.sock"), PAGES)
    assert os.listdir() == []
    HttpServer(Address(path="s.sock"), PAGES).end()


def test_a_stale_socket_file_is_replaced_but_not_the_socket_of_a_running_server(folder):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind("s.sock")
    server = HttpServer(Address(path="s.sock"), PAGES)
    server.start()
    with pytest.raises(OSError, match="in use"):
        HttpServer(Address(path="s.sock"), PAGES)
    assert b"200 OK" in unix_answer("s.sock")
    server.end()


def test_the_server_refuses_to_replace_a_regular_file_with_its_socket(folder):
    (folder / "s.sock").write_text("mine")
    with pytest.raises(OSError, match="no socket"):
        HttpServer(Address(path="s.sock"), PAGES)
    assert (folder / "s.sock").read_text() == "mine"


def test_the_thread_of_the_http_server_ends_when_the_server_is_closed():
    server = HttpServer(Address(host="127.0.0.1", port=free_port()), PAGES)
    server.start()
    server.end()
    until(lambda: not server._thread.is_alive(), 30, "the thread has ended")
    assert threading.current_thread().is_alive()
