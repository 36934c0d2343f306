"""Start the real nova-compute and the agent on the same nova.conf; return what each of them wrote to Placement.

Both publish the same provider, one after the other, to one real Placement. The provider tree is deleted after each, so
each of them begins with an empty Placement, as on a new host.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.demo.placement import TOKEN
from agent.demo.recorded_group import NoVolumeGroup
from agent.demo.volume_group import VolumeGroupRig
from tests.rigs.libvirtd import system_libvirtd
from tests.rigs.nova_env import nova_python, with_libvirt
from tests.rigs.placement import Rest, running
from tests.rigs.programs import DAEMON, FORKED
from tests.rigs.source_tree import ROOT
from tests.variants.draw import Variant
from tests.variants.values import GROUP

Tree = dict[str, dict[str, Any]]

_NOVA_SIDE = Path(__file__).parent / "nova_once.py"
_GIB = 1 << 30
_PATIENCE_S = 300.0
_NOVA_CONF = """\
[DEFAULT]
host = compute-1
my_ip = 127.0.0.1
state_path = {folder}/state
compute_driver = libvirt.LibvirtDriver
[libvirt]
virt_type = qemu
[compute]
provider_config_location = {folder}/provider_config
[oslo_concurrency]
lock_path = {folder}/lock
[database]
connection = sqlite:///{folder}/nova.sqlite
[placement]
auth_type = admin_token
token = {token}
endpoint_override = {url}
"""
_OURS = """\
[agent]
nova_conf = {folder}/nova.conf
role = owner
state_dir = {folder}/agent
run_dir = {folder}/agent
[state]
source = none
[lvm]
foreign_volumes = ignore
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one of the two did: ``outcome`` is ``audited``, ``audit-failed`` or ``not-started``."""

    outcome: str
    said: str
    tree: Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The answers of both to one variant."""

    variant: Variant
    nova: Answer
    agent: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The standing parts: Placement, the process with nova's code, and the environment of both."""

    folder: Path
    rest: Rest
    nova: subprocess.Popen[str]
    environment: dict[str, str]
    with_group: bool

    def ask(self, variant: Variant) -> Pair:
        """Return both answers; ask again if the machine's memory changed in between."""
        for _ in range(5):
            folder = self._prepared(variant)
            nova = self._nova(folder)
            agent = self._agent(folder)
            if _memory(nova) == _memory(agent):
                break
        return Pair(variant=variant, nova=nova, agent=agent)

    def _prepared(self, variant: Variant) -> Path:
        folder = self.folder / uuid.uuid4().hex
        for name in ("state/instances", "provider_config", "lock", "agent"):
            (folder / name).mkdir(parents=True)
        (folder / "state" / "compute_id").write_text(str(uuid.uuid4()))
        for number, text in enumerate(variant.provider_files()):
            (folder / "provider_config" / f"{number}.yaml").write_text(text)
        common = _NOVA_CONF.format(folder=folder, token=TOKEN, url=self.rest.server.url)
        (folder / "nova.conf").write_text(variant.text(common))
        (folder / "stocktake.conf").write_text(_OURS.format(folder=folder))
        return folder

    def _nova(self, folder: Path) -> Answer:
        assert self.nova.stdin is not None
        assert self.nova.stdout is not None
        self.nova.stdin.write(f"{folder}/nova.conf\n")
        self.nova.stdin.flush()
        line = self.nova.stdout.readline()
        assert line, (self.folder / "nova.log").read_text()[-3000:]
        answer = json.loads(line)
        return Answer(outcome=answer["outcome"], said=answer["error"] or "", tree=self._taken())

    def _agent(self, folder: Path) -> Answer:
        arguments = ["--config-file", str(folder / "stocktake.conf"), "--once"]
        done = FORKED.run(DAEMON, arguments, _PATIENCE_S, self.environment, ROOT)
        # 78 is the exit code for a configuration error, 1 for a bug.
        outcome = "not-started" if done.returncode in {1, 78} else "audited"
        said = f"exit {done.returncode}"
        if outcome == "not-started":
            said += " " + " ".join(done.stderr.split())[-600:]
        return Answer(outcome=outcome, said=said, tree=self._taken())

    def _taken(self) -> Tree:
        """Return all providers by name, and delete them."""
        providers = self.rest.done("GET", "/resource_providers")["resource_providers"]
        names = {provider["uuid"]: provider["name"] for provider in providers}
        tree = {
            provider["name"]: {
                "parent": names.get(provider["parent_provider_uuid"]),
                "inventories": self.rest.inventories(provider["uuid"]),
                "traits": self.rest.traits(provider["uuid"]),
            }
            for provider in providers
        }
        for provider in sorted(providers, key=lambda found: found["parent_provider_uuid"] is None):
            self.rest.delete_provider(provider["uuid"])
        return tree


def _memory(answer: Answer) -> list[Any]:
    found = [provider["inventories"].get("MEMORY_MB", {}).get("total") for provider in answer.tree.values()]
    return [total for total in found if total is not None]


@contextlib.contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """Start Placement, libvirt and nova's process, and make the volume group; end them after the block."""
    with contextlib.ExitStack() as stack:
        rest = stack.enter_context(running(folder / "placement"))
        stack.enter_context(system_libvirtd())
        sees_group = _group(folder, stack)
        environment = {**os.environ, **sees_group}
        nova = stack.enter_context(_nova_process(folder, environment))
        yield Bench(folder=folder, rest=rest, nova=nova, environment=environment, with_group=bool(sees_group))


def _group(folder: Path, stack: contextlib.ExitStack) -> dict[str, str]:
    """Return the environment with which lvm2 sees the rig's group; empty if no group can be made here."""
    with contextlib.suppress(NoVolumeGroup):
        group = stack.enter_context(VolumeGroupRig(folder=folder, name=GROUP, size_bytes=20 * _GIB))
        group.add_volume("backup", 3 * _GIB)
        return dict(group.environment)
    return {}


@contextlib.contextmanager
def _nova_process(folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with (folder / "nova.log").open("w") as log:
        process = subprocess.Popen(
            [str(nova_python()), str(_NOVA_SIDE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**environment, "PYTHONPATH": str(with_libvirt(folder))},
        )
    try:
        yield process
    finally:
        process.communicate()
