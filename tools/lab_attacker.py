"""Try what an attacker with the agent's user would try, and print one line for each attempt; runs on the test machine.

    python3 lab_attacker.py FILE

FILE is a JSON object: ``secrets`` that must not be read, ``places`` that must not be written, ``devices`` that must not
be opened. ``pids`` has a process of root. Each line is ``refused`` or ``DONE``, the attempt, and the answer of the
kernel or of the probe. The exit code is 1 if any attempt was done.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

PROBE = "/run/stocktake-probe.sock"
REQUESTS = {
    "a program": {"verb": "run", "argv": ["/bin/sh", "-c", "id"], "deadline_s": 5},
    "a verb with a program": {"verb": "lvm-groups", "deadline_s": 5, "argv": ["/bin/id"]},
    "a verb with a path": {"verb": "images", "deadline_s": 5, "path": "/etc/shadow"},
    "a path as the verb": {"verb": "/bin/id", "deadline_s": 5},
    "a list of verbs": {"verb": ["images"], "deadline_s": 5},
    "an hour of time": {"verb": "images", "deadline_s": 3600},
}
_LIBC = ctypes.CDLL(None, use_errno=True)
_PTRACE_ATTACH = 16


class Refused(Exception):
    """The kernel or a program refused the attempt; the text is the reason."""


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def read(path: str) -> None:
    """Read a file."""
    with open(path, "rb") as file:
        file.read(16)


def write(folder: str) -> None:
    """Create a file in a folder, or open the file itself for writing."""
    target = os.path.join(folder, "attacker") if os.path.isdir(folder) else folder
    with open(target, "ab"):
        pass


def trace(pid: int) -> None:
    """Attach to a process as a debugger."""
    _checked(_LIBC.ptrace(_PTRACE_ATTACH, pid, None, None))


def memory_of(pid: int) -> None:
    """Read the memory of a process."""
    read(f"/proc/{pid}/mem")


def become_root() -> None:
    """Take user id 0."""
    os.setuid(0)


def mount() -> None:
    """Mount a file system."""
    _checked(_LIBC.mount(b"none", b"/mnt", b"tmpfs", 0, None))


def kill_root() -> None:
    """Send a signal to a process of root."""
    os.kill(1, 0)


def ask(request: object) -> None:
    """Send a request to the probe. Raises Refused with the probe's reason."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(PROBE)
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    if not answer:
        raise Refused("no answer")
    document = json.loads(answer)
    if "refused" in document:
        raise Refused(document["refused"])


def libvirt_for_writing() -> None:
    """Open a read-write connection to libvirt. Raises Refused with virsh's reason."""
    words = ["virsh", "-c", "qemu:///system", "version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise Refused(done.stderr.strip().splitlines()[-1])


def attempts(given: dict[str, list[str]]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each attempt with its title."""
    for path in given["secrets"]:
        yield f"read {path}", lambda path=path: read(path)  # type: ignore[misc]
    for path in given["places"]:
        yield f"write {path}", lambda path=path: write(path)  # type: ignore[misc]
    for path in given["devices"]:
        yield f"open device {path}", lambda path=path: read(path)  # type: ignore[misc]
    for pid in (1, int(given["pids"][0])):
        yield f"ptrace process {pid} of root", lambda pid=pid: trace(pid)  # type: ignore[misc]
        yield f"read memory of process {pid} of root", lambda pid=pid: memory_of(pid)  # type: ignore[misc]
    yield "signal process 1", kill_root
    yield "setuid(0)", become_root
    yield "mount a file system", mount
    yield "open a read-write connection to libvirt", libvirt_for_writing
    for title, request in REQUESTS.items():
        yield f"ask the probe for {title}", lambda request=request: ask(request)  # type: ignore[misc]


def main() -> int:
    """Try everything; return 1 if an attempt was not refused."""
    print(f"user {os.getuid()}, groups {sorted(os.getgroups())}")
    done = 0
    for title, attempt in attempts(json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))):
        try:
            attempt()
        except (OSError, Refused) as error:
            print(f"refused  {title}: {getattr(error, 'strerror', None) or error}")
        else:
            done += 1
            print(f"DONE     {title}")
    return 1 if done else 0


if __name__ == "__main__":
    sys.exit(main())
