"""What one quiet audit of the agent or nova-compute costs the control plane: ``python -m benchmarks.control_plane``.

The cell is real: the released nova-conductor, MariaDB and RabbitMQ; so are Placement and libvirtd. Each host has its
nova-compute's service row with a heartbeat, and the agent has the role companion. *quiet*: nothing changed since the
last audit, so most audits make a light read of nova's state, and one of ``[placement] full_read_every`` a full read.
After the agent the real nova-compute audits the same rows (nova_compute.py), so that the two do not disturb each other.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from agent.demo import cell as rows
from agent.model.nova import Service
from benchmarks.audit import Cost, costs
from benchmarks.nova_compute import nova_costs
from benchmarks.table import Row, print_table
from benchmarks.world import Load, World, world
from tests.rigs import conductor
from tests.rigs.conductor import Cell

SERVICE_ID = 1
#: The interval at which nova-compute reports (report_interval is 10 s).
REPORT_S = 5.0
#: State source and instances to the budget of the conductor's CPU and of the agent's own, in ms.
BUDGET_MS = {("conductor", 100): (20, 15), ("sql", 100): (None, 10)}


@contextlib.contextmanager
def reporting(cell: Cell, host: str) -> Iterator[None]:
    """Keep the heartbeat of the host's nova-compute during the block."""
    over = threading.Event()
    now = _now()
    service = Service(id=SERVICE_ID, version=70, disabled=False, forced_down=False, last_seen_up=now, created_at=now)
    with cell.engine.begin() as connection:
        rows.add_service(connection, host, service)

    def report() -> None:
        while not over.wait(REPORT_S):
            with cell.engine.begin() as connection:
                rows.set_columns(connection, "services", {"id": SERVICE_ID}, last_seen_up=_now())

    thread = threading.Thread(target=report, name="nova-compute's reports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)


def measured(cell: Cell, made: World, audits: int) -> list[Cost]:
    """Return the costs of quiet audits of the agent."""
    made.host.configure({"agent": {"role": "companion"}})
    arguments = [*_servers(cell), "--database", cell.url, "--cold", "1", "--audits", str(audits)]
    with reporting(cell, made.host.name):
        return costs(made.host, *arguments)["warm"]


def _servers(cell: Cell) -> list[str]:
    return [f"--server=conductor={cell.conductor.pid}", f"--server=mariadb={cell.database.pid}"]


def table_of(source: str, guests: int, found: list[Cost]) -> list[Row]:
    """Return the rows of one host: all audits' medians, and the means, which contain the full reads in turn."""
    conductor_ms, own_ms = BUDGET_MS.get((source, guests), (None, None))
    name, light = f"{source}, {guests} instances", [cost for cost in found if cost["is_light"]]
    return [
        Row(f"{name}: audits with a light read", f"{len(light)} of {len(found)}"),
        *_costs_of(name, found, own_ms, conductor_ms),
    ]


def _costs_of(name: str, found: list[Cost], own_ms: int | None = None, conductor_ms: int | None = None) -> list[Row]:
    servers = [
        _row(f"{name}: CPU of {server}", [cost["servers_ms"][server] for cost in found], budget)  # type: ignore[index]
        for server, budget in (("conductor", conductor_ms), ("mariadb", None))
    ]
    requests = statistics.mean(cost["requests"] for cost in found)
    selects = statistics.median(cost["statements"] for cost in found)
    return [
        _row(f"{name}: own CPU", [cost["cpu_ms"] for cost in found], own_ms),
        *servers,
        Row(f"{name}: SELECT statements", f"{selects:.0f}"),
        Row(f"{name}: requests to Placement", f"{requests:.2f} (mean)"),
    ]


def _row(what: str, values: list[float], budget: int | None) -> Row:
    middle = statistics.median(values)
    shown = f"{middle:.1f} ms ({min(values):.1f}–{max(values):.1f}, mean {statistics.mean(values):.1f})"
    return Row(
        what, shown, "" if budget is None else f"≤ {budget} ms", "", None if budget is None else middle <= budget
    )


def main() -> int:
    """Print the table; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control_plane", description=__doc__)
    parser.add_argument("--instances", default="10,100,1000", help="comma-separated (default: %(default)s)")
    parser.add_argument("--sources", default="conductor,sql", help="comma-separated (default: %(default)s)")
    parser.add_argument("--audits", type=int, default=50)
    parser.add_argument("--nova-audits", type=int, default=15, help="of nova-compute; 0: none (default: %(default)s)")
    options = parser.parse_args()
    if (why := conductor.missing()) is not None:
        raise SystemExit(why)
    table: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="stocktake-bench-cell-") as folder, conductor.running(Path(folder)) as cell:
        for guests in map(int, options.instances.split(",")):
            for source in options.sources.split(","):
                with world(Load(guests=guests), source, cell) as made:
                    table += table_of(source, guests, measured(cell, made, options.audits))
            if options.nova_audits:
                with world(Load(guests=guests), "conductor", cell) as made:
                    found = nova_costs(cell, made, _servers(cell), options.nova_audits)
                table += _costs_of(f"nova-compute, {guests} instances", found)
    return print_table(f"One quiet audit, {options.audits} audits per row", table)


if __name__ == "__main__":
    sys.exit(main())
