"""The completion script for bash. It needs no other package; the package bash-completion can load the script, too."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from agent.cmd.completion.words import CommandWords, OptionWords, ProgramWords, Values

_HEAD = r"""# bash completion of {program}; made by: {program} complete --shell bash
_{function}()
{{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= words= at=1 word
    COMPREPLY=()
    # bash takes "=" as a word of its own: --format=json
    if [ "$current" = = ]; then
        current=
    elif [ "$previous" = = ]; then
        previous=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    while [ "$at" -lt "$COMP_CWORD" ]; do
        word=${{COMP_WORDS[at]}}
        case $word in
            {skipped}) at=$((at + 1)) ;;
            -*) ;;
            *) command="${{command:+$command }}$word"; [ "$word" = {doubles} ] || break ;;
        esac
        case $command in *' '*) break ;; esac
        at=$((at + 1))
    done
"""
_TAIL = r"""    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -F _{function} {program}
"""
_PATHS = {Values.FILE: "-f", Values.FOLDER: "-d"}


def bash_script(program: str, words: ProgramWords) -> str:
    """Return the completion script for the program with this name."""
    function = program.replace("-", "_").replace(".", "_").replace("/", "_")
    skipped = "|".join(flag for option in words.options if option.values is not Values.NOTHING for flag in option.flags)
    doubles = ' ] || [ "$word" = '.join(words.second_words) or "''"
    head = _HEAD.format(program=program, function=function, skipped=skipped, doubles=doubles)
    return head + "\n".join((*_values(words), *_words(words))) + "\n" + _TAIL.format(program=program, function=function)


def _values(words: ProgramWords) -> Iterator[str]:
    """Yield the lines that complete the value of the option before the cursor."""
    yield '    case "$command $previous" in'
    for option in words.options:
        yield from _value("*", option)
    for command in words.commands:
        for option in command.options:
            yield from _value(shlex.quote(command.name), option)
    yield "    esac"


def _value(command: str, option: OptionWords) -> Iterator[str]:
    if option.values is Values.NOTHING:
        return
    pattern = " | ".join(f"{command}' {flag}'" for flag in option.flags)
    if option.values in _PATHS:
        action = f'mapfile -t COMPREPLY < <(compgen {_PATHS[option.values]} -- "$current"); return'
    elif option.values is Values.LISTED:
        action = f'mapfile -t COMPREPLY < <(compgen -W {_quoted(option.listed)} -- "$current"); return'
    else:
        action = "return"
    yield f"        {pattern}) {action} ;;"


def _words(words: ProgramWords) -> Iterator[str]:
    """Yield the lines that list the words that may come next."""
    yield "    case $command in"
    yield f"        '') words={_quoted(first for first, _ in words.first_words)} ;;"
    for first, seconds in words.second_words.items():
        yield f"        {first}) words={_quoted(second for second, _ in seconds)} ;;"
    for command in words.commands:
        following = _quoted((*_flags(command.options), *_operands(command)))
        yield f"        {shlex.quote(command.name)}) words={following} ;;"
    yield "    esac"
    yield f'    case $current in -*) words="$words "{_quoted(_flags(words.options))} ;; esac'


def _flags(options: Iterable[OptionWords]) -> tuple[str, ...]:
    return tuple(flag for option in options for flag in option.flags)


def _operands(command: CommandWords) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for word in command.operands for part in word.split()))


def _quoted(words: Iterable[str]) -> str:
    return "'" + " ".join(words) + "'"
