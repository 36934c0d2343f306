"""One compute host with a real cloud around it, on which tests plant leaks and their look-alikes.

Placement is real, the cell is a MariaDB database, and libvirt is its test driver. The agent's parts are the installed
ones and run audit by audit. ``cmp2`` is another host of the cloud. ``nfs`` is a provider that shares through the root's
aggregate. ``child`` is a child of the root that another service made.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import itertools
import uuid as uuids
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy

from agent.audit.run import run_audit
from agent.cmd.wiring import Wired, wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.config.loaded import Loaded
from agent.demo import cell
from agent.model.audit import AuditMemory, AuditRequest
from agent.model.nova import Flavor, NovaState
from agent.model.report import AuditReport
from agent.ports import Deadline, StateSource
from tests.rigs import facts
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.host import AgentHost, host_on
from tests.rigs.placement import PROJECT, USER, Rest, new_uuid

A = facts.FLAVOR_A
B = dataclasses.replace(facts.FLAVOR_B, root_gib=2)
SWAP = dataclasses.replace(A, id=3, name="swap", root_gib=0, swap_mib=512)
SIZES = {flavor.name: {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mib} for flavor in (A, B, SWAP)}
EARLIER = datetime.datetime(2026, 11, 1)  # noqa: DTZ001 - the database's times are naive UTC
# VIR_DOMAIN_SHUTOFF for libvirt's test driver.
OFF = "<test:runstate xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>5</test:runstate>"
_numbers = itertools.count(1)


def amounts(flavor: Flavor) -> dict[str, int]:
    """Return the scheduler's allocation for a flavor that boots from an image; swap is rounded up to GiB."""
    disk = flavor.root_gib + -(-flavor.swap_mib // 1024)
    return {**SIZES[flavor.name], "DISK_GB": disk}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A domain that is defined before the agent starts."""

    name: str
    flavor: Flavor = A
    is_off: bool = False


class Racing:
    """A StateSource that changes the cloud before its next read, which outdates the allocations read before."""

    def __init__(self, real: StateSource) -> None:
        self.name = real.name
        self.meanwhile: list[Callable[[], None]] = []
        self._real = real

    def read(self, host: str, consumers: frozenset[str], deadline: Deadline, node_uuid: str | None = None) -> NovaState:
        """Run the pending changes, then read as StateSource says."""
        while self.meanwhile:
            self.meanwhile.pop()()
        return self._real.read(host, consumers, deadline, node_uuid)


@dataclass(slots=True, kw_only=True)
class LeakCloud:
    """The host, its cloud, and an agent on the host that keeps its memory from audit to audit."""

    placement: Rest
    host: AgentHost
    engine: sqlalchemy.Engine
    cmp2: str
    nfs: str
    child: str
    loaded: Loaded
    wired: Wired
    racing: Racing
    memory: AuditMemory = field(default_factory=AuditMemory)

    @property
    def here(self) -> str:
        """The uuid of this host's root provider."""
        return self.host.provider_uuid

    def consumer(self, name: str) -> str:
        """Return the uuid of the instance of that name."""
        return facts.uuid(f"{self.host.name}-{name}")

    def audit(self) -> AuditReport:
        """Run one audit as the daemon does."""
        parts = dataclasses.replace(self.wired.parts, state=self.racing)
        request = AuditRequest(reasons=("test",))
        done = run_audit(request, settings_from(self.loaded), parts, self.memory, lambda: False)
        self.memory = done.memory
        return done.report

    def restart(self) -> None:
        """Drop the agent's memory as a new process would; files on disk remain."""
        self.memory = AuditMemory()
        self.wired.parts.reader.forget()

    def instance(self, name: str, **changes: Any) -> str:
        """Write the row of an instance of this host, updated long ago; return its uuid."""
        row = self.host.instance(f"{self.host.name}-{name}", **{"updated_at": EARLIER, **changes})
        with self.engine.begin() as connection:
            cell.add_instance(connection, row)
        return row.uuid

    def elsewhere(self, name: str, **changes: Any) -> str:
        """Write the row of an instance of the other host; return its uuid."""
        return self.instance(name, **{"host": "cmp2", "node": "cmp2.example.org", **changes})

    def migration(self, name: str, *, incoming: bool = False, **changes: Any) -> str:
        """Write a migration of that instance away from this host, or to it; return its uuid."""
        here, there = (self.host.name, self.host.name), ("cmp2", "cmp2.example.org")
        source, dest = (there, here) if incoming else (here, there)
        places = {"source_host": source[0], "source_node": source[1], "dest_host": dest[0], "dest_node": dest[1]}
        plain = facts.migration(next(_numbers), uuid=new_uuid(), instance_uuid=self.consumer(name), updated_at=EARLIER)
        row = dataclasses.replace(plain, **{**places, **changes})
        with self.engine.begin() as connection:
            cell.add_migration(connection, row)
        assert row.uuid is not None
        return row.uuid

    def set_columns(self, table: str, uuid: str, **values: object) -> None:
        """Change one row."""
        with self.engine.begin() as connection:
            cell.set_columns(connection, table, {"uuid": uuid}, **values)

    def delete(self, name: str, at: datetime.datetime | None = None) -> None:
        """Delete the instance's row as nova does; its allocation stays."""
        with self.engine.begin() as connection:
            cell.delete_instance(connection, self.consumer(name), at or self.now())

    def archive(self, name: str) -> None:
        """Remove the instance's rows, as nova-manage db archive_deleted_rows does."""
        with self.engine.begin() as connection:
            for table, column in (("block_device_mapping", "instance_uuid"), ("instance_extra", "instance_uuid")):
                cell.remove_rows(connection, table, {column: self.consumer(name)})
            cell.remove_rows(connection, "instances", {"uuid": self.consumer(name)})

    def now(self) -> datetime.datetime:
        """Return the time of the database's clock."""
        with self.engine.connect() as connection:
            return connection.execute(sqlalchemy.text("SELECT UTC_TIMESTAMP()")).scalar_one()

    def allocate(self, consumer: str, holdings: dict[str, dict[str, int]], **changes: object) -> str:
        """Replace the consumer's allocations; ``changes`` apply to the body. A consumer type is sent at 1.38."""
        body = {
            "allocations": {provider: {"resources": held} for provider, held in holdings.items()},
            "project_id": PROJECT,
            "user_id": USER,
            "consumer_generation": None,
            **changes,
        }
        version = "1.38" if "consumer_type" in changes else "1.28"
        self.placement.done("PUT", f"/allocations/{consumer}", body, version=version)
        return consumer


@contextlib.contextmanager
def leak_cloud(
    folder: Path, placement: Rest, engine: sqlalchemy.Engine, guests: tuple[Guest, ...]
) -> Iterator[LeakCloud]:
    """Yield a host with these guests and its inventory in Placement, and an agent that has just started."""
    host = host_on(folder, placement.server.url)
    (folder / "node.xml").write_text(
        node_xml(cpus=64, memory_mib=65536, domains=[_domain(host, guest) for guest in guests])
    )
    url = engine.url.render_as_string(hide_password=False)
    options: dict[str, dict[str, object]] = {
        "state": {"connection": url},
        "compute": {"cpu_shared_set": "0-47", "cpu_dedicated_set": "48-63"},
        # Enough to read the consumers of all cases in one audit: with fewer, the order of uuids decides which
        # wait for a third audit.
        "placement": {"consumer_reads": 100},
    }
    host.configure(options)
    with engine.begin() as connection:
        cell.add_compute_node(connection, host.node_row(next(_numbers)))
    loaded = load([str(host.config_file)])
    with wire(loaded) as wired:
        cloud = LeakCloud(
            placement=placement,
            host=host,
            engine=engine,
            cmp2=placement.make_provider(),
            nfs=placement.make_provider(),
            child=new_uuid(),
            loaded=loaded,
            wired=wired,
            racing=Racing(wired.parts.state),
        )
        _furnish(cloud)
        yield cloud


def _domain(host: AgentHost, guest: Guest) -> str:
    return domain_xml(
        guest.name,
        domain_uuid=facts.uuid(f"{host.name}-{guest.name}"),
        vcpus=guest.flavor.vcpus,
        memory_mib=guest.flavor.memory_mib,
        more=OFF if guest.is_off else "",
    )


def _furnish(cloud: LeakCloud) -> None:
    """Let the agent make the root, then make the other providers as other services would."""
    cloud.audit()
    rest, aggregate = cloud.placement, str(uuids.uuid4())
    rest.set_inventories(cloud.cmp2, {name: {"total": 1000000} for name in ("VCPU", "MEMORY_MB", "DISK_GB")})
    rest.set_inventories(cloud.nfs, {"DISK_GB": {"total": 1000}})
    rest.set_traits(cloud.nfs, "MISC_SHARES_VIA_AGGREGATE")
    for provider in (cloud.here, cloud.nfs):
        rest.set_aggregates(provider, aggregate)
    rest.make_provider(f"acc-{cloud.child}", cloud.here, cloud.child)
    rest.set_inventories(cloud.child, {"VGPU": {"total": 8}})
    rest.done("PUT", "/resource_classes/CUSTOM_MEMORY")
    rest.set_inventories(cloud.here, {**rest.inventories(cloud.here), "CUSTOM_MEMORY": {"total": 1000}})
    # Drop the memory; only the reader's cache of Placement remains. Consumers made from now on are read at once.
    cloud.memory = AuditMemory()
