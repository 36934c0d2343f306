"""The help of each command: a sentence, examples that parse, exit codes as in README.md."""

import re
import shlex

import pytest

from agent.cmd.command_line.help_texts import HELP_TEXTS, epilog_of
from agent.cmd.registry import COMMANDS
from agent.cmd.shell import Shell
from tests.rigs.commands import stocktake_here
from tests.rigs.source_tree import ROOT

NAMES = [entry.name for entry in COMMANDS]


def test_each_command_has_an_entry_in_the_table_of_help_texts():
    assert sorted(HELP_TEXTS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_has_a_description_and_examples_and_exit_codes(name):
    said = stocktake_here(*name.split(), "--help")
    assert said.code == 0
    usage, sentence, *_ = said.stdout.split("\n\n")
    assert usage.startswith(f"usage: stocktake {name} ")
    assert sentence.strip().endswith((".", "."))
    assert said.stdout.endswith((epilog_of(name) or "none") + "\n")
    assert "plugin" not in said.stdout.lower()


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_has_2_to_4_examples_that_its_parser_accepts(name):
    examples = HELP_TEXTS[name].examples
    assert 2 <= len(examples) <= 4
    for line, _ in examples:
        words = shlex.split(line.removeprefix("source <(").split(" > ")[0].rstrip(")"), comments=True)
        assert words[0] == "stocktake"
        shell = Shell()
        shell.options, rest = shell.parser.parse_known_args(words[1:])
        command, found, arguments = shell.found(rest)
        assert found == name
        command.get_parser(f"stocktake {name}").parse_args(arguments)


@pytest.mark.parametrize("name", NAMES)
def test_each_exit_code_in_the_help_of_a_command_is_in_the_table_of_the_readme(name):
    table = {int(code) for code in re.findall(r"^\| (\d+) \| ", (ROOT / "README.md").read_text(), re.MULTILINE)}
    codes = [code for code, _ in HELP_TEXTS[name].exits]
    assert codes == sorted(set(codes))
    assert set(codes) <= table
