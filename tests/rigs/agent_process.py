"""The daemon as a process on libvirt's test driver, with one small configuration file and no cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agent.demo.placement import TOKEN
from tests.rigs.host import LATE_S, PATIENCE_S
from tests.rigs.logs import json_lines
from tests.rigs.placement import new_uuid
from tests.rigs.programs import COMMAND, DAEMON, FORKED, Launcher, Process
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until

NOBODY = "http://127.0.0.1:9"
CONF = """
[DEFAULT]
host = {host}
instances_path = {folder}
update_resources_interval = {interval}
use_json = true
{extra}
[agent]
state_dir = {folder}/state
run_dir = {folder}/run
nova_conf =
confirm_spacing = 0
[libvirt]
connection_uri = {uri}
[state]
source = none
[placement]
auth_type = admin_token
endpoint = {url}
token = {token}
slow_answer = {late_s}
"""


class Agent:
    """One configuration file and the processes that use it."""

    def __init__(self, folder: Path, launcher: Launcher = FORKED) -> None:
        self._launcher = launcher
        self.folder = folder
        self.conf = folder / "stocktake.conf"
        self.log = folder / "log"
        # Tests share a Placement, so each test needs a provider name of its own.
        self.host = f"tiny-{new_uuid()}"
        self.process: Process | None = None
        self.configure()

    def configure(self, **changes: object) -> None:
        """Write the file: ``url``, ``interval``, ``uri``, ``late_s``, and ``extra`` lines of [DEFAULT]."""
        usual = {"url": NOBODY, "interval": -1, "uri": "test:///default", "extra": "", "late_s": LATE_S}
        new = self.conf.with_suffix(".new")
        new.write_text(CONF.format(folder=self.folder, host=self.host, token=TOKEN, **{**usual, **changes}))
        new.rename(self.conf)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the program with these arguments until it exits."""
        return self._launcher.run(DAEMON, arguments, PATIENCE_S, os.environ, ROOT)

    def once(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one audit."""
        return self.run("--config-file", str(self.conf), "--once", *arguments)

    def stocktake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the `stocktake` command with the same configuration until it exits."""
        return self._launcher.run(COMMAND, ["--config-file", str(self.conf), *arguments], PATIENCE_S, os.environ, ROOT)

    def start(self, *arguments: str) -> None:
        """Start the daemon; its log goes to the file ``log``."""
        options = ["--config-file", str(self.conf), *arguments]
        self.process = self._launcher.start(DAEMON, options, self.log, os.environ, ROOT)

    def start_changed(self, program: str, environment: dict[str, str], *arguments: str) -> None:
        """Start ``program``, Python code that changes the daemon and then runs it."""
        command = [sys.executable, "-c", program, "--config-file", str(self.conf), *arguments]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=ROOT, env={**os.environ, **environment}
            )

    def records(self, event: str) -> list[dict[str, Any]]:
        """Return the daemon's log records of this event."""
        return [record for record in json_lines(self.log.read_text()) if record["message"] == event]

    def until_logged(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until the daemon has logged this event ``count`` times; return its records."""

        def enough() -> list[dict[str, Any]]:
            found = self.records(event)
            return found if len(found) >= count else []

        try:
            return until(enough, PATIENCE_S, f"{count} × {event!r}")
        except AssertionError as error:
            raise AssertionError(f"{error} in {self.log.read_text()}") from None

    def until_audited_for(self, reason: str, count: int) -> None:
        """Wait until ``count`` audits list this reason, alone or among others; needs debug logging."""

        def enough() -> bool:
            done = self.records("audit done")
            return sum(reason in record["extra"]["reasons"] for record in done) >= count

        until(enough, PATIENCE_S, f"{count} audits for {reason!r}")

    def report(self) -> dict[str, Any]:
        """Return the last audit's report; wait for the first report if there is none yet."""
        path = self.folder / "run" / "report.json"
        return dict(until(lambda: path.exists() and json.loads(path.read_text())["audit"], PATIENCE_S, "a report"))

    def close(self) -> None:
        """Kill the daemon if it still runs."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
