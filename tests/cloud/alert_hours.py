"""Ten hours of alerts in ten minutes: a real Prometheus scrapes three real agents while faults come and go.

``python -m tests.cloud.alert_hours --folder DIR``. An hour of the alert rules lasts a minute here: each duration of the
rules is divided by 60, the agents audit and Prometheus scrapes each second. Agent ``one`` and agent ``two`` have role
owner and serve their metrics over TCP; agent ``file`` has role observer, and a node_exporter serves its text file. The
program prints when each alert began to fire and when the alert resolved, and exits with 1 if another alert fired than
the plan below expects, or if one did not resolve.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.demo import cell
from tests.rigs import facts
from tests.rigs import placement as placements
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.gateway import Gateway, gateway
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, host_on
from tests.rigs.mariadb import free_port
from tests.rigs.placement import Rest
from tests.rigs.programs import DAEMON, Process
from tests.rigs.prometheus import Prometheus, answers, node_exporter, running
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until, until_moment

RULES = ROOT / "etc/prometheus/stocktake.rules.yaml"
FASTER = 60
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONG_AGO = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - the database's times are naive UTC
LEAKED = 5
#: How long after its end an alert may fire: an hour of the rules, and the audits and scrapes that follow.
LONGEST_S = 75
LEAKED_VCPU = 16


def faster(rules: str) -> str:
    """Return alert rules whose durations are a sixtieth: those of ``for``, of ranges, and the hour in seconds."""
    rules = re.sub(r"(?<=for: )(\d+)([smhd])", _sixtieth, rules)
    rules = re.sub(r"(?<=\[)(\d+)([smhd])(?=\])", _sixtieth, rules)
    return rules.replace("> 3600", f"> {3600 // FASTER}")


def _sixtieth(found: re.Match[str]) -> str:
    return f"{int(found[1]) * UNITS_S[found[2]] * 1000 // FASTER}ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """An alert that must fire for an agent ("" for the fleet) between two steps of the plan, and resolve after that."""

    name: str
    agent: str
    severity: str
    cause: str
    end: str


#: Which alert each step of the plan causes, and which later step ends the alert.
EXPECTED = (
    Expected(name="AllocationLeaked", agent="one", severity="warning", cause="leaks on one", end="heal of one"),
    Expected(name="LeakedCapacity", agent="", severity="warning", cause="leaks on one", end="heal of one"),
    Expected(name="LeakedCapacity", agent="", severity="warning", cause="leaks on two", end="last heal of two"),
    Expected(name="AllocationMissing", agent="two", severity="critical", cause="missing on two", end="heal of two"),
    Expected(name="AllocationLeaked", agent="two", severity="warning", cause="leaks on two", end="last heal of two"),
    *(
        Expected(name=name, agent=agent, severity=severity, cause="Placement stopped", end="Placement started")
        for agent in ("one", "two", "file")
        for name, severity in (
            ("PlacementUnreadable", "warning"),
            ("AuditIncomplete", "warning"),
            ("FindingsUnknown", "info"),
        )
    ),
    Expected(name="AgentDown", agent="one", severity="warning", cause="one killed", end="one started"),
    Expected(name="AgentDown", agent="one", severity="critical", cause="one killed", end="one started"),
    Expected(name="AgentRestarting", agent="one", severity="warning", cause="restart 1", end="restart 5"),
)


class World:
    """Three agents, their Placement and the Prometheus that watches them."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.rest = Rest(placements._started(folder / "placement", None))
        self.between: Gateway = stack.enter_context(gateway(self.rest.server.url))
        self.hosts = {name: self._host(name) for name in ("one", "two", "file")}
        self.ports = {name: free_port() for name in self.hosts}
        self.processes: dict[str, Process] = {}
        self.steps: dict[str, float] = {}
        stack.callback(self._close)

    def _host(self, name: str) -> AgentHost:
        folder = self.folder / name
        folder.mkdir()
        kept = domain_xml("kept", domain_uuid=facts.uuid("kept"), vcpus=1, memory_mib=128)
        guests = [kept] if name == "two" else []
        (folder / "node.xml").write_text(node_xml(cpus=64, memory_mib=65536, domains=guests))
        return host_on(folder, self.between.url)

    def configure(self, name: str) -> None:
        """Write the agent's configuration file and its cell."""
        host, prom = self.hosts[name], self.folder / "textfile"
        prom.mkdir(exist_ok=True)
        uri = None if name == "file" else f"tcp://127.0.0.1:{self.ports[name]}"
        host.configure(
            {
                "DEFAULT": {"update_resources_interval": 1, "use_json": True},
                "agent": {"role": "observer" if name == "file" else "owner"},
                "metrics": {"uri": uri, "textfile": prom / "stocktake.prom" if name == "file" else None},
                "placement": {"timeout": 1, "connect_retries": 0, "status_code_retries": 0},
                "heal": {"min_age": 2, "max_consumers": 20, "max_percent": 100},
            }
        )
        with host.make_cell().begin() as connection:
            for number in range(LEAKED):
                gone = host.instance(f"{name}-{number}", deleted=True, deleted_at=LONG_AGO)
                cell.add_instance(connection, gone)
            if name == "two":
                cell.add_instance(connection, host.instance("kept"))
        self.rest.make_provider(host.name, uuid=host.provider_uuid)

    def start(self, name: str) -> None:
        """Start the agent; its log is appended to one file."""
        host = self.hosts[name]
        arguments = ["--config-file", str(host.config_file)]
        log = host.folder / f"daemon-{time.monotonic():.3f}.log"
        self.processes[name] = host.launcher.start(DAEMON, arguments, log, host.environ(), ROOT)

    def kill(self, name: str) -> None:
        """Kill the agent at once."""
        self.processes[name].kill()
        self.processes[name].wait(STOP_S)

    def restart(self, name: str) -> None:
        """Kill the agent, start it, and wait until it serves its metrics."""
        self.kill(name)
        self.start(name)
        until(lambda: answers(self.ports[name]), PATIENCE_S, f"the metrics of {name}")

    def leak(self, name: str) -> None:
        """Let Placement record the deleted instances of the host."""
        for number in range(LEAKED):
            held = {self.hosts[name].provider_uuid: {"VCPU": LEAKED_VCPU}}
            self.rest.allocate(held, facts.uuid(f"{name}-{number}"))

    def heal(self, name: str) -> None:
        """Plan and carry out repairs by hand as an operator does, until a plan has nothing left to change."""
        host, actions = self.hosts[name], 0

        def nothing_is_left() -> bool:
            nonlocal actions
            plan = host.stocktake("heal", "-f", "json").document
            actions += len(plan["actions"])
            if plan["actions"]:
                host.stocktake("heal", "--plan", plan["digest"], "--yes")
            return actions > 0 and not plan["actions"]

        until(nothing_is_left, PATIENCE_S, f"a plan without changes on {name} after a plan with changes")

    def keep_instance(self) -> None:
        """Record the instance of agent two, as the scheduler does."""
        flavor = facts.FLAVOR_A
        amounts = {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mib, "DISK_GB": flavor.root_gib}
        self.rest.allocate({self.hosts["two"].provider_uuid: amounts}, facts.uuid("kept"))

    def stop_placement(self) -> None:
        """End the Placement server; its database stays."""
        self.rest.server.stop()

    def start_placement(self) -> None:
        """Start Placement on the same database."""
        self.rest.close()
        self.rest = Rest(placements._started(self.folder / "placement", None))
        self.between.target = self.between.target._replace(netloc=self.rest.server.url.partition("://")[2])

    def _close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait(STOP_S)
        self.rest.close()
        self.rest.server.stop()


