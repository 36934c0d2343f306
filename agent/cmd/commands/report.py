"""``stocktake report``: write an HTML page about this host or the fleet, for people without a shell on the host."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING

from agent.cmd.commands.base import BaseCommand, argument
from agent.cmd.commands.reporting import LAST

if TYPE_CHECKING:
    from agent.pages.host.facts import HostFacts


class Report(BaseCommand):
    """Write one HTML file about this host, or with --fleet about all hosts. Nothing is changed."""

    ARGUMENTS = (
        argument(
            "--html",
            metavar="FILE",
            required=True,
            help="write the page to this file, readable only by its owner, or to stdout if FILE is -",
        ),
        LAST,
        argument(
            "--fleet",
            metavar="DIR",
            help="write the page of all hosts whose reports are in this folder: each file *.json in the folder and "
            "each report.json in its subfolders; the command reads no other source",
        ),
        argument(
            "--expected",
            metavar="FILE",
            help="with --fleet: file of the hosts that should have a report, one host per line, optionally followed "
            "by the host's group",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Write the page and return 0, or 2 if the page is incomplete because a source or a row could not be read.

        Raises NoDocument or AgentError (exit code 75) if there is nothing to show, SourceUnavailable (exit code 75) if
        the file cannot be written, UsageError if the options contradict each other.
        """
        if parsed_args.fleet is not None:
            return self._fleet(parsed_args)
        if parsed_args.expected is not None:
            from agent.usage_error import UsageError

            raise UsageError("--expected needs --fleet")
        return self._host(parsed_args)

    def _host(self, parsed_args: argparse.Namespace) -> int:
        from agent.exit_codes import CLEAN, PARTIAL
        from agent.pages.host.page import host_page
        from agent.pages.output import STDOUT, write_page
        from agent.pages.render import rendered
        from agent.text.wording import printable

        facts, code = self._from_daemon() if parsed_args.last else self._from_audit()
        page = rendered(host_page(facts))
        write_page(parsed_args.html, page, self.app.stdout)
        if parsed_args.html != STDOUT:
            self.app.stdout.write(f"wrote {printable(parsed_args.html)}, {len(page.encode())} bytes\n")
        is_whole = not (facts.unread_sources or facts.unread or facts.problems) and facts.report.own_files_read
        return code or (CLEAN if is_whole else PARTIAL)

    def _fleet(self, parsed_args: argparse.Namespace) -> int:
        """Write the page of the fleet; return 2 if a file of the folder is not a report, or if there is no report."""
        from agent.cmd.fleet_facts import facts_of_folder
        from agent.exit_codes import CLEAN, PARTIAL
        from agent.pages.fleet.page import fleet_page
        from agent.pages.output import write_page
        from agent.pages.render import rendered
        from agent.usage_error import UsageError

        if parsed_args.last:
            raise UsageError("--last is about this host: leave out --last or --fleet")
        facts = facts_of_folder(parsed_args.fleet, parsed_args.expected)
        write_page(parsed_args.html, rendered(fleet_page(facts)), self.app.stdout)
        is_whole = bool(facts.details) and not facts.unreadable
        return CLEAN if is_whole else PARTIAL

    def _from_audit(self) -> tuple[HostFacts, int]:
        from agent.cmd.audited import audited
        from agent.cmd.report_facts import facts_of
        from agent.render.documents import report_document

        report = audited(self.app.options, "report")
        return facts_of(self.app.options, report, report_document(report), _now()), 0

    def _from_daemon(self) -> tuple[HostFacts, int]:
        from agent.cmd.daemon_report import last_saved
        from agent.cmd.exit_handling import to_stderr
        from agent.cmd.report_facts import facts_of
        from agent.cmd.unread import unread_lines

        saved = last_saved(self.app.options)
        for line in unread_lines(saved.report, None):
            to_stderr(line)
        return facts_of(self.app.options, saved.report, saved.document, _now(), saved), saved.code


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat()
