"""How a table fits a width: shorter uuids, then fewer columns, then wrapped texts and cut names."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.render.layout import Column, Grid, Kind
from agent.render.table_fit import fitted
from tests.rigs.screens import shown

UUID = "95a20332-20e6-52bf-aeae-06fd5924e001"
GRID = Grid(
    columns=(
        Column("name", "NAME", Kind.NAME),
        Column("uuid", "UUID", Kind.UUID),
        Column("amount", "AMOUNT", Kind.NUMBER),
        Column("code", "CODE"),
        Column("why", "WHY", Kind.TEXT, readable=10),
        Column("source", "SOURCE"),
    ),
    rows=(("billing", UUID, "16384 MiB", "allocation-leaked", "it was deleted", "placement"),),
    leave_out=("source", "why"),
)


def widths(width):
    fit = fitted(GRID, width, len, str.split)
    return [column.name for column in fit.columns], fit.left_out, fit.rows[0][1]


def test_a_table_without_a_width_limit_is_complete():
    """If the width has no limit, a table shows all columns and whole uuids."""
    assert widths(None) == (["name", "uuid", "amount", "code", "why", "source"], (), UUID)


@pytest.mark.parametrize(
    ("width", "columns", "left_out", "uuid"),
    [
        (102, ["name", "uuid", "amount", "code", "why", "source"], (), UUID),
        (101, ["name", "uuid", "amount", "code", "why", "source"], (), UUID[:8]),
        (69, ["name", "uuid", "amount", "code", "why"], ("source",), UUID[:8]),
        (57, ["name", "uuid", "amount", "code"], ("why", "source"), UUID[:8]),
    ],
)
def test_a_narrow_table_shortens_uuids_first(width, columns, left_out, uuid):
    """A table that is too wide for the terminal first shortens its uuids, and only then leaves out columns."""
    assert widths(width) == (columns, left_out, uuid)


def test_a_narrow_table_leaves_out_columns_before_wrapping():
    """A table that is too wide for the terminal first leaves out columns, and only then wraps long texts in a cell."""
    assert shown([GRID], 60) == [
        "NAME     UUID         AMOUNT  CODE               WHY",
        "billing  95a20332  16384 MiB  allocation-leaked  it was",
        "                                                 deleted",
        "left out: source (-c shows them)",
    ]


def test_a_table_never_splits_its_words():
    """A table does not split a word, even if it is then wider than the terminal."""
    table = shown([GRID], 20)
    assert table[1] == "billing  95a20332  16384 MiB  allocation-leaked"


def test_a_uuid_is_shortened_only_if_it_is_a_whole_word():
    """In a narrow table, a uuid is cut to eight characters. A uuid inside a volume's name stays whole."""
    grid = replace(GRID, rows=(("billing", f"vg/{UUID}_disk", "8", "x", f"of {UUID}", "y"),))
    assert shown([grid], 90)[1].split()[1:] == [f"vg/{UUID}_disk", "8", "x", "of", "95a20332", "y"]


@pytest.mark.parametrize(
    ("kind", "room", "cell"),
    [
        (Kind.NAME, 24, "a-name-that-is-long"),
        (Kind.NAME, 12, "a-name~-long"),
        (Kind.CUT, 12, "a-name-that\u2026"),
    ],
)
def test_long_names_are_shortened_in_the_middle(kind, room, cell):
    """In a narrow table, a shortened name keeps its beginning and its end."""
    columns = (Column("name", "N", kind, readable=8), Column("code", "C"))
    grid = Grid(columns=columns, rows=(("a-name-that-is-long", "code"),))
    assert shown([grid], room + 6)[1] == f"{cell}{' ' * max(0, room - len(cell) if len(cell) == room else 0)}  code"


WORD = st.text("abcxyz-_0123456789", min_size=1, max_size=20)
CELLS = st.tuples(WORD, st.uuids().map(str), WORD, WORD, st.lists(WORD, max_size=6).map(" ".join), WORD)


@given(st.lists(CELLS, max_size=5), st.integers(1, 150))
def test_a_table_fits_or_is_as_narrow_as_its_words(rows, width):
    """A table is no wider than the terminal, unless the longest words in its columns need more room."""
    fit = fitted(replace(GRID, rows=tuple(rows)), width, len, str.split)
    table = sum(fit.widths) + 2 * (len(fit.widths) - 1)
    words = [
        max([len(column.heading), *(len(word) for row in fit.rows for word in row[place].split())])
        for place, column in enumerate(fit.columns)
    ]
    assert table <= max(width, sum(words) + 2 * (len(words) - 1))
    assert set(fit.left_out) <= {"source", "why"}
    assert all(len(row) == len(fit.columns) for row in fit.rows)


@pytest.mark.parametrize(
    ("width", "name"),
    [(21, "guests/backup-by-hand"), (18, "gu~/backup-by-hand"), (15, "~backup-by-hand"), (14, "backup-~y-hand")],
)
def test_a_narrow_column_shortens_the_volume_group_first(width, name):
    """In a narrow column, a name such as guests/backup loses letters of the volume group (guests) first."""
    grid = Grid(columns=(Column("name", "NAME", Kind.NAME),), rows=(("guests/backup-by-hand",),))
    assert fitted(grid, width, len, str.split).rows == ((name,),)
