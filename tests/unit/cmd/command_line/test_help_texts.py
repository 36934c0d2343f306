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


def test_each_command_has_a_help_text():
    assert sorted(HELP_TEXTS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_help_has_a_description_examples_and_exit_codes(name):
    """`stocktake COMMAND --help` has a description, examples and the exit codes, for each command."""
    said = stocktake_here(*name.split(), "--help")
    assert said.code == 0
    usage, sentence, *_ = said.stdout.split("\n\n")
    assert usage.startswith(f"usage: stocktake {name} ")
    assert sentence.strip().endswith((".", "."))
    assert said.stdout.endswith((epilog_of(name) or "none") + "\n")
    assert "plugin" not in said.stdout.lower()


@pytest.mark.parametrize("name", NAMES)
def test_each_example_in_the_help_is_a_valid_command(name):
    """The help of each `stocktake` command has 2 to 4 examples, and the command's parser accepts all of them."""
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
def test_each_exit_code_in_the_help_is_in_the_readme(name):
    """README.md has a table of exit codes, and the help of a command shows only codes from this table."""
    table = {int(code) for code in re.findall(r"^\| (\d+) \| ", (ROOT / "README.md").read_text(), re.MULTILINE)}
    codes = [code for code, _ in HELP_TEXTS[name].exits]
    assert codes == sorted(set(codes))
    assert set(codes) <= table
