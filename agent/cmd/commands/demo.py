"""``stocktake demo``: build a small cloud, run the agent on it, print and check six stories, then clean up.

A story is a problem of the cloud and the agent's reports about the problem (see README.md). The demo cleans up after
success, failure, a signal or a closed stdout. With --keep, a completed demo leaves the cloud running. Later, --end
removes the cloud. --practice keeps another cloud, in which an operator finds and repairs planted faults.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
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
from agent.usage_error import UsageError

if TYPE_CHECKING:
    from agent.demo.cloud import DemoCloud
    from agent.demo.interruptions import Interruptions
    from agent.demo.outcome import DemoRun

NOT_SHOWN = 1
# If a signal ends the demo, the exit code is this number + the number of the signal, as in shells.
BY_SIGNAL = 128
_FAULTS, _MOST_FAULTS = 5, 10


def _faults(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_FAULTS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a number of faults from 1 to {_MOST_FAULTS}")


class Demo(DocumentCommand):
    """Build a small cloud with real problems in it, run the agent on it, and show what it finds."""

    ARGUMENTS = (
        argument("--keep", action="store_true", help="keep the demo's cloud running, and print commands to try"),
        argument(
            "--practice",
            type=_faults,
            nargs="?",
            const=_FAULTS,
            metavar="N",
            help="for practice, build and keep a cloud with N faults (1 to 10, default 5) on its first host; you then "
            "find and repair the faults with stocktake",
        ),
        argument(
            "--seed",
            type=int,
            metavar="N",
            help="with --practice: plant the same faults as an earlier run with this seed",
        ),
        argument(
            "--list", action="store_true", help="list the demo's clouds that still exist after --keep or --practice"
        ),
        argument(
            "--end",
            nargs="?",
            const="",
            metavar="FOLDER",
            help="remove the cloud that --keep or --practice left in this folder; FOLDER may be omitted if --list "
            "shows only one cloud",
        ),
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
            raise UsageError("--html cannot write to stdout (-), because there are several pages: give a file name")
        if parsed_args.seed is not None and parsed_args.practice is None:
            raise UsageError("--seed needs --practice")
        if parsed_args.list or parsed_args.end is not None:
            return self._list() if parsed_args.list else self._end(parsed_args.end)
        missing = _missing_packages()
        if missing:
            raise _failed(f"the demo needs {missing}: pip install stocktake[demo]")
        try:
            if parsed_args.practice is not None:
                return _practice(self, parsed_args.practice, parsed_args.seed, parsed_args.format)
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

    def _list(self) -> int:
        """Print each kept cloud's folder, its hosts, and the command that removes the cloud; return 0."""
        from agent.demo.kept import kept_clouds

        found = tuple(kept_clouds())
        for cloud in found:
            self.app.stdout.write(f"{cloud.folder}: {', '.join(cloud.hosts)}; remove it: {_ending(cloud.folder)}\n")
        if not found:
            self.app.stdout.write("there is no demo cloud\n")
        return 0

    def _end(self, folder: str) -> int:
        """Remove the kept cloud and print its folder; return 0.

        Raises UsageError if ``folder`` has no kept cloud, or if ``folder`` is empty and several clouds are kept.
        """
        from agent.demo.kept import kept_clouds, kept_in

        named = kept_in(Path(folder)) if folder else None
        if folder and named is None:
            raise UsageError(f"there is no demo cloud in {folder}: `stocktake demo --list` lists the kept clouds")
        found = (named,) if named else tuple(kept_clouds())
        if len(found) > 1:
            self._list()
            raise UsageError(
                f"there are {len(found)} demo clouds, and none was removed: name the folder of the cloud to remove"
            )
        for cloud in found:
            cloud.end()
            self.app.stdout.write(f"removed the demo's cloud in {cloud.folder}\n")
        if not found:
            self.app.stdout.write("there is no demo cloud to remove\n")
        return 0


def _shown(command: Demo, *, keep: bool, form: str, page: str | None) -> DemoRun:
    """Build the cloud, run the agent, print the demo's stories, and return the results.

    At the end, ``standing`` removes the parts of the cloud. No signal interrupts the creation of a part, so
    ``standing`` knows every part.
    """
    from agent.cmd.demo_run import run
    from agent.demo import cloud
    from agent.demo.interruptions import Interruptions
    from agent.demo.placement import Lifetime
    from agent.demo.story_world import STORIES

    with Interruptions() as interruptions, contextlib.ExitStack() as standing:
        progress = _Progress(interruptions)
        lifetime = Lifetime.KEPT if keep else Lifetime.WITH_US
        built = cloud.build(_folder(standing), lifetime, progress, standing, interruptions, script=STORIES)
        with interruptions.allowed():
            ran = run(built, progress)
            if page is not None:
                _write_pages(page, built, ran, progress)
            if keep:
                progress("done")
                _keep(built)
                _answer(command, ran, form, _commands(built))
                _say_how_to_go_on(built)
        if keep:
            # The operator now knows how to remove the cloud, so cancel the clean-up. If printing fails, the clean-up
            # removes the cloud.
            standing.pop_all()
    if not keep:
        progress("done")
        _answer(command, ran, form, {})
    return ran


