"""``stocktake config check``: report every problem of the configuration, one line each, without contacting a server."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.cmd.commands.base import JSON, DocumentCommand

if TYPE_CHECKING:
    from agent.config.loaded import Loaded


class ConfigCheck(DocumentCommand):
    """Check the configuration and print every problem in it."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Write each problem to stderr and return 78, or 0 if there is none. A line with "note:" is not a problem."""
        from agent.cmd.exit_handling import to_stderr
        from agent.config.build import notices
        from agent.exit_codes import CLEAN, CONFIGURATION
        from agent.render.documents import SCHEMA_VERSION

        loaded, problems = _checked(self.app.options)
        found = notices(loaded) if loaded else ()
        files = (*loaded.files, *loaded.nova_files) if loaded else ()
        for line in (*problems, *(f"note: {notice}" for notice in found)):
            to_stderr(line)
        document = {
            "schema_version": SCHEMA_VERSION,
            "ok": not problems,
            "files": list(files),
            "problems": list(problems),
            "notices": list(found),
        }
        if not problems or parsed_args.format == JSON:
            self.answer(parsed_args.format, (f"no mistakes found in {', '.join(files)}",), document)
        return CONFIGURATION if problems else CLEAN


def _checked(options: argparse.Namespace) -> tuple[Loaded | None, tuple[str, ...]]:
    from agent.config.build import check
    from agent.config.load import survey
    from agent.errors import ConfigError

    try:
        loaded = survey(options.config_file, options.config_dir)
    except ConfigError as error:
        return None, error.problems
    return loaded, check(loaded)
