"""Decide what a key does on the live screen: each key turns one frozen ``Ui`` into the next ``Ui``. Pure: no I/O."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from agent.cmd.watching import keys
from agent.fleet.ordering import Choice, next_sort
from agent.fleet.view import HostRow

MOST_FILTER = 200


class Action(enum.Enum):
    """What the screen must do after a key, in addition to drawing."""

    NOTHING = "nothing"
    QUIT = "quit"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui:
    """What the operator has chosen.

    ``selected`` is the key of the selected row; None: the first row stays selected, whichever host moves there.
    ``index`` is the number of the selected row at the last drawing, ``top`` that of the first row on the screen.
    ``typed`` is the filter that the operator is typing now, else None. ``detail_top`` is the number of the first line
    of the details on the screen, None while the table is shown. ``message`` is shown in the last line until the next
    key.
    """

    choice: Choice = field(default_factory=Choice)
    selected: tuple[str, str] | None = None
    index: int = 0
    top: int = 0
    typed: str | None = None
    detail_top: int | None = None
    message: str = ""


def placed(ui: Ui, rows: Sequence[HostRow], page: int) -> Ui:
    """Return ``ui`` with new ``index`` and ``top``, so that the selected row is among the ``page`` rows on the screen.

    If the selected host is no longer in the rows, the row that is now at the same index is selected.
    """
    last = max(0, len(rows) - 1)
    index = 0 if ui.selected is None else min(ui.index, last)
    if ui.selected is not None:
        index = next((number for number, row in enumerate(rows) if row.key == ui.selected), index)
    top = min(max(ui.top, index - page + 1), index, max(0, len(rows) - page))
    return replace(ui, index=index, top=max(0, top))


def selected_row(ui: Ui, rows: Sequence[HostRow]) -> HostRow | None:
    """Return the selected row, None if there is none. ``ui`` must fit these rows: ``placed`` returns such a Ui."""
    return rows[ui.index] if ui.index < len(rows) else None


def pressed(ui: Ui, key: str, rows: Sequence[HostRow], page: int) -> tuple[Ui, Action]:
    """Return the Ui after the operator pressed ``key``, and the action that follows (such as QUIT).

    ``ui`` must fit these rows: ``placed`` returns such a Ui. ``page`` is the number of rows that fit on the screen.
    """
    ui = replace(ui, message="")
    if ui.typed is not None:
        return _typing(ui, ui.typed, key), Action.NOTHING
    if key == "q":
        return ui, Action.QUIT
    if key == "u":
        return ui, Action.AUDIT if rows else Action.NOTHING
    if ui.detail_top is not None:
        return _in_details(ui, ui.detail_top, key, page), Action.NOTHING
    if key in _MOVES:
        return _moved(ui, _MOVES[key](ui.index, page, len(rows)), rows), Action.NOTHING
    return _COMMANDS[key](ui) if key in _COMMANDS else ui, Action.NOTHING


def _moved(ui: Ui, index: int, rows: Sequence[HostRow]) -> Ui:
    index = min(max(0, index), max(0, len(rows) - 1))
    # If the first row is selected, store no host: then the first row stays selected, whichever host moves there.
    return replace(ui, index=index, selected=rows[index].key if index and rows else None)


def _typing(ui: Ui, typed: str, key: str) -> Ui:
    if key == keys.ENTER:
        choice = replace(ui.choice, words=tuple(typed.split()))
        return replace(ui, typed=None, choice=choice, selected=None, top=0)
    if key == keys.ESCAPE:
        return replace(ui, typed=None)
    if key == keys.BACKSPACE:
        return replace(ui, typed=typed[:-1])
    if key == keys.CLEAR:
        return replace(ui, typed="")
    return replace(ui, typed=(typed + key)[:MOST_FILTER]) if len(key) == 1 else ui


def _in_details(ui: Ui, top: int, key: str, page: int) -> Ui:
    if key in (keys.ENTER, keys.ESCAPE, keys.BACKSPACE):
        return replace(ui, detail_top=None)
    steps = {keys.UP: -1, keys.DOWN: 1, keys.PAGE_UP: -page, keys.PAGE_DOWN: page, keys.HOME: -top}
    return replace(ui, detail_top=max(0, top + steps.get(key, 0)))


def _next_sort(ui: Ui) -> Ui:
    choice = replace(ui.choice, sort=next_sort(ui.choice.sort))
    return replace(ui, choice=choice, selected=None, top=0)


def _all_or_not(ui: Ui) -> Ui:
    return replace(ui, choice=replace(ui.choice, with_quiet=not ui.choice.with_quiet))


_MOVES: Mapping[str, Callable[[int, int, int], int]] = MappingProxyType(
    {
        keys.UP: lambda index, _page, _rows: index - 1,
        keys.DOWN: lambda index, _page, _rows: index + 1,
        keys.PAGE_UP: lambda index, page, _rows: index - page,
        keys.PAGE_DOWN: lambda index, page, _rows: index + page,
        keys.HOME: lambda _index, _page, _rows: 0,
        keys.END: lambda _index, _page, rows: rows - 1,
    }
)
_COMMANDS: Mapping[str, Callable[[Ui], Ui]] = MappingProxyType(
    {
        "s": _next_sort,
        "f": lambda ui: replace(ui, typed=" ".join(ui.choice.words)),
        "a": _all_or_not,
        keys.ENTER: lambda ui: replace(ui, detail_top=0),
    }
)
