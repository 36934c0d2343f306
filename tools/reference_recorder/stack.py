"""The running stack: its options, Placement, its cell database, and one nova-compute at a time."""

import importlib.metadata
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy
from keystoneauth1 import adapter, session
from keystoneauth1.identity import v3

from reference_recorder import options

# [DEFAULT]host of the recorded nova-compute. It differs from the stack's own host, whose service stays unchanged.
HOST = "cmp1.example.org"
_FIRST_AUDIT_S = 120.0
_STOP_S = 30.0
_AUDIT_ENDED = "Compute_service record updated for"
_ERROR = re.compile(r"\S+ \S+ \d+ (ERROR|CRITICAL) ")


# No slots: cached_property needs a __dict__.
@dataclass(frozen=True)
class Stack:
    """A stack in ``folder``. Methods raise SystemExit with a sentence if the stack is not fit for recording."""

    folder: Path

    def check(self) -> None:
        """Check that nova-compute is installed and the stack's own does not run: it would write to the same tree."""
        pid_file = self.folder / "run" / "nova-compute.pid"
        if pid_file.exists() and Path(f"/proc/{pid_file.read_text().strip()}").exists():
            raise SystemExit("the stack's own nova-compute runs; stop it first")
        if not self._program("nova-compute").exists():
            raise SystemExit(f"no nova-compute in {self.folder}")

    @cached_property
    def options(self) -> options.Options:
        """The options of the stack's nova-compute."""
        return options.read(self._nova_conf)

    @cached_property
    def placement(self) -> adapter.Adapter:
        """A client of Placement as the stack's nova user."""
        names = ("auth_url", "username", "password", "project_name", "user_domain_name", "project_domain_name")
        found = {name: options.value(self.options, "placement", name, "") for name in names}
        return adapter.Adapter(
            session.Session(auth=v3.Password(**found)),
            service_type="placement",
            interface="internal",
            region_name=options.value(self.options, "placement", "region_name", "RegionOne"),
            default_microversion="1.39",
        )

    @cached_property
    def _engine(self) -> sqlalchemy.Engine:
        control = options.read(self.folder / "etc" / "nova" / "nova-ctl.conf")
        return sqlalchemy.create_engine(options.value(control, "database", "connection", ""))

    def rows(self, statement: str, **values: object) -> list[dict[str, Any]]:
        """Return rows of the cell database as dicts."""
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(sqlalchemy.text(statement), values).mappings()]

    def version(self, distribution: str) -> str:
        """Return the version of a distribution in the stack's own environment."""
        (folder,) = (self.folder / "venv" / "lib").glob("python3*/site-packages")
        (found,) = importlib.metadata.distributions(name=distribution, path=[str(folder)])
        return found.version

    def forget_node(self, node: str) -> None:
        """Delete the provider tree of that node and its rows, so that the next nova-compute starts without them."""
        for provider in reversed(self.tree(node)):
            answer = self.placement.delete(f"/resource_providers/{provider['uuid']}", raise_exc=False)
            if answer.status_code != 204:
                raise SystemExit(f"provider {provider['name']} cannot be deleted: {answer.text}")
        of_node = "SELECT id FROM compute_nodes WHERE hypervisor_hostname = :node"
        with self._engine.begin() as connection:
            for statement in (
                f"DELETE FROM pci_devices WHERE compute_node_id IN ({of_node})",
                "DELETE FROM compute_nodes WHERE hypervisor_hostname = :node",
                "DELETE FROM services WHERE host = :host",
            ):
                values = {"node": node, "host": HOST}
                connection.execute(
                    sqlalchemy.text(statement), {k: v for k, v in values.items() if f":{k}" in statement}
                )

    def tree(self, node: str) -> list[dict[str, Any]]:
        """Return the providers of the node's tree, parents before children, children by name; [] if there is none."""
        (root,) = self._providers(name=node) or [None]
        if root is None:
            return []
        providers = self._providers(in_tree=root["uuid"])
        # Nova's trees have at most two levels.
        return sorted(providers, key=lambda found: (found["parent_provider_uuid"] is not None, found["name"]))

    def _providers(self, **query: str) -> list[dict[str, Any]]:
        return self.placement.get("/resource_providers", params=query).json()["resource_providers"]

    @contextmanager
    def nova_compute(self, conf: Path, log: Path, environment: Mapping[str, str]) -> Iterator[None]:
        """Run a nova-compute, and yield once it has finished its first audit; stop it after the block."""
        argv = [str(self._program("nova-compute")), "--config-file", str(self._nova_conf)]
        argv += ["--config-file", str(conf), "--log-file", str(log)]
        with log.with_suffix(".out").open("wb") as out:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._environment(environment),
                start_new_session=True,
            )
        try:
            _wait_for_audit(child, log)
            yield
        finally:
            _end(child)

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        ours = {name: text for name, text in os.environ.items() if not name.startswith(("OS_", "PYTHON"))}
        path = os.pathsep.join((str(self.folder / "venv" / "bin"), "/usr/sbin", "/usr/bin", "/sbin", "/bin"))
        fixed = {"PATH": path, "LC_ALL": "C.UTF-8", "no_proxy": "127.0.0.1,localhost", "LVM_SUPPRESS_FD_WARNINGS": "1"}
        return {**ours, **fixed, **more}

    def _program(self, name: str) -> Path:
        return self.folder / "venv" / "bin" / name

    @property
    def _nova_conf(self) -> Path:
        return self.folder / "etc" / "nova" / "nova.conf"


def _wait_for_audit(child: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the first audit. Also stop at an ERROR in the log: nova-compute may run on without auditing."""
    end = time.monotonic() + _FIRST_AUDIT_S
    pause = threading.Event()
    while True:
        said = log.read_text(errors="replace") if log.exists() else ""
        errors = [line for line in said.splitlines() if _ERROR.match(line)]
        if errors or child.poll() is not None or time.monotonic() > end:
            tail = "\n".join(errors[:3] or said.splitlines()[-10:] or [log.with_suffix(".out").read_text()])
            raise SystemExit(f"nova-compute did not finish its first audit:\n{tail}")
        if _AUDIT_ENDED in said:
            return
        pause.wait(0.1)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Stop the process group, which has only nova-compute and its own child: the privsep daemon."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(_STOP_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
