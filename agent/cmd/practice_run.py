"""Build a practice cloud for ``stocktake demo --practice``: clean hosts, planted faults, and a daemon for each host."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agent.cmd.demo_agent import DemoAgent, agent_of, lvm_sees
from agent.demo.cast import HostCast
from agent.demo.cloud import DemoCloud, allocate, amounts
from agent.demo.faults import plant
from agent.errors import AgentError
from agent.model.report import Outcome

_START_S = 60.0
_DAEMON = "from agent.cmd.daemon import main; main()"
_STOP_S = 10.0


class NoPractice(AgentError):
    """The practice cloud could not be built; the message contains the reason."""


def prepare(built: DemoCloud, faults: int, draw: random.Random, progress: Callable[[str], None]) -> None:
    """Schedule the guests, prove that both hosts are clean, plant the faults and let the agents confirm them.

    Raises NoPractice if lvm2 cannot report the volume groups or if the cloud is not clean before the faults.
    """
    if not built.has_real_groups:
        raise NoPractice("a practice cloud needs volume groups on loop devices: run this command as root")
    with contextlib.ExitStack() as stack:
        stack.enter_context(lvm_sees(built))
        agents = [stack.enter_context(agent_of(built, host)) for host in built.hosts]
        progress("the agents write their inventories to Placement, and the guests are scheduled")
        for agent in agents:
            agent.audit()
        for host in built.hosts:
            for guest in host.guests:
                allocate(built, guest.uuid, {host.root_uuid: amounts(guest)})
        _audit_twice(agents)
        for agent in agents:
            if agent.last().outcome is not Outcome.CLEAN:
                found = ", ".join(seen.finding.headline for seen in agent.last().findings)
                raise NoPractice(f"the cloud is {agent.last().outcome.value} before any fault is planted: {found}")
        progress("both hosts are clean; planting the faults")
        plant(built, faults, draw)
        _audit_twice(agents)


def _audit_twice(agents: list[DemoAgent]) -> None:
    for agent in agents:
        agent.audit()
        agent.audit()


def start_daemons(built: DemoCloud, standing: contextlib.ExitStack) -> tuple[int, ...]:
    """Start the daemon of each host, wait for their first reports, and return their process ids.

    Closing ``standing`` ends the daemons. Raises NoPractice if a daemon ends by itself, or is not ready after 60 s.
    """
    began = [(host, _started(built, host, standing)) for host in built.hosts]
    ends_at, pause = time.monotonic() + _START_S, threading.Event()
    for host, process in began:
        while not (_folder(built, host) / "run" / "report.json").exists():
            if process.poll() is not None or time.monotonic() > ends_at:
                raise NoPractice(f"the daemon of {host.name} did not start: see {_log(built, host)}")
            pause.wait(0.05)
    return tuple(process.pid for _, process in began)


def _started(built: DemoCloud, host: HostCast, standing: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _DAEMON, "--config-file", str(built.config_file(host))]
    with _log(built, host).open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "LVM_SYSTEM_DIR": str(built.lvm_folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # In its own session the daemon gets no Ctrl-C of the operator, and outlives the terminal.
            start_new_session=True,
        )
    standing.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_S)
    process.kill()
    process.wait(_STOP_S)


def _folder(built: DemoCloud, host: HostCast) -> Path:
    return built.folder / host.name


def _log(built: DemoCloud, host: HostCast) -> Path:
    return _folder(built, host) / "agent.log"
