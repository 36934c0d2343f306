"""Lives of instances on a real cloud beside a real nova-compute, while an agent in role companion heals its host.

``python -m tests.cloud.live --help``. Host h1 of the model is the host of the running nova-compute; h2 and h3 are made
for the run. The operations are those of the simulation, in nova's own order, and each step is one transaction in the
cell database or one request to Placement. The truth of the simulation is kept with the time, and each change that the
agent's journal shows is compared with it.
"""

from __future__ import annotations

import argparse
import collections
import configparser
import dataclasses
import datetime
import heapq
import itertools
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

import sqlalchemy
from keystoneauth1 import loading, session
from sqlalchemy import Connection, Engine, text

from agent.demo import cell
from agent.model.nova import ComputeNode, Instance, Migration, MigrationContext
from tests.cloud import mishaps, moves, operations
from tests.cloud.cloud import FLAVORS, HOSTS, Amounts, Cloud
from tests.cloud.feeds import Table
from tests.cloud.operations import FAILURES, Fault, Steps
from tests.cloud.placement_model import Stock
from tests.cloud.real_placement import RealPlacement
from tests.rigs.wait import until_moment

REAL = "h1"
AT_ONCE = 24
PAUSE_S = 1.5
KINDS = ("shelved", "live-migrated", "resized", "zombie", "evacuated", "failed-live-migration", "deleted")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The real host: its name in nova, its node's name, and its provider's uuid."""

    name: str
    node: str
    root: str


class Cell:
    """The real cell database, written as nova writes it: a transaction for each step."""

    def __init__(self, url: str, host: Host, run: str) -> None:
        self.engine: Engine = sqlalchemy.create_engine(url, isolation_level="REPEATABLE READ")
        self._names = {REAL: host.name} | {name: f"{name}-{run}" for name in HOSTS if name != REAL}
        self._known: set[object] = set()
        with self.engine.begin() as connection:
            # The model numbers migrations from 1; the real table may have rows.
            newest = connection.execute(text("SELECT COALESCE(MAX(id), 0) FROM migrations")).scalar_one()
            self._first_migration = int(newest)

    def number(self, migration_id: int) -> int:
        """Return the real id of the model's migration."""
        return self._first_migration + migration_id

    def instance(self, row: Instance) -> None:
        """Write the instance's rows."""
        there = dataclasses.replace(row, host=self._names.get(row.host or ""), context=self._context(row))
        with self.engine.begin() as connection:
            if row.uuid not in self._known:
                self._known.add(row.uuid)
                cell.add_instance(connection, there)
                return
            cell.set_columns(
                connection,
                "instances",
                {"uuid": row.uuid},
                host=there.host,
                node=row.node,
                vm_state=row.vm_state,
                task_state=row.task_state,
                instance_type_id=row.flavor_id,
                updated_at=row.updated_at,
            )
            cell.set_columns(
                connection,
                "instance_extra",
                {"instance_uuid": row.uuid},
                flavor=cell.flavor_document(there),
                migration_context=cell.migration_context_document(there),
            )
            if row.deleted and row.deleted_at is not None:
                cell.delete_instance(connection, row.uuid, row.deleted_at)

    def _context(self, row: Instance) -> MigrationContext | None:
        number = row.migration_context_id
        return None if number is None else MigrationContext(migration_id=self.number(number))

    def migration(self, row: Migration) -> None:
        """Write the migration's row."""
        there = dataclasses.replace(
            row,
            id=self.number(row.id),
            source_host=self._names.get(row.source_host or ""),
            dest_host=self._names.get(row.dest_host or ""),
        )
        with self.engine.begin() as connection:
            if there.id not in self._known:
                self._known.add(there.id)
                cell.add_migration(connection, there)
                return
            cell.set_columns(
                connection,
                "migrations",
                {"id": there.id},
                status=there.status,
                source_node=there.source_node,
                dest_compute=there.dest_host,
                dest_node=there.dest_node,
                updated_at=there.updated_at,
                deleted=there.id if there.deleted else 0,
            )

    def add_node(self, host: str, node: str, uuid: str) -> None:
        """Add the compute node record of a host that is made for this run."""
        with self.engine.begin() as connection:
            newest = connection.execute(text("SELECT COALESCE(MAX(id), 0) FROM compute_nodes")).scalar_one()
            made = ComputeNode(
                id=int(newest) + 1, uuid=uuid, host=self._names[host], hypervisor_hostname=node, deleted=False
            )
            cell.add_compute_node(connection, made)

    def clean_up(self) -> None:
        """Remove all rows of this run."""
        uuids = [key for key in self._known if isinstance(key, str)]
        with self.engine.begin() as connection:
            for table, column in (
                ("migrations", "instance_uuid"),
                ("block_device_mapping", "instance_uuid"),
                ("instance_extra", "instance_uuid"),
                ("instances", "uuid"),
            ):
                _remove(connection, table, column, uuids)
            _remove(connection, "compute_nodes", "host", [n for h, n in self._names.items() if h != REAL])


