"""``stocktake config show``: every value in force, and which file it came from; secrets are masked."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import ListCommand, Listing


class ConfigShow(ListCommand):
    """Every value in force, and the file that it came from."""

    COLUMNS = ("group", "option", "value", "origin")

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing | None, int]:  # noqa: ARG002 - the base's
        """Raises ConfigError where a file or a value cannot be read."""
        from agent.config.load import load
        from agent.exit_codes import CLEAN

        loaded = load(self.app.options.config_file, self.app.options.config_dir)
        rows = tuple(tuple(row) for row in loaded.rows())
        return Listing(self.COLUMNS, rows, self.COLUMNS, rows), CLEAN
