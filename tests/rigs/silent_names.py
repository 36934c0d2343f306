"""Three name servers that answer no query until a test sets ``answers``: then every name resolves to this machine.

They are real UDP sockets on loopback addresses. A program uses them through a resolv.conf that is mounted over the
machine's, in the program's own mount namespace. Mounting requires root.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import random
import select
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SERVERS = 3
ADDRESS = 1
_HEADER_BYTES = 12


def missing() -> str | None:
    """Return why this machine cannot run the rig; None if it can."""
    if os.geteuid() != 0:
        return "root alone may mount over /etc/resolv.conf and listen on port 53"
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() or None if tried.returncode else None


class SilentNames:
    """The servers; ``resolv_conf`` lists them. With ``answers`` set they answer 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self.answers = threading.Event()
        self.asked = 0
        self._ended = threading.Event()
        self._sockets = [_listening() for _ in range(SERVERS)]
        self.resolv_conf = folder / "resolv.conf"
        self.resolv_conf.write_text("".join(f"nameserver {one.getsockname()[0]}\n" for one in self._sockets))
        self._thread = threading.Thread(target=self._serve, name="silent-names", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the servers."""
        self._ended.set()
        self._thread.join(60)
        for one in self._sockets:
            one.close()

    def _serve(self) -> None:
        while not self._ended.is_set():
            for ready in select.select(self._sockets, [], [], 0.1)[0]:
                question, asker = ready.recvfrom(512)
                self.asked += 1
                if self.answers.is_set():
                    ready.sendto(_answer(question), asker)


def _listening() -> socket.socket:
    for _ in range(100):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            made.bind((f"127.53.{random.randrange(256)}.{random.randrange(1, 255)}", 53))
        except OSError:
            made.close()
        else:
            return made
    raise AssertionError("no loopback address has a free port 53")


def _answer(question: bytes) -> bytes:
    """Return the answer (RFC 1035, 4.1): the question, and one address if it asks for an IPv4 address, else none."""
    end = question.index(0, _HEADER_BYTES) + 1
    (kind,) = struct.unpack_from(">H", question, end)
    asked = question[_HEADER_BYTES : end + 4]
    found = struct.pack(">HHHLH4s", 0xC00C, ADDRESS, 1, 60, 4, socket.inet_aton("127.0.0.1"))
    count = int(kind == ADDRESS)
    return question[:2] + struct.pack(">HHHHH", 0x8180, 1, count, 0, 0) + asked + found * count


class Program:
    """A Python program that prints JSON lines and uses those name servers."""

    def __init__(self, names: SilentNames, code: str, *arguments: str) -> None:
        shown = f'mount --bind {names.resolv_conf} /etc/resolv.conf && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", shown, "sh", sys.executable, "-c", code, *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._hear, name="program-lines", daemon=True).start()

    def line(self, timeout_s: float) -> Any:
        """Return the next printed line, parsed. Raise AssertionError after ``timeout_s`` or at the program's end."""
        try:
            text = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise AssertionError(f"nothing said in {timeout_s:g} s") from None
        assert text, "the program has ended"
        return json.loads(text)

    def end(self) -> None:
        """Kill the program."""
        self._process.kill()
        self._process.wait(60)

    def _hear(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")


@contextlib.contextmanager
def silent_names(folder: Path) -> Iterator[SilentNames]:
    """Yield the servers and stop them after the block."""
    made = SilentNames(folder)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def program_among(names: SilentNames, code: str, *arguments: str) -> Iterator[Program]:
    """Yield a running program and kill it after the block."""
    made = Program(names, code, *arguments)
    try:
        yield made
    finally:
        made.end()
