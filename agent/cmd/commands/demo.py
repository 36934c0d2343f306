"""``stocktake demo``: build a small cloud, run the agent on it, print and check six stories, then clean up.

A story is a problem of the cloud and the agent's reports about the problem (see README.md). The demo cleans up after
success, failure, a signal or a closed stdout. With --keep, a completed demo leaves the cloud running; --end removes the
cloud.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cmd.command_line.failures import FailureKind, NoDocument
from agent.cmd.commands.base import DocumentCommand, argument
from agent.errors import AgentError

if TYPE_CHECKING:
    from agent.demo.cloud import DemoCloud
    from agent.demo.interruptions import Interruptions
    from agent.demo.kept import Kept
    from agent.demo.outcome import DemoRun

NOT_SHOWN = 1
# If a signal ends the demo, the exit code is this number + the number of the signal, as in shells.
BY_SIGNAL = 128


class Demo(DocumentCommand):
    """Build a small cloud with five real problems in it, run the agent on it, and show what it finds."""

    ARGUMENTS = (
        argument("--keep", action="store_true", help="keep the demo's cloud running, and print commands to try"),
        argument("--end", action="store_true", help="remove the clouds that --keep left running, and run no demo"),
        argument(
            "--html",
            metavar="FILE",
            help="also write the page of the demo's fleet to this file, and the page of each host beside it",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return 0 if all six stories were shown, 128 + the signal's number if a signal ended the demo, else 1."""
        from agent.demo.interruptions import Interrupted

        if parsed_args.html == "-":
            from agent.usage_error import UsageError

            raise UsageError("--html writes several files: name a file")
        if parsed_args.end:
            return self._end()
        missing = _missing_packages()
        if missing:
            raise _failed(f"the demo needs {missing}: pip install stocktake[demo]")
        try:
            ran = _shown(self, keep=parsed_args.keep, form=parsed_args.format, page=parsed_args.html)
        except Interrupted as signal:
            return BY_SIGNAL + signal.number
        except BrokenPipeError:
            raise
        except (AgentError, OSError) as error:
            if self.app.options.debug:
                traceback.print_exc()
            raise _failed(str(error)) from error
        return 0 if all(story.shown for story in ran.stories) else NOT_SHOWN

    def _end(self) -> int:
        """Remove the clouds that --keep left running, and print the folder of each cloud; return 0."""
        from agent.demo.kept import kept_clouds

        found = tuple(kept_clouds())
        for cloud in found:
            cloud.end()
            self.app.stdout.write(f"removed the demo's cloud in {cloud.folder}\n")
        if not found:
            self.app.stdout.write("there is no demo cloud to remove\n")
        return 0


def _shown(command: Demo, *, keep: bool, form: str, page: str | None) -> DemoRun:
    """Build the cloud, run the agent and print the stories; return what was run.

    Each part of the cloud is registered in ``standing`` for clean-up before a signal can end the demo.
    """
    from agent.cmd.demo_run import run
    from agent.demo import cloud
    from agent.demo.interruptions import Interruptions
    from agent.demo.kept import PREFIX
    from agent.demo.placement import Lifetime

    with Interruptions() as interruptions, contextlib.ExitStack() as standing:
        progress = _Progress(interruptions)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        standing.callback(shutil.rmtree, folder, ignore_errors=True)
        lifetime = Lifetime.KEPT if keep else Lifetime.WITH_US
        built = cloud.build(folder, lifetime, progress, standing, interruptions)
        with interruptions.allowed():
            ran = run(built, progress)
            if page is not None:
                _write_pages(page, built, ran, progress)
            if keep:
                progress("done")
                kept = _kept(built)
                kept.remember()
                _answer(command, ran, form, _commands(built))
                sys.stderr.write(f"the demo's cloud stays in {kept.folder}; remove it: {_program()} demo --end\n")
        if keep:
            # Cancel the clean-up (--keep) only after the print, because the printed text tells the operator how to
            # remove the cloud.
            standing.pop_all()
    if not keep:
        progress("done")
        _answer(command, ran, form, {})
    return ran


def _answer(command: Demo, ran: DemoRun, form: str, commands: Mapping[str, str]) -> None:
    from agent.demo.document import demo_blocks, demo_document

    command.answer(form, demo_blocks(ran, commands), demo_document(ran, commands))
    command.app.stdout.flush()


def _write_pages(file: str, built: DemoCloud, ran: DemoRun, progress: _Progress) -> None:
    from agent.cmd.demo_pages import write_demo_pages

    progress(f"wrote the pages {', '.join(write_demo_pages(file, built, ran))}")


class _Progress:
    """Writes one line to stderr for each step.

    While the line is written, a signal raises Interrupted, also a signal that came earlier.
    """

    def __init__(self, interruptions: Interruptions) -> None:
        self._interruptions = interruptions
        self._began = time.monotonic()

    def __call__(self, step: str) -> None:
        with self._interruptions.allowed():
            sys.stderr.write(f"[demo {time.monotonic() - self._began:5.1f} s] {step}\n")


def _failed(why: str) -> NoDocument:
    return NoDocument(FailureKind.UNAVAILABLE, f"demo: {why}", NOT_SHOWN)


def _missing_packages() -> str:
    import importlib.util

    wanted = {"placement": "openstack-placement", "waitress": "waitress"}
    return ", ".join(name for module, name in wanted.items() if importlib.util.find_spec(module) is None)


def _program() -> str:
    """Return the command that starts this program from any working directory."""
    called = sys.argv[0]
    found = shutil.which(Path(called).name)
    # If a search of PATH finds the running script, the bare name of the program is enough.
    if found is not None and os.path.abspath(found) == os.path.abspath(called):
        return Path(called).name
    return os.path.abspath(called) if os.sep in called else called


def _commands(built: DemoCloud) -> dict[str, str]:
    """Return, for each host, the start of a ``stocktake`` command that an operator can copy."""
    from agent.demo.cast import HOSTS

    # Write "env VAR=value", not "VAR=value": if the folder's path contains a space, shlex.join quotes the whole word,
    # and without env the shell would run the quoted word as a command.
    view = ["env", f"LVM_SYSTEM_DIR={built.lvm_folder}"] if built.has_real_groups else []
    return {host.name: shlex.join([*view, _program(), "--config-file", str(built.config_file(host))]) for host in HOSTS}


def _kept(built: DemoCloud) -> Kept:
    from agent.demo.kept import Kept
    from agent.demo.volume_group import VolumeGroupRig

    devices = (group.device for group in built.groups if isinstance(group, VolumeGroupRig))
    return Kept(folder=built.folder, pid=built.placement.pid, devices=tuple(device for device in devices if device))
