"""The examples and exit codes below each command's help. A test compares the codes with the table in README.md.

A new command gets an entry here, with two to four examples. The codes 1, 78 and 127 mean the same in every command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_ANSWERED = ((0, "answered"), (2, "a source that the answer needs could not be read; the rest was printed"))
_NO_DOCUMENT = (75, "so little could be read that there is no answer")
_DIFFERENCES = (
    (0, "the answer is complete; with --diff: nothing differs from Placement"),
    (2, "a source that the answer needs could not be read; the rest was printed"),
    (3, "only with --diff: something differs from Placement"),
    _NO_DOCUMENT,
)
_FINDINGS = (
    (0, "no findings"),
    (2, "a source could not be read, so there may be more findings"),
    (3, "findings"),
    (5, "refused: another service writes this host's provider"),
)
_IN_ALL = (
    (1, "a bug"),
    (78, "a configuration error"),
    (127, "a wrong command line, an unknown or ambiguous name or id, or the id of a finding that has ended"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpText:
    """``examples``: (command line, what it does). ``exits``: (exit code, meaning) in the order of the codes."""

    examples: tuple[tuple[str, str], ...]
    exits: tuple[tuple[int, str], ...] = ((0, "done"),)


HELP_TEXTS: Mapping[str, HelpText] = {
    "adopt": HelpText(
        examples=(
            (
                "stocktake adopt",
                "print the plan and its digest; the plan makes this host use its earlier provider again",
            ),
            ("stocktake adopt --plan 4d1b0c9a7e55 --yes", "carry out the plan that has this digest"),
            ("stocktake adopt --store", "print the plan to compute DISK_GB from this host's new storage"),
        ),
        exits=(
            (0, "nothing to change"),
            (2, "a source could not be read, or the outcome of a change is not known"),
            (3, "printed a plan that changes something"),
            (4, "carried out the whole plan"),
            (5, "refused, or the plan has changed"),
        ),
    ),
    "audit": HelpText(
        examples=(
            ("stocktake audit", "print the findings; write nothing"),
            ("stocktake audit -f json", "print the result as one JSON object"),
            ("stocktake audit --publish", "also write the inventory, as the daemon does"),
        ),
        exits=(*_FINDINGS, _NO_DOCUMENT),
    ),
    "complete": HelpText(
        examples=(
            ("stocktake complete > /etc/bash_completion.d/stocktake", "install the completion for all users"),
            ("source <(stocktake complete)", "switch on the completion of commands, only in this shell (bash)"),
            ("stocktake complete --shell zsh", "print the completion for zsh; --shell fish for fish"),
        ),
    ),
    "config check": HelpText(
        examples=(
            ("stocktake config check", "check the default files; nothing is contacted"),
            ("stocktake config check --config-file new.conf", "check a file before it is installed"),
            (
                "stocktake config check --live",
                "also check whether every service, volume group and folder can be reached",
            ),
        ),
        exits=((0, "no mistakes"), (2, "with --live: a service, volume group or folder cannot be reached")),
    ),
    "config show": HelpText(
        examples=(
            ("stocktake config show", "every option with its value and its file"),
            ("stocktake config show --changed", "only the options that a file sets"),
            ("stocktake config show --group agent", "the options of one group"),
            ("stocktake config show agent.role -f json", "one option, as a JSON list"),
        ),
    ),
    "demo": HelpText(
        examples=(
            ("stocktake demo", "build a small cloud here, show six stories with it, and remove it"),
            ("stocktake demo --keep", "show the stories, and keep the cloud, to try commands on it"),
            ("stocktake demo --practice", "build and keep a cloud with five faults for you to find and repair"),
            ("stocktake demo --html demo.html", "also write HTML pages of the fleet and of each host"),
        ),
        exits=(
            (0, "showed all six stories; or built, listed or removed a cloud"),
            (1, "a story could not be shown"),
        ),
    ),
    "explain": HelpText(
        examples=(
            ("stocktake explain VCPU", "how the amounts of a resource class are computed"),
            ("stocktake explain web-1", "everything about one consumer"),
            ("stocktake explain allocation-leaked", "what a finding code means and what to do"),
            ("stocktake explain 87897f25", "one finding, or one consumer, by the beginning of its id"),
        ),
        exits=(*_ANSWERED, _NO_DOCUMENT),
    ),
    "findings": HelpText(
        examples=(
            ("stocktake findings", "every finding, the most urgent first"),
            ("stocktake findings --causes --severity error", "the errors that are not a symptom of another finding"),
            ("stocktake findings --consumer web-1", "what is wrong with one consumer"),
            ("stocktake findings --last", "the findings of the daemon's last audit, without a new audit"),
        ),
        exits=(
            (0, "no finding passes the filters"),
            (2, "a source could not be read, or a listed finding could not be checked"),
            (3, "findings"),
            (5, "refused: another service writes this host's provider"),
            _NO_DOCUMENT,
        ),
    ),
    "heal": HelpText(
        examples=(
            ("stocktake heal", "print the plan and its digest"),
            ("stocktake heal --finding 87897f25", "the plan for one finding"),
            (
                "stocktake heal --code allocation-leaked",
                "print a plan for the findings with one code, for at most [heal] max_consumers consumers",
            ),
            ("stocktake heal --plan 4d1b0c9a7e55 --yes", "carry out the plan that has this digest"),
        ),
        exits=(
            (0, "nothing to change now"),
            (2, "a source could not be read, or the outcome of a change is not known"),
            (3, "printed a plan that changes something"),
            (4, "carried out the whole plan"),
            (5, "a guard rail forbade a requested repair, or the plan is out of date"),
            (75, "the named finding must wait (try again later), or too little could be read for a plan"),
        ),
    ),
    "help": HelpText(
        examples=(
            ("stocktake help", "list all commands"),
            ("stocktake help heal", "the help of one command"),
        ),
        exits=((0, "printed"),),
    ),
    "inventory": HelpText(
        examples=(
            ("stocktake inventory", "what the agent wants in Placement, with used and free amounts"),
            ("stocktake inventory --diff", "compare that with what Placement records"),
        ),
        exits=_DIFFERENCES,
    ),
    "journal": HelpText(
        examples=(
            ("stocktake journal", "every change, oldest first"),
            ("stocktake journal --since 36h --limit 20", "the newest changes"),
            ("stocktake journal --code allocation-leaked", "only the repairs of one finding code"),
            ("stocktake journal -f json", "every change as JSON, with the state before and after the change"),
        ),
        exits=((0, "answered"), (2, "a line of the journal could not be read; the others were printed")),
    ),
    "ledger": HelpText(
        examples=(
            ("stocktake ledger", "every consumer: what nova, the host and Placement count"),
            ("stocktake ledger --only-differing", "only the rows in which something may be wrong"),
            ("stocktake ledger --consumer web-1", "one consumer, by its name, uuid or GROUP/VOLUME"),
            ("stocktake ledger --storage --last", "who owns each byte, from the daemon's last audit"),
        ),
        exits=(*_ANSWERED, _NO_DOCUMENT),
    ),
    "report": HelpText(
        examples=(
            ("stocktake report --html host.html", "run an audit and write the page about this host"),
            ("stocktake report --html host.html --last", "the page of the daemon's last audit, without a new audit"),
            ("stocktake report --html - --last > host.html", "the same page on stdout"),
            ("stocktake report --html fleet.html --fleet reports", "the page of all hosts, from their report files"),
        ),
        exits=(
            (0, "wrote the page"),
            (2, "wrote the page; the page names the source or file that could not be read"),
            (75, "so little could be read that there is no page, or the file cannot be written"),
        ),
    ),
    "status": HelpText(
        examples=(
            ("stocktake status", "print the daemon's last report; send no request to nova or Placement"),
            ("stocktake status -f json", "print this report as one JSON object"),
            ("stocktake status --check", "one line for Nagios, with Nagios' exit codes 0, 1, 2 and 3"),
        ),
        exits=(*_FINDINGS, (75, "there is no report")),
    ),
    "traits": HelpText(
        examples=(
            ("stocktake traits", "each trait of this host's providers, and who decides about it"),
            ("stocktake traits --diff", "only the traits that the agent would add or remove"),
        ),
        exits=_DIFFERENCES,
    ),
    "undo": HelpText(
        examples=(
            ("stocktake undo 3f9c", "undo the journal entry whose id begins with 3f9c"),
            ("stocktake undo 3f9c -f json", "the same, with the outcome as one JSON object"),
        ),
        exits=(
            (0, "undone"),
            (2, "a source could not be reached, or the outcome is not known"),
            (5, "refused"),
        ),
    ),
    "watch": HelpText(
        examples=(
            ("stocktake watch", "all hosts that are not clean, the worst first; q quits"),
            ("stocktake watch --html fleet.html", "also write the fleet's page, and rewrite it every 60 s"),
            (
                "stocktake watch --once --fail-on error,never",
                "print once; exit code 3 if a host has an error or has never sent a message",
            ),
            ("stocktake watch --cell a=a.conf --cell b=b.conf", "two cells, each with a broker of its own"),
        ),
        exits=(
            (0, "the operator pressed q; with --once: the hosts were printed"),
            (
                2,
                'only with --once: no agent answered; or --fail-on has the condition "never", and the list of expected '
                "hosts could not be read",
            ),
            (3, "only with --once: a condition of --fail-on holds"),
            (75, "the message bus cannot be reached; with --once: one of the brokers cannot be reached"),
        ),
    ),
    "why": HelpText(
        examples=(
            ("stocktake why --resource VCPU=64", "would this host take 64 VCPU in one request?"),
            ("stocktake why --flavor-of web-1 --everywhere", "would any host take another instance like web-1?"),
            (
                "stocktake why --query 'resources=VCPU:4'",
                "would this host take this request? (copy a request from nova-scheduler's log)",
            ),
        ),
        exits=(
            (0, "the request fits"),
            (2, "a source could not be read, so the answer is incomplete"),
            (3, "the request does not fit"),
            (75, "Placement could not be read"),
        ),
    ),
}


def epilog_of(name: str) -> str | None:
    """Return the examples and exit codes for the command's help, None if HELP_TEXTS lacks the command."""
    text = HELP_TEXTS.get(name)
    return None if text is None else "\n".join((*_examples(text), "", "exit codes:", *_exits(text)))


def exits_of(name: str) -> list[tuple[int, str]]:
    """Return the exit codes of the command, sorted, as pairs of code and meaning.

    The codes that mean the same in every command are included.
    """
    return _every_exit(HELP_TEXTS[name])


def _examples(text: HelpText) -> tuple[str, ...]:
    width = max(len(line) for line, _ in text.examples)
    return ("examples:", *(f"  {line:<{width}}  {what}" for line, what in text.examples))


def _exits(text: HelpText) -> tuple[str, ...]:
    return tuple(f"  {code:>3}  {meaning}" for code, meaning in _every_exit(text))


def _every_exit(text: HelpText) -> list[tuple[int, str]]:
    return sorted({**dict(_IN_ALL), **dict(text.exits)}.items())
