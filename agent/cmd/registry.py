"""List every command of ``stocktake`` with its help text. A new command needs a module and a line in COMMANDS.

The commands are not entry points. To find entry points, cliff would scan every installed distribution, and to print the
help cliff would import and build every command. This module imports a command only when the command runs.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass

from cliff.command import Command
from cliff.commandmanager import CommandManager

PACKAGE = "agent.cmd.commands"


@dataclass(frozen=True, slots=True)
class Entry:
    """One command, in the form of an entry point for cliff.

    The name determines the class: command ``config check`` is the class ConfigCheck in config_check.py.
    """

    name: str
    summary: str

    @property
    def value(self) -> str:
        """The location of the command's class as ``module:class``, for load() and for cliff's messages."""
        return f"{PACKAGE}.{self.name.replace(' ', '_')}:{self.name.title().replace(' ', '')}"

    def load(self) -> type[Command]:
        """Import the module and return the command's class."""
        module, _, name = self.value.partition(":")
        found: type[Command] = getattr(importlib.import_module(module), name)
        return found


COMMANDS = (
    Entry(
        "adopt",
        "let a renamed or reinstalled host keep its Placement provider: print a plan, or carry out a plan with "
        "--plan DIGEST --yes",
    ),
    Entry("audit", "run one audit and print its findings; --publish: also write the inventory"),
    Entry("complete", "print a script that completes this program's commands in bash, zsh or fish"),
    Entry("config check", "check the configuration and print every problem in it"),
    Entry("config show", "print the value of every option, and the file that sets it"),
    Entry("demo", "build a small cloud with real problems in it, and run the agent on it"),
    Entry("explain", "explain in words how the amounts of one resource class or one consumer are computed"),
    Entry("findings", "list the current findings of this host, filtered by severity, code, state or consumer"),
    Entry("heal", "repair confirmed findings: print the plan; --plan DIGEST --yes: carry it out"),
    Entry("help", "print the help of one command, or the list of all commands"),
    Entry("inventory", "print the inventory that the agent wants; --diff: compare it with Placement's inventory"),
    Entry("journal", "print every change that heal, undo and adopt made; with -f json also the former values"),
    Entry(
        "ledger", "print each consumer's amounts according to nova (promised), the host (held) and Placement (recorded)"
    ),
    Entry("report", "write an HTML page about this host: findings, capacity, storage, time line"),
    Entry("status", "print the daemon's last audit report"),
    Entry("traits", "print the traits of this host's providers; --diff: only the traits to add or remove"),
    Entry("undo", "undo one change that stocktake made: give the id that stocktake journal prints"),
    Entry("watch", "show all hosts live, from the agents' messages on the broker"),
    Entry("why", 'explain "No valid host": what refuses a request, and the smallest change that makes it fit'),
)


class Commands(CommandManager):
    """cliff's command manager, filled from the explicit list COMMANDS."""

    def __init__(self) -> None:
        # The namespace "" means that cliff loads no plugins. cliff before 4.13 (OpenStack 2026.1) requires it.
        super().__init__("")
        for entry in COMMANDS:
            self.commands[entry.name] = entry  # type: ignore[assignment]  # cliff uses only name, value and load()

    def add_command(self, name: str, command_class: type[Command]) -> None:
        """Do nothing. cliff's App calls this to add cliff's ``help`` and ``complete``, but COMMANDS defines both."""


def summaries() -> str:
    """Return the list of commands for ``--help``, one line each."""
    width = max(len(entry.name) for entry in COMMANDS)
    return "".join(f"  {entry.name:<{width}}  {entry.summary}\n" for entry in COMMANDS)


def parts_of(word: str) -> tuple[str, ...]:
    """Return the names of the two-word commands whose first word is ``word``; an empty tuple if there are none."""
    return tuple(entry.name for entry in COMMANDS if entry.name.startswith(f"{word} "))


def nearest(words: Iterable[str]) -> str | None:
    """Return the command whose name is most similar to these words, None if no name is similar."""
    names = [entry.name for entry in COMMANDS]
    typed = list(words)
    near = (difflib.get_close_matches(text, names, n=1) for text in (" ".join(typed[:2]), *typed[:1]))
    return next((found[0] for found in near if found), None)
