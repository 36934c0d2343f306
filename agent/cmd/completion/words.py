"""Read from the parsers the words that a shell can complete: commands, options, and the values of options."""

from __future__ import annotations

import argparse
import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


class Values(enum.Enum):
    """What follows an option: nothing, one of the listed words, a file, a folder, or a text without completion."""

    NOTHING = enum.auto()
    LISTED = enum.auto()
    FILE = enum.auto()
    FOLDER = enum.auto()
    TEXT = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionWords:
    """One option: ``flags`` are its spellings, ``listed`` are the words that may follow the option."""

    flags: tuple[str, ...]
    summary: str
    values: Values
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWords:
    """One command: ``operands`` are the words that can be typed as the command's positional arguments."""

    name: str
    summary: str
    options: tuple[OptionWords, ...]
    operands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramWords:
    """The whole program: the options that every command takes, and the commands."""

    options: tuple[OptionWords, ...]
    commands: tuple[CommandWords, ...]

    @property
    def first_words(self) -> tuple[tuple[str, str], ...]:
        """The first words of all commands, as pairs (first word, the command's summary).

        For a word that begins several commands, the summary lists the commands.
        """
        found: dict[str, str] = {}
        for command in self.commands:
            first, _, second = command.name.partition(" ")
            if second:
                parts = [each.name.partition(" ")[2] for each in self.commands if each.name.startswith(f"{first} ")]
                found.setdefault(first, " or ".join(parts))
            else:
                found[first] = command.summary
        return tuple(found.items())

    @property
    def second_words(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """The commands that have two words. Maps each first word to pairs: (second word, the command's summary)."""
        pairs = [(each.name.partition(" "), each.summary) for each in self.commands if " " in each.name]
        firsts = dict.fromkeys(first for (first, _, _), _ in pairs)
        return {word: tuple((second, text) for (first, _, second), text in pairs if first == word) for word in firsts}


_FILES = frozenset({"FILE"})
_FOLDERS = frozenset({"DIR"})


def options_of(parser: argparse.ArgumentParser, codes: tuple[str, ...]) -> tuple[OptionWords, ...]:
    """Return the parser's options. ``codes`` are the finding codes: an option with metavar CODE takes one of them."""
    return tuple(_option(action, codes) for action in parser._actions if action.option_strings)


def operands_of(parser: argparse.ArgumentParser, codes: tuple[str, ...], commands: Iterable[str]) -> tuple[str, ...]:
    """Return the known words that the operator can type for the parser's positional arguments."""
    known = {"WHAT": codes, "COMMAND": tuple(commands)}
    return tuple(_operands(parser, known))


def _operands(parser: argparse.ArgumentParser, known: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for action in parser._actions:
        if not action.option_strings:
            yield from known.get(str(action.metavar), ())


def _option(action: argparse.Action, codes: tuple[str, ...]) -> OptionWords:
    listed = tuple(map(str, action.choices or ()))
    if action.metavar == "CODE":
        listed = codes
    summary = " ".join((action.help or "").split()).replace("%%", "%")
    return OptionWords(
        flags=tuple(action.option_strings), summary=summary, values=_values(action, listed), listed=listed
    )


def _values(action: argparse.Action, listed: tuple[str, ...]) -> Values:
    if action.nargs == 0:
        return Values.NOTHING
    if listed:
        return Values.LISTED
    if action.metavar in _FILES:
        return Values.FILE
    return Values.FOLDER if action.metavar in _FOLDERS else Values.TEXT
