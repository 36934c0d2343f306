"""``stocktake demo``: five stories on real parts, told and checked; leaves nothing behind unless it is asked to."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cliff.command import Command

if TYPE_CHECKING:
    from agent.demo.world import World


class Demo(Command):
    """Build a small cloud with five real problems in it, run the agent on it, and show what it finds."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """--keep and -f."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--keep", action="store_true", help="leave the world standing and say how to use and end it"
        )
        parser.add_argument("-f", "--format", choices=("text", "json"), default="text", help="json: one document")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """0 when all five stories were shown, else 1."""
        from agent.cmd.demo_run import run
        from agent.demo import world
        from agent.demo.document import demo_document, demo_text
        from agent.demo.placement import Lifetime

        missing = _missing_packages()
        if missing:
            sys.stderr.write(f"stocktake demo: needs {missing}: pip install stocktake[demo]\n")
            return 1
        tell = _Progress()
        folder = Path(tempfile.mkdtemp(prefix="stocktake-demo-"))
        kept = False
        try:
            built = world.build(folder, Lifetime.KEPT if parsed_args.keep else Lifetime.WITH_US, tell)
            try:
                ran = run(built, tell)
                kept = parsed_args.keep
            finally:
                if not kept:
                    world.close(built)
        finally:
            if not kept:
                shutil.rmtree(folder, ignore_errors=True)
        tell("done")
        document = parsed_args.format == "json"
        sys.stdout.write(json.dumps(demo_document(ran), indent=2) + "\n" if document else demo_text(ran))
        if kept:
            sys.stderr.write(_how_to_end(built) + "\n")
        return 0 if all(story.shown for story in ran.stories) else 1


class _Progress:
    """A line and the time so far on stderr for each step."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, step: str) -> None:
        sys.stderr.write(f"[demo {time.monotonic() - self._began:5.1f} s] {step}\n")


def _missing_packages() -> str:
    import importlib.util

    wanted = {"placement": "openstack-placement", "waitress": "waitress"}
    return ", ".join(name for module, name in wanted.items() if importlib.util.find_spec(module) is None)


def _how_to_end(built: World) -> str:
    from agent.demo.cast import HOSTS
    from agent.demo.volume_group import VolumeGroupRig

    asks = [f"  stocktake --config-file {built.config_file(host)} explain VCPU" for host in HOSTS]
    devices = [group.device for group in built.groups if isinstance(group, VolumeGroupRig) and group.device]
    lines = [
        f"Kept in {built.folder}. Placement is process {built.placement.pid} at {built.placement.url}. Ask it:",
        f"  export LVM_SYSTEM_DIR={built.lvm_folder}"
        if devices
        else "  (the volume groups were recorded reports: what rests on lvm cannot be read any more)",
        *asks,
        "End it (the volume groups end with their files):",
        f"  unset LVM_SYSTEM_DIR; kill {built.placement.pid}",
        *(f"  losetup --detach {device}" for device in devices),
        f"  rm -r {built.folder}",
    ]
    return "\n".join(lines)
