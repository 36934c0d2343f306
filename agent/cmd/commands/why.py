"""``stocktake why``: find the constraint that refuses a request, and the smallest change that would help."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.cmd.commands.base import JSON, DocumentCommand, argument

if TYPE_CHECKING:
    from agent.cmd.why_run import Question

MOST_CELLS = 1024


class _Once(argparse.Action):
    """Stores the value of an option and rejects a second value. argparse itself would silently use the last value."""

    def __call__(
        self, _parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, *_: object
    ) -> None:
        """Store the value. Raises ArgumentError if the option was already given."""
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice")
        setattr(namespace, self.dest, values)


def _cells(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= MOST_CELLS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a number of NUMA cells from 1 to {MOST_CELLS}")


def _page(text: str) -> int | str:
    if text == "large":
        return text
    if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a page size: give KiB, such as 2048, or the word large")


_SEVERAL = (
    ("--resource", "CLASS=AMOUNT", "the requested amount of a resource class (repeatable)"),
    ("--required", "TRAITS", "required traits: T (one), T1,T2 (both) or in:T1,T2 (any of them); repeatable"),
    ("--forbidden", "TRAITS", "forbidden traits: T or T1,T2 (repeatable)"),
    ("--member-of", "AGGREGATES", "uuids of aggregates: A, in:A,B (any of them) or !A (not in A); repeatable"),
)
_ONCE = (
    ("--in-tree", "UUID", "uuid of a provider; only the tree of this provider may serve the request"),
    ("--query", "QUERY", "the whole request as Placement's query string, as nova-scheduler logs it"),
    (
        "--flavor-of",
        "INSTANCE",
        "take the request from this instance's flavor; --resource overrides the flavor's amount",
    ),
)


class Why(DocumentCommand):
    """Explain "No valid host": what refuses a request on this host or in the whole cloud, and what would help."""

    ARGUMENTS = (
        *(argument(name, metavar=form, help=what, action="append", default=[]) for name, form, what in _SEVERAL),
        *(argument(name, metavar=form, help=what, action=_Once) for name, form, what in _ONCE),
        argument(
            "--everywhere",
            action="store_true",
            help="check every provider tree of the cloud; exit with 0 if the request fits on one of the trees",
        ),
        argument(
            "--numa-nodes",
            type=_cells,
            action=_Once,
            metavar="N",
            help="also check that N guest NUMA cells fit on this host (hw:numa_nodes)",
        ),
        argument(
            "--page-size",
            type=_page,
            action=_Once,
            metavar="KIB",
            help="the guest's page size (hw:mem_page_size): 2048, 1048576, or large (any size above the smallest)",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the answer and return the exit code: 0 the request fits, 3 it does not fit, 2 the answer is incomplete.

        Raises UsageError (exit code 127) on bad input, PlacementUnavailable (exit code 75) if Placement cannot be read.
        """
        from agent.cmd.exit_handling import to_stderr
        from agent.cmd.why_run import answered, code_of
        from agent.why.json import document
        from agent.why.text import lines

        report = answered(self.app.options, _question(parsed_args))
        # The text answer itself says what could not be read. With JSON, the command also says this on stderr.
        for line in report.unknown if parsed_args.format == JSON else ():
            to_stderr(f"some data could not be read: {line}")
        self.answer(parsed_args.format, lines(report, self.wrapping_width()), document(report))
        return code_of(report)


def _question(parsed_args: argparse.Namespace) -> Question:
    from agent.cmd.why_run import Question
    from agent.why.parse_request import Words

    words = Words(
        resources=tuple(parsed_args.resource),
        required=tuple(parsed_args.required),
        forbidden=tuple(parsed_args.forbidden),
        member_of=tuple(parsed_args.member_of),
        in_tree=parsed_args.in_tree,
        query=parsed_args.query,
    )
    return Question(
        words=words,
        flavor_of=parsed_args.flavor_of,
        everywhere=parsed_args.everywhere,
        numa_nodes=parsed_args.numa_nodes,
        page=parsed_args.page_size,
    )
