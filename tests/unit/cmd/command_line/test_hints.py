"""The command that an operator is told after a word that the typed command does not take."""

from __future__ import annotations

import pytest

from agent.cmd.command_line.hints import meant
from agent.cmd.commands.findings import Findings
from agent.usage_error import UsageError

CASES = [
    ("findings", ["87897f25"], "stocktake explain 87897f25"),
    ("findings", ["--finding", "87897f25"], "stocktake explain 87897f25"),
    ("findings", ["--finding"], None),
    ("findings", ["allocation-leaked"], "stocktake findings --code allocation-leaked"),
    ("findings", ["web 1"], "stocktake findings --consumer 'web 1'"),
    ("ledger", ["web1"], "stocktake ledger --consumer web1"),
    ("heal", ["87897f25"], "stocktake heal --finding 87897f25"),
    ("heal", ["allocation-leaked"], "stocktake heal --code allocation-leaked"),
    ("audit", ["87897f25-105f-50a2-8adc-94d2fb184baa"], "stocktake explain 87897f25-105f-50a2-8adc-94d2fb184baa"),
    ("audit", ["now"], None),
    ("why", ["VCPU=64"], "stocktake why --resource VCPU=64"),
    ("why", ["64"], None),
    ("findings", ["--causs", "x"], None),
]


@pytest.mark.parametrize(("command", "words", "line"), CASES)
def test_a_wrong_argument_gives_a_hint_to_the_right_command(command, words, line):
    """`stocktake findings` does not accept a finding's id; the hint shows `stocktake explain` with the id."""
    assert meant(command, words) == line


def test_the_error_for_a_wrong_argument_contains_a_hint():
    """`stocktake findings 87897f25` fails with "did you mean stocktake explain 87897f25?"."""
    parser = Findings(None, None).get_parser("stocktake findings")
    with pytest.raises(UsageError, match=r"unexpected argument 87897f25: did you mean stocktake explain 87897f25\?"):
        parser.parse_args(["87897f25"])
