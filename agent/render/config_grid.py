"""Show the rows of ``stocktake config show`` to people. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from agent.render.layout import Column, Grid, Kind

#: What the text formats show for an option without a value. In json and yaml the value is null.
UNSET = "(unset)"


def config_grid(
    rows: Sequence[tuple[str, str, str | None, str]], in_effect: Mapping[tuple[str, str], str] = MappingProxyType({})
) -> Grid:
    """Return the table of group, option, value and origin.

    A long value is cut; if the table has only one row, the value is wrapped. ``in_effect`` maps an unset option, as
    (group, option), to a text that says what applies in its place.
    """
    kind = Kind.TEXT if len(rows) == 1 else Kind.CUT
    return Grid(
        columns=(
            Column("group", "GROUP"),
            Column("option", "OPTION"),
            Column("value", "VALUE", kind, readable=20),
            Column("origin", "ORIGIN"),
        ),
        rows=tuple(
            (group, option, _value(value, in_effect.get((group, option))), origin)
            for group, option, value, origin in rows
        ),
        leave_out=("origin", "group"),
    )


def _value(value: str | None, in_effect: str | None) -> str:
    if value is None:
        return UNSET if in_effect is None else f"(unset; in effect: {in_effect})"
    # oslo prints a list without blanks, so a long list could not be wrapped. With a blank after each comma, a line may
    # end there.
    return value.replace(",", ", ") if "," in value and " " not in value else value