def _remove(connection: Connection, table: str, column: str, values: list[str]) -> None:
    for value in values:
        cell.remove_rows(connection, table, {column: value})


class LiveTable(Table[Any, Any]):
    """A table of the model whose rows are also written to the real cell database."""

    def __init__(self, second: Callable[[], int], write: Callable[[Any], None]) -> None:
        super().__init__(second)
        self._write = write

    def __setitem__(self, key: Any, row: Any) -> None:
        self._write(row)
        super().__setitem__(key, row)


class TokenRest:
    """The requests of RealPlacement, with Keystone's token. Like tests.rigs.placement.Rest."""

    def __init__(self, nova_conf: configparser.ConfigParser) -> None:
        section = dict(nova_conf["placement"])
        plugin = loading.get_plugin_loader("password").load_from_options(
            **{
                name: section[name]
                for name in (
                    "auth_url",
                    "username",
                    "password",
                    "project_name",
                    "user_domain_name",
                    "project_domain_name",
                )
            }
        )
        self._session = session.Session(auth=plugin)

    def request(self, method: str, path: str, body: object = None, version: str = "1.36") -> Any:
        """Send one request; the caller checks the status."""
        return self._session.request(
            path,
            method,
            json=body,
            headers={"OpenStack-API-Version": f"placement {version}"},
            endpoint_filter={"service_type": "placement"},
            raise_exc=False,
        )

    def done(self, method: str, path: str, body: object = None, version: str = "1.36") -> Any:
        """Send a request; return the decoded answer, None if it has no body."""
        answer = self.request(method, path, body, version)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def inventories(self, provider: str) -> Any:
        """Return the provider's inventories by class."""
        return self.done("GET", f"/resource_providers/{provider}/inventories")["inventories"]

    def generation(self, provider: str) -> int:
        """Return the provider's generation."""
        return int(self.done("GET", f"/resource_providers/{provider}")["generation"])


