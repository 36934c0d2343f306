"""One small host with several findings, and the `stocktake` command run against it as a process.

The host has two guests of 4 vCPUs, and a guest that the cloud does not know. Placement still records two more consumers
here: an instance of 8 vCPUs that was evacuated to another host, and a deleted instance. Placement is real, libvirt is
its test driver, the cell is an SQLite file.
"""

import contextlib
import dataclasses
import datetime
import io
import json
import os
import threading
from pathlib import Path
from typing import Any

from agent.cmd.shell import main
from agent.demo import cell
from agent.model.nova import Flavor, Migration
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.host import AgentHost, Ended
from tests.rigs.logs import logging_as_it_was
from tests.rigs.placement import Rest, new_uuid
from tests.rigs.programs import COMMAND, FORKED
from tests.rigs.source_tree import ROOT

NOW = datetime.datetime(2026, 11, 21, 10, 0, 0)  # noqa: DTZ001 - nova's columns have no zone
SMALL = Flavor(id=1, name="small", vcpus=4, memory_mib=1024, root_gib=0, ephemeral_gib=0, swap_mib=0)
LARGE = dataclasses.replace(SMALL, id=2, name="large", vcpus=8, memory_mib=2048)
CPUS = 16
MEMORY_MIB = 32768
# Only a command that hangs reaches this time-out.
PATIENCE_S = 300.0


def stocktake(*arguments: object, **environment: str) -> Ended:
    """Run the command in its own process, without a terminal."""
    done = FORKED.run(
        COMMAND, [str(argument) for argument in arguments], PATIENCE_S, {**os.environ, **environment}, ROOT
    )
    return Ended(code=done.returncode, stdout=done.stdout, stderr=done.stderr)


class _OfThisRun(io.StringIO):
    """A stream that ignores threads older than the run: oslo.messaging's threads outlive their broker's test."""

    def __init__(self) -> None:
        super().__init__()
        self._others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def write(self, text: str) -> int:
        """Write as a text stream does; drop text of the older threads."""
        return len(text) if threading.get_ident() in self._others else super().write(text)


def stocktake_here(*arguments: object) -> Ended:
    """Run the command in this process, which saves about a second of interpreter start per run.

    Use this function for tests of what commands decide. Other tests check that the command works as a program, with its
    own logging and signals.
    """
    stdout, stderr = io.StringIO(), _OfThisRun()
    with logging_as_it_was(), contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = main([str(argument) for argument in arguments])
    return Ended(code=code, stdout=stdout.getvalue(), stderr=stderr.getvalue())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SmallHost:
    """The host and the uuids of its consumers."""

    agent: AgentHost
    running: tuple[str, str]
    evacuated: str
    evacuation: str
    leaked: str
    stranger: str

    def run(self, *arguments: object) -> Ended:
        """Run ``stocktake`` with this host's configuration."""
        return stocktake_here("--config-file", self.agent.config_file, *arguments)

    def run_apart(self, *arguments: object, **environment: str) -> Ended:
        """Run ``stocktake`` as a process with an environment; its stdout includes whatever libraries print."""
        return stocktake("--config-file", self.agent.config_file, *arguments, **environment)

    def json(self, *arguments: object) -> tuple[int, Any]:
        """Return the exit code and the parsed stdout; fail if stdout is anything but one JSON value."""
        ended = self.run_apart(*arguments, "-f", "json")
        return ended.code, json.loads(ended.stdout)


def small_host(folder: Path, rest: Rest) -> SmallHost:
    """Build the host; the root provider and its allocations are as a scheduler and an earlier agent left them."""
    name = f"host-{new_uuid()[:8]}"
    stranger = new_uuid()
    node = folder / "node.xml"
    agent = AgentHost(
        folder=folder,
        name=name,
        placement_url=rest.server.url,
        libvirt_uri=f"test://{node}",
        provider_uuid=rest.make_provider(name),
        options={"DEFAULT": {"cpu_allocation_ratio": "4.0", "reserved_host_memory_mb": "512"}},
    )
    agent.configure()
    running = [agent.instance(f"web-{number}-{name}", flavor=SMALL, flavor_id=1) for number in (1, 2)]
    moved = agent.instance(f"moved-{name}", flavor=LARGE, flavor_id=2, host="other", node="other")
    gone = agent.instance(f"gone-{name}", flavor=SMALL, flavor_id=1, deleted=True, deleted_at=NOW)
    evacuation = _evacuation(agent.name, moved.uuid)
    engine = agent.make_cell(*running, moved, gone)
    with engine.begin() as connection:
        cell.add_migration(connection, evacuation)
    engine.dispose()
    guests = [domain_xml(i.name, domain_uuid=i.uuid, vcpus=SMALL.vcpus, memory_mib=SMALL.memory_mib) for i in running]
    guests.append(domain_xml("by-hand", domain_uuid=stranger, vcpus=2, memory_mib=256))
    node.write_text(node_xml(cpus=CPUS, memory_mib=MEMORY_MIB, domains=guests))
    _schedule(rest, agent.provider_uuid, {i.uuid: i.flavor for i in (*running, moved, gone) if i.flavor})
    return SmallHost(
        agent=agent,
        running=(running[0].uuid, running[1].uuid),
        evacuated=moved.uuid,
        evacuation=str(evacuation.uuid),
        leaked=gone.uuid,
        stranger=stranger,
    )


def _evacuation(host: str, instance_uuid: str) -> Migration:
    return Migration(
        id=1,
        uuid=new_uuid(),
        instance_uuid=instance_uuid,
        kind="evacuation",
        status="done",
        source_host=host,
        source_node=host,
        dest_host="other",
        dest_node="other",
        old_type_id=2,
        new_type_id=2,
        created_at=NOW,
        updated_at=NOW,
    )


def _schedule(rest: Rest, provider: str, flavors: dict[str, Flavor]) -> None:
    offered = {"VCPU": (CPUS, 4.0), "MEMORY_MB": (MEMORY_MIB, 1.0)}
    rest.set_inventories(
        provider, {name: {"total": total, "allocation_ratio": ratio} for name, (total, ratio) in offered.items()}
    )
    for consumer, flavor in flavors.items():
        rest.allocate({provider: {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mib}}, consumer)
