"""A state directory that is read-only, full or missing for a while, on real mounts: exit code 75 or none, never 78."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.rigs.agent_process import Agent
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import uuid
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, host_on
from tests.rigs.placement import Rest, running
from tests.rigs.wait import until

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")]


STRANGER = domain_xml("stranger", domain_uuid=uuid("stranger"), vcpus=1, memory_mib=256)


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, timeout=30)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB, mounted at the state directory."""
    path = tmp_path / "state"
    path.mkdir()
    mount("-t", "tmpfs", "-o", "size=64k,mode=0750", "tmpfs", path)
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True, timeout=30)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    made = Agent(tmp_path)
    yield made
    made.close()


def read_only(state: Path) -> None:
    mount("-o", "remount,ro", state)


def fill(state: Path) -> None:
    """Fill the file system until no write succeeds; first make the lock file, as a daemon leaves it."""
    (state / "lock").touch()
    with (state / "filler").open("wb", buffering=0) as file, pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        _write_for_ever(file)


def _write_for_ever(file: BinaryIO) -> None:
    while True:
        file.write(bytes(4096))


LOSSES = pytest.mark.parametrize("lose", [read_only, fill])


@LOSSES
def test_the_agent_exits_with_75_if_it_cannot_save_its_uuid(agent, state, lose):
    """At its first start the agent must save a new uuid in state_dir, but state_dir is read-only or full."""
    lose(state)
    for arguments in ((), ("--once",)):
        ended = agent.run("--config-file", str(agent.conf), *arguments)
        assert ended.returncode == 75, ended.stderr
        assert "Traceback" not in ended.stderr
        assert f"{state}/compute_id: this host's new identity cannot be written" in ended.stderr
    mount("-o", "remount,rw", state)
    (state / "filler").unlink(missing_ok=True)
    assert agent.once().returncode == 2  # Placement cannot be reached
    assert (state / "compute_id").exists()


@pytest.fixture(scope="module")
def placement(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


@pytest.fixture
def host(tmp_path: Path, state: Path, placement: Rest) -> AgentHost:
    """A host with 4 CPUs and one unknown guest, which is a finding; compute_id is beside the configuration file."""
    made = host_on(tmp_path, placement.server.url, options={"DEFAULT": {"update_resources_interval": -1}})
    (tmp_path / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096, domains=[STRANGER]))
    made.configure()
    made.make_cell().dispose()
    return made


@LOSSES
def test_inventory_is_published_without_a_writable_state_dir(host, state, placement, lose):
    """The daemon writes inventory to Placement although state_dir is read-only or full.

    Its report has a note about state_dir.
    """
    lose(state)
    with host.daemon() as daemon:
        report = daemon.first_audit()
        text = daemon.text()
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 4
    note = report["audit"]["notes"][0]
    assert "remembered" in note
    assert note in text or "so the agent saves nothing there" in text or "findings' history not written" in text
    assert f"note: {note}" in host.stocktake("status").stdout


def test_inventory_is_published_if_state_dir_cannot_be_made(host, placement):
    """The daemon cannot create its state directory, and still writes its inventory to Placement."""
    host.configure({"agent": {"state_dir": "/proc/state/stocktake"}})
    with host.daemon() as daemon:
        daemon.first_audit()
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 4


def reserved(placement: Rest, host: AgentHost) -> int:
    return int(placement.inventories(host.provider_uuid)["MEMORY_MB"]["reserved"])


def test_inventory_is_published_after_state_dir_turns_read_only(host, state, placement):
    """While the daemon runs, the file system of state_dir becomes read-only.

    The operator changes an option and reloads the daemon. The daemon still writes the new inventory to Placement.
    """
    with host.daemon() as daemon:
        daemon.first_audit()
        read_only(state)
        host.configure({"DEFAULT": {"reserved_host_memory_mb": "1000"}})
        daemon.send(signal.SIGHUP)
        until(lambda: reserved(placement, host) == 1000 + 256, PATIENCE_S, "what the reload changed is published")
        note = daemon.audit_now()["audit"]["notes"][0]
        assert "remembered" in note
        mount("-o", "remount,rw", state)
        until(lambda: not daemon.audit_now()["audit"]["notes"], PATIENCE_S, "it remembers again")
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0


def test_the_agent_exits_with_78_if_state_dir_is_a_file(agent):
    (agent.folder / "state").write_text("")
    for arguments in ((), ("--once",)):
        assert agent.run("--config-file", str(agent.conf), *arguments).returncode == 78
