"""``stocktake explain WHAT``: explain a class's amounts, a finding's meaning, or the facts about a consumer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.cmd.commands.base import JSON, DocumentCommand, argument
from agent.cmd.commands.reporting import LAST, ReportingCommand

if TYPE_CHECKING:
    from agent.host_files.journal import Entry


class Explain(ReportingCommand, DocumentCommand):
    """Explain the amounts of a resource class, a finding code, one finding, or one consumer."""

    ARGUMENTS = (
        argument(
            "what",
            metavar="WHAT",
            help="a resource class (VCPU, MEMORY_MB, DISK_GB), a finding code, a finding's id, or a consumer: a uuid, "
            "an instance's name, a guest's name in libvirt, or a volume as GROUP/VOLUME; the first 8 characters of an "
            "id or uuid suffice",
        ),
        argument("-v", "--verbose", action="store_true", help="also print where the agent read each amount"),
        LAST,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return 0 if the answer is complete, 2 if the agent could not read a source that the answer needs.

        Raises UsageError (exit code 127) if WHAT names nothing that the agent knows.
        """
        from agent.cmd.naming.explain_code import code_page, page_of

        what = parsed_args.what
        page = page_of(what)
        if page is not None:
            from agent.render.page_text import page_blocks

            self.answer(parsed_args.format, page_blocks(page), code_page(what, page))
            return 0
        from agent.cmd.naming.ended import ended_words
        from agent.cmd.naming.explain_what import answer
        from agent.render.explain_text import Detail
        from agent.usage_error import UsageError

        # --verbose changes only the text: the JSON document always says from which source each amount comes.
        brief = not parsed_args.verbose and parsed_args.format != JSON
        report = self.report_of(parsed_args, "explain")
        try:
            found = answer(report, what, Detail.BRIEF if brief else Detail.SOURCES)
        except UsageError:
            if (words := ended_words(what, report.gone, self._entries())) is None:
                raise
            raise UsageError(words) from None
        self.answer(parsed_args.format, found.blocks, found.document)
        return found.code

    def _entries(self) -> tuple[Entry, ...]:
        """Return the journal's entries; () if this user cannot read the journal."""
        from agent.config.agent_options import agent_options_from
        from agent.config.load import load
        from agent.errors import SourceUnavailable
        from agent.host_files.journal import FileJournal

        options = agent_options_from(load(self.app.options.config_file, self.app.options.config_dir))
        try:
            return FileJournal(options.state_dir, now=str).read().entries
        except SourceUnavailable:
            return ()
