"""stocktake-probe behind a real unix socket, as systemd serves it, and callers that are not root."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import pickle
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.cmd import daemon
from agent.demo.placement import TOKEN
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until

NOBODY = 65534
IN_VG0 = "images_type = lvm\nimages_volume_group = vg0"
RUN = "import sys; from agent.privileged.server import main; sys.exit(main())"
CONF = """
[DEFAULT]
instances_path = {folder}/instances
[agent]
nova_conf =
probe_user = {user}
{agent}
[libvirt]
virt_type = qemu
connection_uri = {uri}
{images}
[state]
source = none
"""


class ProbeSocket:
    """A socket at ``path``; ``serve`` starts systemd-socket-activate, which runs one program for each connection."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.path = str(folder / "probe.sock")
        self.conf = folder / "probe.conf"
        self.log = folder / "probe.log"
        self._server: subprocess.Popen[bytes] | None = None

    def configure(
        self, *, images: str = IN_VG0, user: str = "nobody", agent: str = "", uri: str = "test:///default"
    ) -> None:
        """Write the probe's configuration; ``images`` are the options of [libvirt] that say where disks are."""
        (self.folder / "instances").mkdir(exist_ok=True)
        self.conf.write_text(CONF.format(folder=self.folder, images=images, user=user, agent=agent, uri=uri))

    def probe(self) -> tuple[str, ...]:
        """Return the command of stocktake-probe."""
        return (sys.executable, "-c", RUN, "--config-file", str(self.conf))

    def serve(self, command: tuple[str, ...] = (), environment: Mapping[str, str] | None = None) -> None:
        """Serve the socket by this command, by default by stocktake-probe; any user may connect."""
        self.stop()
        given = {"PYTHONPATH": str(ROOT), **(environment or {})}
        passed = [f"--setenv={name}={value}" for name, value in given.items()]
        line = ["systemd-socket-activate", "-l", self.path, "--accept", "--inetd", *passed, *(command or self.probe())]
        with self.log.open("ab") as log:
            self._server = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(self._listens, 20, "systemd-socket-activate does not listen")
        os.chmod(self.path, 0o666)

    def _listens(self) -> bool:
        # Connecting would start a program, so ask the kernel's list of sockets that accept connections (flag 0x10000).
        lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
        return any(line.endswith(f" {self.path}") and " 00010000 " in line for line in lines)

    def children(self) -> list[int]:
        """Return the processes that serve a connection now."""
        assert self._server is not None
        pid = self._server.pid
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def stop(self) -> None:
        """End the server and its children."""
        if self._server is None:
            return
        for child in self.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._server.kill()
        self._server.wait()
        self._server = None
        pathlib.Path(self.path).unlink(missing_ok=True)

    @contextlib.contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """Yield a connection that the caller writes and reads itself."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(self.path)
            yield connection


@contextlib.contextmanager
def probe_socket() -> Iterator[ProbeSocket]:
    """Yield a ProbeSocket in a folder that every user may enter, unlike pytest's own folders."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stocktake-probe-"))
    folder.chmod(0o755)
    rig = ProbeSocket(folder)
    rig.configure()
    try:
        yield rig
    finally:
        rig.stop()
        shutil.rmtree(folder)


def as_nobody(call: Callable[[], Any], first: Callable[[], Any] = lambda: None) -> Any:
    """Return what ``call`` returns in a forked process with the user id of nobody, or the text of its error.

    The process calls ``first`` as root, for example to import modules from folders that only root may enter.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            first()
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            outcome = call()
        except BaseException as error:  # noqa: BLE001
            outcome = f"{type(error).__name__}: {error}"
        try:
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(outcome, pipe)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        outcome = pickle.load(pipe)
    os.waitpid(child, 0)
    return outcome


AGENT_CONF = """
[DEFAULT]
host = {host}
instances_path = {folder}/instances
update_resources_interval = -1
[agent]
state_dir = {place}/state
run_dir = {place}/run
nova_conf =
confirm_spacing = 0
{probe}
[libvirt]
virt_type = qemu
connection_uri = {uri}
{images}
[state]
source = none
[placement]
auth_type = admin_token
endpoint = {url}
token = {token}
"""


class OnceAgent:
    """Single audits of one host's agent; ``place`` has its configuration, its state and its report."""

    def __init__(
        self,
        rig: ProbeSocket,
        name: str,
        url: str,
        *,
        uuid: str,
        owner: int,
        probe: str = "",
        images: str = IN_VG0,
        uri: str = "test:///default",
    ) -> None:
        self.place = rig.folder / name
        for folder in (self.place, self.place / "state", self.place / "run"):
            folder.mkdir()
            os.chown(folder, owner, owner)
        self.conf = self.place / "stocktake.conf"
        fields = {"folder": rig.folder, "place": self.place, "url": url, "token": TOKEN}
        more = {"host": f"probe-{uuid}", "probe": probe, "images": images, "uri": uri}
        self.conf.write_text(AGENT_CONF.format(**fields, **more))
        (self.place / "state" / "compute_id").write_text(f"{uuid}\n")

    def once(self) -> dict[str, Any]:
        """Run one audit in this process, and return the report. Only a forked process may call this."""
        daemon.run(["--config-file", str(self.conf), "--once"], queue.SimpleQueue())
        return self.report()

    def report(self) -> dict[str, Any]:
        """Return the last report."""
        return json.loads((self.place / "run" / "report.json").read_text())
