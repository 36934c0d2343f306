"""The completion scripts complete commands, options, values and finding codes in bash, fish and zsh."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.cmd.commands.complete import program_words
from agent.cmd.completion.bash import bash_script
from agent.cmd.completion.fish import fish_script
from agent.cmd.completion.words import ProgramWords, Values
from agent.cmd.completion.zsh import zsh_script
from agent.cmd.registry import COMMANDS
from agent.cmd.shell import Shell
from agent.findings import BUILTIN
from tests.rigs.pty_screen import PtyProgram, on_terminal

# What an operator types, and the one word that the shell completes.
CASES = {
    "command": ("stocktake fin", "findings"),
    "second-word": ("stocktake config ch", "check"),
    "after-global-option": ("stocktake --config-file any.conf inv", "inventory"),
    "option": ("stocktake findings --cau", "--causes"),
    "global-option": ("stocktake heal --no-c", "--no-color"),
    "value": ("stocktake heal --format te", "text"),
    "finding-code": ("stocktake findings --code volume-g", "volume-group-missing"),
    "code-to-explain": ("stocktake explain hostname-d", "hostname-duplicated"),
}
EVERY = pytest.mark.parametrize(("typed", "word"), CASES.values(), ids=CASES)
_BASH = r"""
source "$1"
read -ra COMP_WORDS <<<"$2"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_stocktake
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def words() -> ProgramWords:
    return program_words(Shell())


def test_completion_offers_all_commands_and_finding_codes(words):
    """The Tab key in a shell completes each `stocktake` command, and each finding code after `--code`."""
    assert [each.name for each in words.commands] == [entry.name for entry in COMMANDS]
    (code,) = [o for c in words.commands if c.name == "findings" for o in c.options if "--code" in o.flags]
    assert code.values is Values.LISTED
    assert set(code.listed) == {rule.code for rule in BUILTIN}


@EVERY
def test_bash_completes_commands_and_options_and_values(tmp_path: Path, words, typed, word):
    script = tmp_path / "stocktake"
    script.write_text(bash_script("stocktake", words))
    assert _printed("bash", "--norc", "-c", _BASH, "bash", str(script), typed) == [word]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@EVERY
def test_fish_completes_commands_and_options_and_values(tmp_path: Path, words, typed, word):
    script = tmp_path / "stocktake.fish"
    script.write_text(fish_script("stocktake", words))
    ask = f"source {script}; complete -C '{typed}'"
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    lines = _printed("fish", "--no-config", "-c", ask, **home)
    assert [line.partition("\t")[0] for line in lines] == [word]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh_completes_commands_and_options_and_values(tmp_path: Path, words):
    (tmp_path / "_stocktake").write_text(zsh_script("stocktake", words))
    environment = {"PATH": os.environ["PATH"], "TERM": "vt100", "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    setup = f"PS1='> ' RPS1='' fpath=({tmp_path} $fpath); autoload -Uz compinit; compinit -u -d {tmp_path}/dump\n"
    (tmp_path / ".zshrc").write_text(setup + "print ready\n")
    with on_terminal(["zsh", "-o", "no_global_rcs", "-i"], environment, columns=160, lines=40) as zsh:
        zsh.shows("ready")
        for typed, word in CASES.values():
            _completes_in_zsh(zsh, typed, word)


def test_complete_shell_none_prints_all_commands(capsys):
    """`stocktake complete --shell none` prints all commands and subcommands, so that other programs can read them."""
    assert Shell().run(["complete", "--shell", "none"]) == 0
    out = capsys.readouterr().out
    assert "cmds='adopt audit" in out
    assert "cmds_config='check show'" in out


def _completes_in_zsh(zsh: PtyProgram, typed: str, word: str) -> None:
    # The words before the last one, then the completed word: the beginning alone is what the test typed.
    before = typed.rpartition(" ")[0]
    zsh.send(typed.encode() + b"\t")
    zsh.shows(f"> {before} {word}")
    # ^U clears the line, ^L the screen.
    zsh.send(b"\x15\x0c")


def _printed(*command: str, **environment: str) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60, env={**os.environ, **environment}
    )
    assert done.stderr == ""
    return done.stdout.splitlines()