def plan(world: World) -> list[tuple[float, str, Callable[[], None]]]:
    """Return the steps of the ten minutes: the second, the name and what is done."""
    restarts = [(480.0 + 9 * n, f"restart {n}", lambda: world.restart("one")) for n in range(1, 6)]
    return [
        (45.0, "leaks on one", lambda: world.leak("one")),
        (50.0, "missing on two", lambda: world.rest.release(facts.uuid("kept"))),
        (100.0, "heal of two", lambda: world.heal("two")),
        (160.0, "heal of one", lambda: world.heal("one")),
        (200.0, "leaks on two", lambda: world.leak("two")),
        (290.0, "Placement stopped", world.stop_placement),
        (390.0, "Placement started", world.start_placement),
        (430.0, "one killed", lambda: world.kill("one")),
        (475.0, "one started", lambda: world.start("one")),
        *restarts,
        (540.0, "last heal of two", lambda: world.heal("two")),
        (620.0, "the end", lambda: None),
    ]


def firing(server: Prometheus, began: float, ended: float) -> dict[tuple[str, str, str], list[tuple[float, float]]]:
    """Return when each alert (name, instance, severity) fired, in seconds after the beginning."""
    answer = server.get("query_range", query='ALERTS{alertstate="firing"}', start=str(began), end=str(ended), step="1")
    spans: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for series in answer["data"]["result"]:
        labels = series["metric"]
        name = labels["alertname"].removeprefix("Stocktake")
        moments = [float(moment) - began for moment, _ in series["values"]]
        found = spans.setdefault((name, labels.get("instance", ""), labels["severity"]), [])
        for moment in moments:
            if found and moment - found[-1][1] <= 2:
                found[-1] = (found[-1][0], moment)
            else:
                found.append((moment, moment))
    return {key: sorted(value) for key, value in spans.items()}