def _practice(command: Demo, faults: int, seed: int | None, form: str) -> int:
    """Build and keep a cloud with planted faults, and print how to begin; return 0."""
    from agent.cmd.practice_run import prepare, start_daemons
    from agent.demo import cloud
    from agent.demo.interruptions import Interruptions
    from agent.demo.placement import Lifetime
    from agent.demo.practice_cast import practice_script
    from agent.demo.practice_text import CLIENTS, practice_blocks, practice_document
    from agent.demo.shell_files import rc_file

    drawn = random.SystemRandom().randrange(10_000) if seed is None else seed
    # A predictable seed is safe here: no secret is drawn, and the same seed must plant the same faults again.
    draw = random.Random(drawn)
    with Interruptions() as interruptions, contextlib.ExitStack() as standing:
        progress = _Progress(interruptions)
        script = practice_script(draw)
        built = cloud.build(_folder(standing), Lifetime.KEPT, progress, standing, interruptions, script=script)
        with interruptions.allowed():
            prepare(built, faults, draw, progress)
            progress("starting the agents, which audit the hosts from now on")
            _keep(built, start_daemons(built, standing))
            document = practice_document(
                faults=faults,
                seed=drawn,
                folder=str(built.folder),
                rc={host.name: str(rc_file(built, host)) for host in built.hosts},
                end=_ending(built.folder),
                not_installed=[client for client in CLIENTS if shutil.which(client) is None],
            )
            command.answer(form, practice_blocks(document), document)
            command.app.stdout.flush()
        standing.pop_all()
    return 0


def _folder(standing: contextlib.ExitStack) -> Path:
    """Create the folder of a cloud, and register its removal."""
    from agent.demo.kept import PREFIX

    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    standing.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _keep(built: DemoCloud, agents: tuple[int, ...] = ()) -> None:
    """Write the files with which later commands find the cloud, and the files that set up a shell for each host."""
    from agent.demo.kept import Kept
    from agent.demo.shell_files import write_shell_files
    from agent.demo.volume_group import VolumeGroupRig

    devices = (group.device for group in built.groups if isinstance(group, VolumeGroupRig))
    write_shell_files(built, os.path.abspath(shutil.which(sys.argv[0]) or sys.argv[0]))
    Kept(
        folder=built.folder,
        pid=built.placement.pid,
        devices=tuple(device for device in devices if device),
        agents=agents,
        hosts=tuple(host.name for host in built.hosts),
    ).remember()


def _say_how_to_go_on(built: DemoCloud) -> None:
    from agent.demo.shell_files import rc_file

    for host in built.hosts:
        line = f". {shlex.quote(str(rc_file(built, host)))}"
        sys.stderr.write(f"before you run the printed commands on {host.name}, run: {line}\n")
    sys.stderr.write(f"the demo's cloud stays in {built.folder}; remove it: {_ending(built.folder)}\n")


def _ending(folder: Path) -> str:
    return f"{shlex.quote(_program())} demo --end {shlex.quote(str(folder))}"


def _answer(command: Demo, ran: DemoRun, form: str, commands: Mapping[str, str]) -> None:
    from agent.demo.document import demo_blocks, demo_document

    command.answer(form, demo_blocks(ran, commands), demo_document(ran, commands))
    command.app.stdout.flush()


def _write_pages(file: str, built: DemoCloud, ran: DemoRun, progress: _Progress) -> None:
    from agent.cmd.demo_pages import write_demo_pages

    progress(f"wrote the pages {', '.join(write_demo_pages(file, built, ran))}")


class _Progress:
    """Writes one line to stderr for each step.

    Writing a line raises Interrupted if a signal has arrived since the last line, or arrives while the line is written.
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
    # Show the script's name without the path if the shell would find the same script by this name in PATH.
    if found is not None and os.path.abspath(found) == os.path.abspath(called):
        return Path(called).name
    return os.path.abspath(called) if os.sep in called else called


def _commands(built: DemoCloud) -> dict[str, str]:
    """Return, for each host, the path of the program that the operator types instead of ``stocktake``."""
    from agent.demo.shell_files import command_file

    return {host.name: shlex.quote(str(command_file(built, host))) for host in built.hosts}