class LiveCloud(Cloud):
    """The model's cloud, with the real cell database, the real Placement and the real time."""

    def __init__(self, placement: RealPlacement, rows: Cell, host: Host, run: str) -> None:
        self._rows, self._host, self._began = rows, host, time.time()
        super().__init__(placement, run)
        self.instances = LiveTable(self._second, rows.instance)
        self.migrations = LiveTable(self._second, rows.migration)
        self.truth: dict[str, list[tuple[float, Amounts]]] = collections.defaultdict(list)

    def _second(self) -> int:
        return int(time.time() - self._began)

    def now(self) -> datetime.datetime:
        """Return the real time, in whole seconds as nova stores it."""
        return datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)

    def node_of(self, host: str) -> str:
        """Return the node's name."""
        return self._host.node if host == REAL else super().node_of(host)

    def enlist(self, host: str) -> None:
        """Use the real host's provider; make the other hosts."""
        if host == REAL:
            self.roots[host] = self._host.root
            return
        self.placement.create_provider(self.roots[host], self.node_of(host))
        stocks = {name: Stock(total=100_000, max_unit=100_000) for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
        self.placement.put_inventories(self.roots[host], 0, stocks)
        self._rows.add_node(host, self.node_of(host), self.roots[host])

    def note(self, uuid: str) -> None:
        """Keep what the instance and its migrations rightfully have on the real host now."""
        moves_of = [m.uuid for m in self.migrations.values() if m.instance_uuid == uuid and m.uuid]
        for consumer in (uuid, *moves_of):
            self.truth[consumer].append((time.time(), dict(self.needed(consumer, REAL))))


@dataclasses.dataclass(slots=True)
class Planted:
    """Leaks on the real host: the consumer and the kind."""

    leaks: dict[str, str] = dataclasses.field(default_factory=dict)
    lives: int = 0
    steps: int = 0
    no_room: int = 0


class Driver:
    """Plays many lives at once with random pauses between their steps."""

    def __init__(self, cloud: LiveCloud, seed: int) -> None:
        self.cloud = cloud
        self.planted = Planted()
        self._dice = random.Random(seed)

    def play(self, lives: int, leaks: int, until: float) -> None:
        """Play that many lives, and as many more as plant ``leaks`` leaks; begin none after ``until``."""
        kinds = itertools.chain(
            self._dice.sample(
                [*(KINDS[number % len(KINDS)] for number in range(leaks)), *[""] * (lives - leaks)], lives
            ),
            itertools.repeat(""),
        )
        due: list[tuple[float, int, str, Steps]] = []
        pace_s = (until - time.time()) / lives
        next_at, number = time.time(), 0
        while due or (number < lives and time.time() < until):
            if number < lives and time.time() >= next_at and len(due) < AT_ONCE:
                uuid, steps = self.cloud.next_uuid("instance"), self._life(next(kinds))
                if self._advanced(uuid, steps):
                    heapq.heappush(due, (time.time() + self._pause_s(), number, uuid, steps))
                number, next_at = number + 1, next_at + pace_s
                self.planted.lives += 1
            if not due or due[0][0] > time.time():
                begins = [next_at] if number < lives and len(due) < AT_ONCE else []
                until_moment(min([*begins, *(moment for moment, *_ in due[:1])]))
                continue
            _, mine, uuid, steps = heapq.heappop(due)
            if self._advanced(uuid, steps):
                heapq.heappush(due, (time.time() + self._pause_s(), mine, uuid, steps))

    def _pause_s(self) -> float:
        return self._dice.expovariate(1 / PAUSE_S)

    def _advanced(self, uuid: str, steps: Steps) -> bool:
        self.planted.steps += 1
        try:
            next(steps)
        except StopIteration:
            return False
        except FAILURES:
            return False
        finally:
            self.cloud.note(uuid)
        return True

    def _life(self, kind: str) -> Steps:
        """Build, some operations, and a delete; or the operations that leave a leak of that kind on the real host."""
        dice, cloud = self._dice, self.cloud
        uuid = cloud.next_uuid("instance")
        first = {"zombie": "h2", "failed-live-migration": "h2", "": dice.choice(HOSTS)}.get(kind, REAL)
        yield from operations.build(cloud, dice.choice(FLAVORS), (first,))
        row = cloud.instances.get(uuid)
        if row is None or row.vm_state != "active":
            self.planted.no_room += 1
            return
        if kind:
            yield from self._leak(kind, uuid)
            return
        for _ in range(dice.choice((1, 2, 3))):
            yield from self._operation(uuid)
        cloud.settle(uuid)
        yield from operations.delete(cloud, uuid, gently=False)

    def _operation(self, uuid: str) -> Steps:
        dice, cloud = self._dice, self.cloud
        row = cloud.instances[uuid]
        if row.vm_state != "active" or row.task_state is not None or row.host is None:
            return
        other = dice.choice([host for host in HOSTS if host != row.host])
        chosen = dice.choice(("rebuild", "shelve", "confirm", "revert", "live", "live", "evacuate"))
        cloud.settle(uuid)
        if chosen == "rebuild":
            yield from operations.rebuild(cloud, uuid)
        elif chosen == "shelve":
            yield from operations.shelve(cloud, uuid, leak=False)
            cloud.settle(uuid)
            yield from operations.unshelve(cloud, uuid, other)
        elif chosen == "live":
            yield from moves.live_migrate(cloud, uuid, other, leak=False)
        elif chosen == "evacuate" and row.host != REAL:
            yield from moves.evacuate(cloud, uuid, other)
            cloud.drop_host(uuid, row.host)
        else:
            yield from self._resize(uuid, other, confirms=chosen == "confirm")

    def _resize(self, uuid: str, other: str, *, confirms: bool) -> Steps:
        flavor = next(flavor for flavor in FLAVORS if flavor.id != self.cloud.instances[uuid].flavor_id)
        yield from moves.resize(self.cloud, uuid, other, flavor)
        found = [m for m in self.cloud.under_way(uuid) if m.status == "finished"]
        if found:
            self.cloud.settle(uuid)
            yield from (moves.confirm if confirms else moves.revert)(self.cloud, uuid, found[0].id)

    def _leak(self, kind: str, uuid: str) -> Steps:
        cloud, consumer = self.cloud, uuid
        cloud.settle(uuid)
        if kind == "shelved":
            yield from operations.shelve(cloud, uuid, leak=True)
        elif kind == "live-migrated":
            yield from _until(moves.live_migrate(cloud, uuid, "h2", leak=False), "live: completed")
            consumer = self._migration_of(uuid)
        elif kind == "resized":
            yield from moves.resize(cloud, uuid, "h2", FLAVORS[0])
            found = [m for m in cloud.under_way(uuid) if m.status == "finished"]
            if found:
                cloud.settle(uuid)
                yield from _until(moves.confirm(cloud, uuid, found[0].id), "confirm: active")
                consumer = self._migration_of(uuid)
        elif kind == "zombie":
            yield from _zombie(cloud, uuid)
        elif kind == "evacuated":
            yield from moves.evacuate(cloud, uuid, "h2")
        elif kind == "failed-live-migration":
            yield from _rolled_back(moves.live_migrate(cloud, uuid, REAL, leak=True))
        else:
            mishaps.deleted_without_allocation(cloud, self._dice, uuid)
            yield "deleted without its allocation"
        if cloud.recorded(consumer, REAL):
            self.planted.leaks[consumer] = kind

    def _migration_of(self, uuid: str) -> str:
        return next(m.uuid or "" for m in self.cloud.migrations.values() if m.instance_uuid == uuid)


def _until(steps: Steps, last: str) -> Steps:
    """Play the operation up to that step; the service that ran it then ends."""
    for words in steps:
        yield words
        if words == last:
            steps.close()
            return


def _rolled_back(steps: Steps) -> Steps:
    """Play a live migration that fails while it runs."""
    for words in steps:
        yield words
        if words == "live: running":
            yield steps.throw(Fault())


def _zombie(cloud: Cloud, uuid: str) -> Steps:
    found = cloud.placement.held(uuid)
    if found is not None:
        cloud.claim(uuid, REAL, FLAVORS[0])
        cloud.free(uuid, REAL)
    yield "another client records the instance on the real host too"


# What the run shows.


def wrong_touches(cloud: LiveCloud, journal: list[Any]) -> list[str]:
    """Return the changes of the journal that took from a consumer what it rightfully had on the real host."""
    wrong = []
    for entry in journal:
        if entry["result"] != "done" or entry["kind"] != "allocations":
            continue
        consumer = entry["consumer_uuid"]
        at = datetime.datetime.fromisoformat(entry["at"]).timestamp()
        rightful = _rightful(cloud, consumer, at)
        before, after = (_here(entry[side]["consumer"], cloud.roots[REAL]) for side in ("before", "after"))
        lost = [name for name, most in rightful.items() if after.get(name, 0) < min(most, before.get(name, 0))]
        if lost:
            wrong.append(f"{entry['at']} {entry['code']} {consumer}: {before} -> {after}, rightful {dict(rightful)}")
    return wrong


def _rightful(cloud: LiveCloud, consumer: str, at: float) -> Amounts:
    """Return the consumer's rightful amounts at that time. A step that runs at that moment counts as not yet done."""
    earlier = [amounts for moment, amounts in cloud.truth.get(consumer, []) if moment <= at]
    return earlier[-1] if earlier else {}


def _here(record: Any, root: str) -> dict[str, int]:
    return {row["resource_class"]: row["amount"] for row in record["allocations"] if row["provider_uuid"] == root}


def errors_in(log: TextIO) -> collections.Counter[str]:
    """Return nova-compute's errors since the last call, without uuids, numbers and times."""
    found: collections.Counter[str] = collections.Counter()
    for line in log:
        # The lines of a traceback have no request id.
        if (" ERROR " in line or " CRITICAL " in line) and "[" in line.partition(" ERROR ")[2]:
            words = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UUID", line.partition(" ERROR ")[2] or line)
            found[re.sub(r"\d+", "N", words).strip()[:160]] += 1
    return found


def puts_in(lines: Iterable[str], root: str) -> int:
    """Return how often a client wrote the real host's inventories, by these lines of Placement's access log."""
    return sum(1 for line in lines if f"PUT /resource_providers/{root}/inventories" in line)


def written_by_agent(lines: Iterable[str]) -> collections.Counter[str]:
    """Return how often the agent changed each consumer, by these lines of Placement's access log."""
    pattern = re.compile(r'"PUT /allocations/(\S+) HTTP/1\.1" 204 .*ua="stocktake ')
    return collections.Counter(found[1] for line in lines if (found := pattern.search(line)))


def unjournalled(lines: Iterable[str], journal: list[Any]) -> dict[str, int]:
    """Return the agent's writes in Placement's access log that its journal does not show, by consumer."""
    told = collections.Counter(entry["consumer_uuid"] for entry in journal if entry["result"] != "refused")
    return dict(written_by_agent(lines) - told)


def main() -> int:
    """Run the phases and print the figures; return 1 if one of them is not as promised (``_is_proven``)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nova-conf", required=True, help="nova.conf of the running nova-compute")
    parser.add_argument("--database", required=True, help="URL of the cell database, with the right to write")
    parser.add_argument("--nova-log", required=True, help="log file of the running nova-compute")
    parser.add_argument("--placement-log", help="access log of Placement")
    parser.add_argument("--agent-conf", required=True, help="configuration of the companion, whose daemon is started")
    parser.add_argument("--host", required=True, help="name of the host in nova")
    parser.add_argument("--node", required=True, help="name of its hypervisor, which is its provider's name")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--alone-minutes", type=float, default=2)
    parser.add_argument("--calm-minutes", type=float, default=3, help="at the end, without new lives")
    parser.add_argument("--lives", type=int, default=200)
    parser.add_argument("--leaks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    conf = configparser.ConfigParser(interpolation=None, strict=False)
    conf.read(wanted.nova_conf)
    rest = TokenRest(conf)
    (provider,) = rest.done("GET", f"/resource_providers?name={wanted.node}")["resource_providers"]
    host = Host(name=wanted.host, node=wanted.node, root=provider["uuid"])
    run = f"live{int(time.time())}"
    rows = Cell(wanted.database, host, run)
    cloud = LiveCloud(RealPlacement(rest), rows, host, run)  # type: ignore[arg-type]
    try:
        return _phases(wanted, cloud, rest)
    finally:
        _give_back(cloud, rest)
        rows.clean_up()


def _phases(wanted: argparse.Namespace, cloud: LiveCloud, rest: TokenRest) -> int:
    root = cloud.roots[REAL]
    logs = [open(path) for path in (wanted.nova_log, wanted.placement_log) if path]  # noqa: SIM115
    for log in logs:
        log.seek(0, 2)
    alone = Driver(cloud, wanted.seed)
    before = rest.generation(root)
    share = wanted.alone_minutes / (wanted.minutes - wanted.calm_minutes)
    alone.play(max(1, int(wanted.lives * share)), 0, time.time() + 60 * wanted.alone_minutes)
    figures: dict[str, Any] = {
        "alone": dataclasses.asdict(alone.planted)
        | {"generations": rest.generation(root) - before, "errors": dict(errors_in(logs[0]))}
    }
    if len(logs) > 1:
        figures["alone"]["inventory_puts"] = puts_in(logs[1], root)
    driver = Driver(cloud, wanted.seed + 1)
    before = rest.generation(root)
    began = time.time()
    with _Daemon(wanted.agent_conf):
        driver.play(wanted.lives, wanted.leaks, time.time() + 60 * (wanted.minutes - wanted.calm_minutes))
        until_moment(began + 60 * wanted.minutes)
    journal = json.loads(_stocktake(wanted.agent_conf, "journal", "-f", "json"))
    mine = [e for e in journal if datetime.datetime.fromisoformat(e["at"]).timestamp() >= began]
    left = {c: kind for c, kind in driver.planted.leaks.items() if cloud.recorded(c, REAL)}
    wrong = wrong_touches(cloud, mine)
    figures["beside"] = dataclasses.asdict(driver.planted) | {
        "generations": rest.generation(root) - before,
        "errors": dict(errors_in(logs[0])),
        "heals": dict(collections.Counter((e["code"] or "") + " " + e["result"] for e in mine)),
        "leaks_planted": len(driver.planted.leaks),
        "leaks_left": left,
        "wrong_touches": wrong,
    }
    if len(logs) > 1:
        lines = logs[1].readlines()
        figures["beside"]["inventory_puts"] = puts_in(lines, root)
        figures["beside"]["writes"] = written_by_agent(lines).total()
        figures["beside"]["unjournalled_writes"] = unjournalled(lines, mine)
    figures["beside"]["leaks"] = dict(collections.Counter(driver.planted.leaks.values()))
    print(json.dumps(figures, indent=1, default=str))
    return 0 if _is_proven(figures, wanted.leaks) else 1


def _is_proven(figures: Mapping[str, Any], leaks: int) -> bool:
    """Return whether all leaks were planted and are gone, nothing rightful was touched, and no new error was logged."""
    beside = figures["beside"]
    is_clean = not (beside["leaks_left"] or beside["wrong_touches"] or beside.get("unjournalled_writes"))
    return (
        is_clean and beside["leaks_planted"] >= leaks and beside["errors"].keys() <= figures["alone"]["errors"].keys()
    )


class _Daemon:
    """Run the installed daemon with that configuration."""

    def __init__(self, conf: str) -> None:
        program = Path(sys.executable).with_name("stocktake-agent")
        self._process = subprocess.Popen([str(program), "--config-file", conf], stderr=subprocess.DEVNULL)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait(30)


def _stocktake(conf: str, *arguments: str) -> str:
    program = Path(sys.executable).with_name("stocktake")
    return subprocess.run(
        [str(program), "--config-file", conf, *arguments], capture_output=True, text=True, check=False
    ).stdout


def _give_back(cloud: LiveCloud, rest: TokenRest) -> None:
    """Remove all allocations and providers of this run."""
    consumers: set[str] = set(cloud.instances) | {m.uuid for m in cloud.migrations.values() if m.uuid}
    for consumer in consumers:
        cloud.placement.delete(consumer)
    for host in HOSTS:
        if host != REAL:
            rest.request("DELETE", f"/resource_providers/{cloud.roots[host]}")


if __name__ == "__main__":
    sys.exit(main())