def judged(world: World, spans: dict[tuple[str, str, str], list[tuple[float, float]]]) -> list[str]:
    """Print the alerts; return what is wrong with them."""
    names = {f"127.0.0.1:{port}": name for name, port in world.ports.items()} | {"": ""}
    seen = {(name, names.get(where, where), severity): value for (name, where, severity), value in spans.items()}
    for (name, agent, severity), value in sorted(seen.items(), key=lambda item: item[1]):
        times = ", ".join(f"{first:.0f}-{last:.0f} s" for first, last in value)
        print(f"{name:24} {agent or 'fleet':6} {severity:9} {times}")
    wanted: dict[tuple[str, str, str], list[Expected]] = {}
    for one in EXPECTED:
        wanted.setdefault((one.name, one.agent, one.severity), []).append(one)
    wrong = [f"{key} fired and must not" for key in seen.keys() - wanted.keys()]
    wrong += [f"{key} did not fire" for key in wanted.keys() - seen.keys()]
    for key in wanted.keys() & seen.keys():
        if len(wanted[key]) != len(seen[key]):
            wrong.append(f"{key} fired {len(seen[key])} times instead of {len(wanted[key])}")
        for one, (first, last) in zip(wanted[key], seen[key], strict=False):
            wrong += [f"{key} {problem}" for problem in _problems(world, one, first, last)]
    return sorted(wrong)


def _problems(world: World, one: Expected, first: float, last: float) -> Iterator[str]:
    """Yield what is wrong with one span of time in which the alert fired."""
    cause, end = world.steps[one.cause], world.steps[one.end]
    if first < cause:
        yield f"fired before its cause, {one.cause}"
    if last > end + LONGEST_S:
        yield f"did not resolve within {LONGEST_S} s of its end, {one.end}"
    if last < end - 1:
        yield f"resolved before its end, {one.end}"


def main(arguments: list[str] | None = None) -> int:
    """Run the ten minutes in a folder that does not exist yet; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        world = World(folder, stack)
        for name in world.hosts:
            world.configure(name)
        for name in world.hosts:
            world.start(name)
        return _run(world, stack, folder)


def _run(world: World, stack: contextlib.ExitStack, folder: Path) -> int:
    until(lambda: world.rest.inventories(world.hosts["two"].provider_uuid), PATIENCE_S, "the inventory of two")
    world.keep_instance()
    (folder / "rules.yaml").write_text(faster(RULES.read_text()))
    stack.enter_context(node_exporter(folder / "textfile", world.ports["file"]))
    server = stack.enter_context(running(folder / "prometheus", list(world.ports.values()), folder / "rules.yaml"))
    began = time.time()
    for moment, name, step in plan(world):
        until_moment(began + moment)
        world.steps[name] = time.time() - began
        step()
        print(f"{world.steps[name]:5.0f} s {name}", flush=True)
    wrong = judged(world, firing(server, began, time.time()))
    print("\n".join(wrong) or "every alert that should has fired and resolved, no other has")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
