"""``stocktake config show``: the value of every option and the file that sets it, with secrets masked."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.cmd.commands.base import ListCommand, Listing, argument

if TYPE_CHECKING:
    from agent.config.loaded import ConfigRow, Loaded


class ConfigShow(ListCommand):
    """Print the value of every option, and the file that sets it."""

    COLUMNS = ("group", "option", "value", "origin")
    ARGUMENTS = (
        argument("option", nargs="?", metavar="OPTION", help="show only this option, such as role or agent.role"),
        argument("--group", metavar="G", help="show only the options of this group, such as agent"),
        argument("--changed", action="store_true", help="show only options that a file sets"),
    )

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return one row per option.

        Raises ConfigError if a file or a value cannot be read, UsageError on an unknown group or option.
        """
        from agent.config.load import load
        from agent.exit_codes import CLEAN
        from agent.render.config_grid import config_grid

        loaded = load(self.app.options.config_file, self.app.options.config_dir)
        rows = loaded.rows()
        if parsed_args.group:
            rows = _of_group(rows, parsed_args.group)
        if parsed_args.option:
            rows = _of_option(rows, parsed_args.option)
        if parsed_args.changed:
            rows = _changed(rows)
        foot = () if rows else ("no file sets an option that you asked for",)
        return Listing(self.COLUMNS, rows, config_grid(rows, _in_effect(loaded)), foot), CLEAN


def _in_effect(loaded: Loaded) -> dict[tuple[str, str], str]:
    """Return the values that the agent uses for unset options, by group and option; {} for a wrong configuration."""
    from agent.config.options.state import state_options_from
    from agent.errors import ConfigError

    try:
        state = state_options_from(loaded)
    except ConfigError:
        return {}
    source = {("state", "source"): state.kind.value}
    return {**source, ("state", "connection"): "nova.conf's [database] connection"} if state.connection else source


def _of_group(rows: tuple[ConfigRow, ...], group: str) -> tuple[ConfigRow, ...]:
    wanted = group.strip("[]")
    return tuple(row for row in rows if row.group == wanted) or _refuse("group", group, (row.group for row in rows))


def _of_option(rows: tuple[ConfigRow, ...], option: str) -> tuple[ConfigRow, ...]:
    """Return the rows of the option; ``option`` is ``NAME``, ``GROUP.NAME`` or ``[GROUP] NAME``."""
    wanted = option.replace("[", "").replace("] ", ".").replace("-", "_")
    found = tuple(row for row in rows if wanted in (row.option, f"{row.group}.{row.option}"))
    return found or _refuse("option", option, (row.option for row in rows))


def _changed(rows: tuple[ConfigRow, ...]) -> tuple[ConfigRow, ...]:
    from agent.config.loaded import DEFAULT_ORIGIN

    return tuple(row for row in rows if row.origin != DEFAULT_ORIGIN)


def _refuse(what: str, typed: str, known: Iterable[str]) -> tuple[ConfigRow, ...]:
    from agent.usage_error import UsageError

    near = difflib.get_close_matches(typed, sorted(set(known)), n=1)
    hint = f": did you mean {near[0]}?" if near else "; `stocktake config show` lists all options"
    raise UsageError(f"unknown {what} {typed}{hint}")
