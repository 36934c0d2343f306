"""One compute host to run the installed agent on: configuration files, a cell database, and the daemon as a process.

The servers around the host are real and are passed in by URL: Placement (tests/rigs/placement.py), libvirt (test driver
file, a private libvirtd, qemu:///system), a database.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy

from agent.demo import cell
from agent.demo.placement import TOKEN
from agent.model.nova import ComputeNode, Instance
from tests.rigs import facts, heart
from tests.rigs.domains import node_xml
from tests.rigs.logs import json_lines
from tests.rigs.placement import Rest, new_uuid
from tests.rigs.programs import COMMAND, DAEMON, FORKED, Launcher, Process, installed
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until

# The exit code of an audit that does not write because of a rival.
REFUSED = 5
Options = Mapping[str, Mapping[str, object]]

# How long a test waits before it fails; only a failing test takes this long.
PATIENCE_S = 120.0
# Shorter than every wait that a stop must cut short: 30 s of a read or an answer, a minute of a broker or of the stop.
STOP_S = 25.0
# As long as a request may take, so that no answer of Placement counts as late.
LATE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The result of a finished process."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The process's stdout, parsed as JSON."""
        return json.loads(self.stdout)


@dataclass(slots=True, kw_only=True)
class AgentHost:
    """A host ``name`` whose agent is configured by one file; its ``compute_id`` file has ``provider_uuid``."""

    folder: Path
    name: str
    placement_url: str
    libvirt_uri: str
    provider_uuid: str = ""
    options: dict[str, dict[str, object]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    launcher: Launcher = FORKED

    @property
    def config_file(self) -> Path:
        """The configuration file; ``configure`` rewrites it."""
        return self.folder / "stocktake.conf"

    @property
    def cell_path(self) -> Path:
        """The SQLite cell database; ``make_cell`` creates it."""
        return self.folder / "cell.sqlite"

    @property
    def report_file(self) -> Path:
        """The report that the daemon writes after each audit."""
        return self.folder / "run" / "report.json"

    def report(self) -> dict[str, Any]:
        """Return the last report of the daemon, {} before the first."""
        try:
            return dict(json.loads(self.report_file.read_text()))
        except FileNotFoundError:
            return {}

    def configure(self, changes: Options | None = None) -> None:
        """Write the file: the defaults below, then ``options``, then ``changes`` (an option of None is left out)."""
        for name in ("state", "run", "instances"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "nova.conf").touch()
        merged: dict[str, dict[str, object]] = self._defaults()
        for layer in (self.options, changes or {}):
            for group, options in layer.items():
                merged.setdefault(group, {}).update(options)
        lines = []
        for group, options in merged.items():
            lines.append(f"[{group}]")
            lines.extend(f"{option} = {value}" for option, value in options.items() if value is not None)
        self.config_file.write_text("\n".join(lines) + "\n")
        if self.provider_uuid:
            (self.folder / "compute_id").write_text(self.provider_uuid + "\n")

    def _defaults(self) -> dict[str, dict[str, object]]:
        return {
            "DEFAULT": {"host": self.name, "instances_path": self.folder / "instances"},
            "agent": {
                "nova_conf": self.folder / "nova.conf",
                "state_dir": self.folder / "state",
                "run_dir": self.folder / "run",
                # A test triggers its audits one right after the other.
                "confirm_spacing": 0,
            },
            "compute": {"provider_config_location": self.folder / "provider_config"},
            "libvirt": {"connection_uri": self.libvirt_uri},
            "state": {"source": "sql", "connection": f"sqlite:///{self.cell_path}"},
            "placement": {
                "auth_type": "admin_token",
                "token": TOKEN,
                "endpoint_override": self.placement_url,
                # A busy machine answers late even without load on Placement; these tests are not about late answers.
                "slow_answer": LATE_S,
            },
        }

    def rows(self) -> contextlib.AbstractContextManager[sqlalchemy.Connection]:
        """Open the cell database to change rows; commit at the end of the block."""
        return cell.writing(self.cell_path)

    def make_cell(self, *instances: Instance) -> sqlalchemy.Engine:
        """Return the engine of a cell with this host's node record and these instances; the caller disposes of it."""
        engine = sqlalchemy.create_engine(f"sqlite:///{self.cell_path}")
        with engine.begin() as connection:
            cell.create_tables(connection)  # type: ignore[arg-type]
            if self.provider_uuid:
                cell.add_compute_node(connection, self.node_row())
            for instance in instances:
                cell.add_instance(connection, instance)
        heart.keep(f"sqlite:///{self.cell_path}")
        return engine

    def node_row(self, number: int = 1) -> ComputeNode:
        """Return this host's compute node record."""
        return ComputeNode(
            id=number, uuid=self.provider_uuid, host=self.name, hypervisor_hostname=self.name, deleted=False
        )

    def instance(self, name: str, **changes: Any) -> Instance:
        """Return an active instance of this host; its uuid is derived from ``name``."""
        return facts.instance(name, **{"host": self.name, "node": self.name, **changes})

    def agent(self, *arguments: str, timeout_s: float = PATIENCE_S) -> Ended:
        """Run the daemon's program until it exits."""
        return self._finished(DAEMON, self._arguments(arguments), timeout_s)

    def agent_without_file(self, *arguments: str) -> Ended:
        """Run the daemon's program without this host's configuration file until it exits."""
        return self._finished(DAEMON, arguments, PATIENCE_S)

    def not_refused(self, timeout_s: float) -> Ended:
        """Repeat single audits until one is not refused, and return it: a rival must have been silent for some time."""

        def audited() -> Ended | None:
            ended = self.agent("--once")
            return None if ended.code == REFUSED else ended

        return until(audited, timeout_s, "an audit that nothing refuses")

    def stocktake(self, *arguments: str, timeout_s: float = PATIENCE_S) -> Ended:
        """Run the `stocktake` command."""
        return self._finished(COMMAND, self._arguments(arguments), timeout_s)

    def _finished(self, program: str, arguments: Sequence[str], timeout_s: float) -> Ended:
        done = self.launcher.run(program, arguments, timeout_s, self.environ(), ROOT)
        return Ended(code=done.returncode, stdout=done.stdout, stderr=done.stderr)

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the argv of an installed Stocktake program with this host's configuration."""
        return [installed(program), *self._arguments(arguments)]

    def _arguments(self, arguments: Sequence[str]) -> list[str]:
        return ["--config-file", str(self.config_file), *arguments]

    def environ(self) -> dict[str, str]:
        """Return the environment of Stocktake's programs."""
        return {**os.environ, **self.environment}

    @contextlib.contextmanager
    def daemon(self, *arguments: str) -> Iterator[Daemon]:
        """Yield the running daemon; kill it after the block if it still runs."""
        before = self.report()
        log = self.folder / f"daemon-{datetime.datetime.now(datetime.UTC):%H%M%S%f}.log"
        process = self.launcher.start(DAEMON, self._arguments(arguments), log, self.environ(), ROOT)
        started = Daemon(host=self, process=process, log=log, before=before)
        try:
            yield started
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A running daemon."""

    host: AgentHost
    process: Process
    log: Path
    before: dict[str, Any]

    def text(self) -> str:
        """Return the daemon's log so far."""
        return self.log.read_text(errors="replace")

    def records(self) -> list[dict[str, Any]]:
        """Return the daemon's JSON log records so far."""
        return json_lines(self.text())

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the daemon."""
        self.process.send_signal(number)

    def ended(self, timeout_s: float = PATIENCE_S) -> int:
        """Wait for the daemon to exit; return its exit code."""
        return self.process.wait(timeout_s)

    def first_audit(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Return the report of the first audit; before that audit the daemon may not even have its signal handlers."""
        return self.audit_after(self.before, timeout_s)

    def settled(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Return the report of the audit that libvirt's first connection triggered; the test triggers later audits."""
        what = "the audit after libvirt has connected"
        return self._report(lambda audit: "libvirt-connected" in audit["reasons"], timeout_s, what)

    def audit_after(self, before: Mapping[str, Any], timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Return the report of an audit other than that of ``before``."""
        seen = before["audit"]["audit_id"] if before else None
        return self._report(lambda audit: audit["audit_id"] != seen, timeout_s, "a further audit")

    def audit_now(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Trigger an audit by USR1 and return the report of an audit that began after the call.

        The daemon also audits for its own reasons, for example when libvirt has just connected. Such an audit may have
        read the host before the caller's last change, and may report after this call.
        """
        asked_at = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        self.send(signal.SIGUSR1)
        what = "an audit that began after the signal"
        return self._report(lambda audit: audit["started_at"] >= asked_at, timeout_s, what)

    def _report(self, is_wanted: Callable[[dict[str, Any]], bool], timeout_s: float, what: str) -> dict[str, Any]:
        """Wait for the report of an audit that ``is_wanted`` accepts, and return the whole report."""

        def wanted() -> dict[str, Any]:
            now = self.host.report()
            return now if now and is_wanted(now["audit"]) else {}

        return until(self._alive(wanted), timeout_s, what)

    def _alive(self, look: Any) -> Any:
        def looked() -> Any:
            assert self.process.poll() is None, f"the daemon has ended with {self.process.returncode}\n{self.text()}"
            return look()

        return looked


def host_on(folder: Path, placement_url: str, **changes: Any) -> AgentHost:
    """Return a host with a unique name and identity, so that several may share a Placement; its node is node.xml."""
    return AgentHost(
        folder=folder,
        name=f"cmp-{new_uuid()}",
        placement_url=placement_url,
        libvirt_uri=f"test://{folder / 'node.xml'}",
        provider_uuid=new_uuid(),
        **changes,
    )


def empty_host(folder: Path, placement: Rest) -> AgentHost:
    """Return a configured host of 8 CPUs and 4096 MiB without guests, with a cell and a provider without inventory."""
    (folder / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096))
    made = host_on(folder, placement.server.url)
    made.configure()
    made.make_cell().dispose()
    placement.make_provider(made.name, uuid=made.provider_uuid)
    return made
