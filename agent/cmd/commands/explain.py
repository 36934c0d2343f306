"""``stocktake explain WHAT``: explain a class's amounts, a finding's meaning, or the facts about a consumer."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import JSON, DocumentCommand, argument
from agent.cmd.commands.reporting import LAST, ReportingCommand


class Explain(ReportingCommand, DocumentCommand):
    """Explain the amounts of a resource class, a finding code, one finding, or one consumer."""

    ARGUMENTS = (
        argument(
            "what",
            metavar="WHAT",
            help="a resource class (VCPU, MEMORY_MB, DISK_GB), a finding code, a finding's id, or a consumer: a uuid, "
            "an instance's name, a guest's name in libvirt, or a volume as GROUP/VOLUME; the first 8 characters of an "
            "id suffice",
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
        from agent.cmd.naming.explain_what import answer
        from agent.render.explain_text import Detail

        # --verbose is for the text: the JSON document always says from which source each amount comes.
        brief = not parsed_args.verbose and parsed_args.format != JSON
        found = answer(self.report_of(parsed_args, "explain"), what, Detail.BRIEF if brief else Detail.SOURCES)
        self.answer(parsed_args.format, found.blocks, found.document)
        return found.code
