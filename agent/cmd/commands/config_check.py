"""``stocktake config check``: report every problem of the configuration, one line each.

With ``--live``, the command also asks every service and folder that the agent uses (such as Placement, libvirt or the
state directory) whether it answers.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from agent.cmd.commands.base import JSON, DocumentCommand, argument
from agent.render.layout import Block, Column, Grid, Kind

if TYPE_CHECKING:
    from agent.cmd.probes.probe import Answer
    from agent.config.loaded import Loaded

_COLUMNS = (
    Column("ok", "OK", toned=True),
    Column("what", "WHAT"),
    Column("took_ms", "MS", Kind.NUMBER),
    Column("words", "WORDS", Kind.TEXT),
)


class ConfigCheck(DocumentCommand):
    """Check the configuration and print every problem in it."""

    ARGUMENTS = (
        argument(
            "--live",
            action="store_true",
            help="if the configuration has no problem, also try to reach Keystone, Placement, the source of nova's "
            "data, libvirt, the volume groups, the broker and the agent's folders; each try takes at most 10 s and "
            "changes nothing",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Write each problem to stderr. Return 78 if there is a problem, 2 if a probe of ``--live`` fails, else 0.

        A line that begins with "note:" is not a problem and does not change the code.
        """
        from agent.cmd.exit_handling import to_stderr
        from agent.config.build import notices
        from agent.exit_codes import CLEAN, CONFIGURATION, PARTIAL
        from agent.render.documents import SCHEMA_VERSION

        loaded, problems = _checked(self.app.options)
        found = notices(loaded) if loaded else ()
        files = (*loaded.files, *loaded.nova_files) if loaded else ()
        for line in (*problems, *(f"note: {notice}" for notice in found)):
            to_stderr(line)
        live = _live(self.app.options, loaded) if parsed_args.live and loaded and not problems else None
        document = {
            "schema_version": SCHEMA_VERSION,
            "ok": not problems,
            "files": list(files),
            "problems": list(problems),
            "notices": list(found),
            "live": None if live is None else [dataclasses.asdict(each) for each in live],
        }
        if not problems or parsed_args.format == JSON:
            self.answer(parsed_args.format, _blocks(files, live), document)
        if problems:
            return CONFIGURATION
        return PARTIAL if any(not each.ok for each in live or ()) else CLEAN


def _checked(options: argparse.Namespace) -> tuple[Loaded | None, tuple[str, ...]]:
    from agent.config.build import check
    from agent.config.load import survey
    from agent.errors import ConfigError

    try:
        loaded = survey(options.config_file, options.config_dir)
    except ConfigError as error:
        return None, error.problems
    return loaded, check(loaded)


def _live(options: argparse.Namespace, loaded: Loaded) -> tuple[Answer, ...]:
    """Run all probes (agent/cmd/probes) and return their answers. The libraries' log lines about retries are hidden."""
    from agent.cmd.audited import command_logging
    from agent.cmd.probes import probes_for
    from agent.cmd.probes.probe import LIMIT_S, answers
    from agent.cmd.waits.progress import waits_shown

    command_logging(options, loaded)
    probes = probes_for(loaded)
    with waits_shown(options) as watch, watch(f"the results of {len(probes)} live checks", LIMIT_S):
        return answers(probes)


def _blocks(files: tuple[str, ...], live: tuple[Answer, ...] | None) -> tuple[Block, ...]:
    no_mistakes = (
        f"no mistakes found in {', '.join(files)}" if files else "no mistakes found (there is no configuration file)"
    )
    if live is None:
        return (f"{no_mistakes}; nothing was contacted",)
    rows = (("ok" if each.ok else "FAILS", each.what, f"{each.took_ms:.0f}", each.words) for each in live)
    return (no_mistakes, Grid(columns=_COLUMNS, rows=tuple(rows)))
