"""The completion script for zsh: the operator stores the script as the file _stocktake in a folder of fpath."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.cmd.completion.words import CommandWords, OptionWords, ProgramWords, Values

# The loop finds the command among the typed words. It passes over options and their values. {skipped} are the options
# that take a value, {doubles} the first words of commands that have two words.
_HEAD = r"""#compdef {program}
# zsh completion of {program}; made by: {program} complete --shell zsh
_{function}() {{
  local word skip= command=
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    if [[ -n $skip ]]; then skip=; continue; fi
    case $word in
      ({skipped}) skip=1 ;;
      (-*) ;;
      (*) command="${{command:+$command }}$word"; [[ $word == ({doubles}) ]] || break ;;
    esac
    [[ $command == *' '* ]] && break
  done
  local -a always=(
{always}
  )
  local -a commands
"""
_TAIL = r"""}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _{function} "$@"
else
  compdef _{function} {program}
fi
"""
_PATHS = {Values.FILE: "_files", Values.FOLDER: "_files -/"}


def zsh_script(program: str, words: ProgramWords) -> str:
    """Return the completion script for the program with this name."""
    function = program.replace("/", "_")
    skipped = "|".join(flag for option in words.options if option.values is not Values.NOTHING for flag in option.flags)
    doubles = "|".join(words.second_words) or "''"
    always = "\n".join(f"    {spec}" for option in words.options for spec in _specs(option))
    head = _HEAD.format(program=program, function=function, skipped=skipped, doubles=doubles, always=always)
    return head + "\n".join(_cases(words)) + "\n" + _TAIL.format(program=program, function=function)


def _cases(words: ProgramWords) -> Iterator[str]:
    yield "  case $command in"
    yield from _next_word("''", words.first_words)
    for first, seconds in words.second_words.items():
        yield from _next_word(first, seconds)
    for command in words.commands:
        yield from _command(command)
    yield "  esac"


def _next_word(pattern: str, following: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"    ({pattern})"
    yield "      if [[ $words[CURRENT] == -* ]]; then _arguments -S $always '*: :()'; return; fi"
    yield "      commands=("
    yield from (f"        {_single(f'{word}:{_colons(text)}')}" for word, text in following)
    yield "      )"
    yield "      _describe -t commands command commands ;;"


def _command(command: CommandWords) -> Iterator[str]:
    yield f"    ({_single(command.name)})"
    specs = [spec for option in command.options for spec in _specs(option)]
    # The pattern "*:" (any number of arguments) is always needed: for zsh, even the command's name is an argument. If
    # the operands are unknown, their list is empty. zsh then offers nothing and prints no message.
    operands = dict.fromkeys(part for word in command.operands for part in word.split())
    specs.append(_single(f"*: :({' '.join(operands)})"))
    yield " ".join(("      _arguments -S $always", *specs, ";;"))


def _specs(option: OptionWords) -> Iterator[str]:
    value = ""
    if option.values is not Values.NOTHING:
        action = f"({' '.join(option.listed)})" if option.values is Values.LISTED else _PATHS.get(option.values, "")
        value = f":value:{action}"
    for flag in option.flags:
        yield _single(f"*{flag}[{_brackets(option.summary)}]{value}")


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _colons(text: str) -> str:
    return text.replace(":", "\\:")


def _brackets(text: str) -> str:
    return text.replace("[", "\\[").replace("]", "\\]")
