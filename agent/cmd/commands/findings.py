"""``stocktake findings``: list this host's current findings that pass the operator's filters."""

from __future__ import annotations

import argparse
import difflib
from types import MappingProxyType
from typing import TYPE_CHECKING

from agent.cmd.commands.base import ListCommand, Listing, argument
from agent.cmd.commands.reporting import LAST, ReportingCommand
from agent.model.finding import FindingState, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.report import AuditReport
    from agent.render.documents import Document
    from agent.render.layout import Block


class Findings(ReportingCommand, ListCommand):
    """List the findings of this host: the most urgent first, and among equals the oldest first."""

    COLUMNS = (
        *("id", "severity", "code", "state", "confirmed", "subject", "consumer_uuid", "resource_class"),
        *("provider_uuid", "first_seen_at", "last_seen_at", "caused_by", "headline", "fix"),
        *("inspect", "hand"),
    )
    HEADINGS = MappingProxyType({"sev": "severity", "who": "subject", "age": "first_seen_at"})
    ARGUMENTS = (
        argument(
            "--severity",
            action="append",
            default=[],
            choices=[each.value for each in Severity],
            help="only findings of this severity (repeatable)",
        ),
        argument("--code", action="append", default=[], metavar="CODE", help="only this finding code (repeatable)"),
        argument(
            "--state",
            action="append",
            default=[],
            choices=[each.value for each in FindingState],
            help="only findings in this state (repeatable); the state unknown means that the last audit could not "
            "check the finding",
        ),
        argument(
            "--confirmed",
            action="store_true",
            help="only findings that enough audits in a row have seen ([agent] confirm_audits)",
        ),
        argument(
            "--consumer",
            action="append",
            default=[],
            metavar="WHO",
            help="only findings about this consumer: a uuid or its first 8 characters, an instance's name, a guest's "
            "name in libvirt, or a volume as GROUP/VOLUME (repeatable)",
        ),
        argument("--causes", action="store_true", help="leave out findings that another finding causes"),
        LAST,
    )

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the findings that pass all filters, and the exit code.

        The exit code is 2 if a source was not read or a finding has the state unknown, 3 if there are findings, else 0.

        Raises UsageError on an unknown finding code, and on a consumer's name that several consumers have.
        """
        from agent.cmd.naming.consumer_names import consumer_of
        from agent.render.documents import audit_document
        from agent.render.findings_grid import finding_row, findings_grid, in_list_order
        from agent.render.reading_order import names_of

        for code in parsed_args.code:
            _require_code(code)
        report = self.report_of(parsed_args, "findings")
        consumers = frozenset(consumer_of(report, typed) for typed in parsed_args.consumer)
        found, names = audit_document(report)["findings"], names_of(report)
        shown = [each for each in in_list_order(found, names) if _passes(each, consumers, parsed_args)]
        rows = tuple(finding_row(each) for each in shown)
        grid = findings_grid(shown, names, report.started_at)
        return Listing(self.COLUMNS, rows, grid, _foot(found, shown, report.started_at)), _code(report, shown)


def _require_code(code: str) -> None:
    from agent.findings import BUILTIN
    from agent.usage_error import UsageError

    known = sorted(rule.code for rule in BUILTIN)
    if code not in known:
        near = difflib.get_close_matches(code, known, n=1)
        raise UsageError(f"unknown finding code {code}{f': did you mean {near[0]}?' if near else ''}")


def _passes(finding: Document, consumers: frozenset[str], parsed_args: argparse.Namespace) -> bool:
    from agent.render.finding_text import state_of

    return (
        (not parsed_args.severity or finding["severity"] in parsed_args.severity)
        and (not parsed_args.code or finding["code"] in parsed_args.code)
        and (not parsed_args.state or state_of(finding) in parsed_args.state)
        and (finding["confirmed"] or not parsed_args.confirmed)
        and (not consumers or bool(consumers & {finding["consumer_uuid"], finding["subject"]}))
        and not (parsed_args.causes and finding["caused_by"])
    )


def _foot(found: Sequence[Document], shown: Sequence[Document], now: str) -> tuple[Block, ...]:
    """Return the lines below the list: the number of findings, and the listed findings whose state is unknown."""
    from agent.render.finding_text import counted, unknown_lines

    count = counted(found) if found else "no findings"
    counts = count if len(shown) == len(found) else f"{len(shown)} of {count}"
    return (counts, *unknown_lines(shown, now))


def _code(report: AuditReport, shown: Sequence[Document]) -> int:
    """Return 2 if a source is unread or a listed finding has the state unknown, 3 if any finding is listed, else 0."""
    from agent.exit_codes import CLEAN, FINDINGS, REFUSED, answer_code, first_of
    from agent.model.report import Outcome
    from agent.render.finding_text import state_of

    not_known = any(state_of(each) == FindingState.UNKNOWN.value for each in shown)
    unread = not_known or not all(source.ok for source in report.sources)
    refused = REFUSED if report.outcome is Outcome.REFUSED else CLEAN
    return first_of(refused, answer_code(report, ["a source"] if unread else []), FINDINGS if shown else CLEAN)
