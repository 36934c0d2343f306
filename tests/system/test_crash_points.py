"""SIGKILL between any two writes, and while the agent replaces a file: the next start corrects everything.

The agent has no hook for this: a gateway in front of Placement counts the writes and kills the process, and inotify
reports when the agent is about to replace a file.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import select
import struct
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.gateway import Asked, Dropped, Gateway, gateway
from tests.rigs.host import PATIENCE_S, AgentHost, Daemon
from tests.rigs.placement import Rest
from tests.rigs.wait import until

# The writes of a new host, in order; the fixture ``undisturbed`` compares them with a run.
WRITES = (
    "POST /resource_providers",
    "PUT /resource_providers/ROOT/inventories",
    "PUT /traits/CUSTOM_OWNER_STOCKTAKE",
    "PUT /resource_providers/ROOT/traits",
)
IN_CREATE = 0x100
KILLS = 3


@pytest.fixture
def between(placement: Rest) -> Iterator[Gateway]:
    with gateway(placement.server.url) as made:
        yield made


@pytest.fixture
def host(tmp_path: Path, between: Gateway) -> AgentHost:
    return new_host(tmp_path, between)


def new_host(folder: Path, between: Gateway) -> AgentHost:
    """Return a host that the cloud does not know, with one unknown guest; the agent makes the host's identity."""
    node = folder / "node.xml"
    node.write_text(node_xml(cpus=6, memory_mib=8192, domains=[domain_xml("stranger", vcpus=2, memory_mib=512)]))
    made = AgentHost(folder=folder, name=f"cmp-{uuid.uuid4()}", placement_url=between.url, libvirt_uri=f"test://{node}")
    made.configure()
    made.make_cell().dispose()
    return made


def node(guest: str) -> str:
    return node_xml(cpus=6, memory_mib=8192, domains=[domain_xml(guest, vcpus=2, memory_mib=512)])


def root_of(host: AgentHost) -> str:
    return (host.folder / "state" / "compute_id").read_text().strip()


def published(placement: Rest, host: AgentHost) -> tuple[dict, set]:
    """Return Placement's inventories and traits of the only provider with this host's name."""
    found = placement.done("GET", f"/resource_providers?name={host.name}")["resource_providers"]
    assert [provider["uuid"] for provider in found] == [root_of(host)]
    return placement.inventories(root_of(host)), placement.traits(root_of(host))


def unhurt(host: AgentHost) -> dict:
    """Check that the history and the report are whole files; return the report."""
    history = json.loads((host.folder / "state" / "findings.json").read_text())
    assert [sighting["code"] for sighting in history["sightings"]] == ["guest-unknown"]
    return host.report()


@pytest.fixture(scope="module")
def undisturbed(placement: Rest, tmp_path_factory) -> tuple[dict, set]:
    """What an undisturbed run publishes for such a host."""
    with gateway(placement.server.url) as through:
        other = new_host(tmp_path_factory.mktemp("undisturbed"), through)
        assert other.agent("--once").code == 3
        assert tuple(write.replace(root_of(other), "ROOT") for write in through.writes) == WRITES
    inventories, traits = published(placement, other)
    assert (inventories["VCPU"]["total"], inventories["VCPU"]["reserved"]) == (6, 1)
    return inventories, traits


@pytest.mark.parametrize("moment", ["before it arrives", "before it is answered"])
@pytest.mark.parametrize("number", range(len(WRITES)), ids=lambda number: WRITES[number].replace("/", "_"))
def test_a_new_run_completes_the_writes_of_a_killed_daemon(placement, host, between, undisturbed, number, moment):
    """The daemon is killed during its first writes to Placement; the next run publishes the missing rest."""
    with host.daemon() as daemon:
        count = iter(range(len(WRITES) + 1))

        def kill_at_the_write(asked: Asked) -> None:
            if asked.is_write and next(count) == number:
                daemon.process.kill()
                daemon.process.wait()
                raise Dropped

        if moment == "before it arrives":
            between.before = kill_at_the_write
        else:
            between.after = kill_at_the_write
        assert daemon.ended() == -9
    assert len(between.writes) == number + 1
    between.before = between.after = lambda _asked: None
    ended = host.agent("--once")
    assert (ended.code, ended.stderr.count("Traceback")) == (3, 0)
    assert published(placement, host) == undisturbed
    assert unhurt(host)["audit"]["outcome"] == "findings"
    # A write that was carried out is not sent again; but each process makes sure that its custom traits' names exist.
    again = [write for write in between.writes[number + 1 :] if "/traits/CUSTOM" not in write]
    cut = number + (moment == "before it is answered")
    assert [write.replace(root_of(host), "ROOT") for write in again] == [w for w in WRITES[cut:] if "CUSTOM" not in w]


class Folder:
    """A watch on a folder, by inotify: it reports a new file a few microseconds after its creation."""

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._number = libc.inotify_init1(os.O_CLOEXEC)
        assert self._number >= 0, os.strerror(ctypes.get_errno())
        assert libc.inotify_add_watch(self._number, os.fsencode(path), IN_CREATE) >= 0

    def news(self, daemon: Daemon, beginning: str) -> bool:
        """Return whether a file whose name starts with ``beginning`` was created since the last call."""
        assert daemon.process.poll() is None, daemon.text()
        is_any = select.select([self._number], [], [], 0)[0]
        return bool(is_any) and any(name.startswith(beginning) for name in self._names())

    def close(self) -> None:
        os.close(self._number)

    def _names(self) -> list[str]:
        events, names = os.read(self._number, 65536), []
        while events:
            (length,) = struct.unpack_from("I", events, 12)
            names.append(events[16 : 16 + length].rstrip(b"\0").decode())
            events = events[16 + length :]
        return names


@pytest.mark.parametrize("where", ["state", "run"])
def test_a_kill_during_a_file_write_leaves_a_complete_file(host, undisturbed, placement, where):
    """The daemon is killed while it replaces findings.json or report.json; the file is complete afterwards."""
    name = {"state": "findings.json", "run": "report.json"}[where]
    ages = random.Random()
    host.agent("--once")
    for _ in range(KILLS):
        (host.folder / "node.xml").write_text(node(f"guest-{ages.random()}"))  # a new finding: both files change
        with contextlib.closing(Folder(host.folder / where)) as folder, host.daemon() as daemon:
            until(lambda: folder.news(daemon, f"{name}."), PATIENCE_S, f"{name} is replaced")
            threading.Event().wait(ages.uniform(0, 0.003))
            daemon.process.kill()
            assert daemon.ended() == -9
        assert unhurt(host)["audit"]["outcome"] == "findings"
    (host.folder / "node.xml").write_text(node("stranger"))
    assert host.agent("--once").code == 3
    assert unhurt(host)["audit"]["outcome"] == "findings"
    assert published(placement, host) == undisturbed
