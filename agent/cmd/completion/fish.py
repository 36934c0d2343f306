"""The completion script for fish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.cmd.completion.words import CommandWords, OptionWords, ProgramWords, Values

_HEAD = r"""# fish completion of {program}; made by: {program} complete --shell fish
function __{function}_is --description 'Whether the words before the cursor are this command'
    set -l found
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case {skipped}
                set skip 1
            case '-*'
            case '*'
                set -a found $word
        end
    end
    switch "$found[1]"
        case {doubles}
            set found $found[1..2]
        case '*'
            set found $found[1]
    end
    test "$found" = "$argv"
end
complete -c {program} -f
"""
_NO_VALUE = {
    Values.NOTHING: "",
    Values.TEXT: " -x",
    Values.FILE: " -r -F",
    Values.FOLDER: " -x -a '(__fish_complete_directories)'",
}


def fish_script(program: str, words: ProgramWords) -> str:
    """Return the completion script for the program with this name."""
    function = program.replace("-", "_").replace(".", "_").replace("/", "_")
    skipped = " ".join(flag for option in words.options if option.values is not Values.NOTHING for flag in option.flags)
    doubles = " ".join(words.second_words) or "''"
    head = _HEAD.format(program=program, function=function, skipped=skipped, doubles=doubles)
    return head + "\n".join(_lines(program, f"__{function}_is", words)) + "\n"


def _lines(program: str, asks: str, words: ProgramWords) -> Iterator[str]:
    for option in words.options:
        yield f"complete -c {program}{_option(option)}"
    yield from _next_words(program, asks, words.first_words)
    for first, seconds in words.second_words.items():
        yield from _next_words(program, f"{asks} {first}", seconds)
    for command in words.commands:
        yield from _command(f"complete -c {program} -n {_single(f'{asks} {command.name}')}", command)


def _next_words(program: str, asks: str, following: Iterable[tuple[str, str]]) -> Iterator[str]:
    for word, text in following:
        yield f"complete -c {program} -n {_single(asks)} -a {word} -d {_single(text)}"


def _command(begin: str, command: CommandWords) -> Iterator[str]:
    for option in command.options:
        yield f"{begin}{_option(option)}"
    operands = dict.fromkeys(part for word in command.operands for part in word.split())
    if operands:
        yield f"{begin} -a {_single(' '.join(operands))}"


def _option(option: OptionWords) -> str:
    names = "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in option.flags)
    listed = f" -x -a {_single(' '.join(option.listed))}" if option.values is Values.LISTED else ""
    return f"{names}{listed or _NO_VALUE.get(option.values, '')} -d {_single(option.summary)}"


def _single(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
