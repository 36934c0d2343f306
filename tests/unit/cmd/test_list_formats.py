"""A list in every format: values that are not known, lists, hostile names, chosen and sorted columns."""

from __future__ import annotations

import argparse
import csv
import io
import json

import pytest
import yaml

from agent.cmd.commands.base import ListCommand, Listing
from agent.render.layout import Column, Grid, Kind
from agent.usage_error import UsageError

NASTY = "evil\x1b[2J\nname\u202e"
ROWS = (
    ("95a20332-20e6-52bf-aeae-06fd5924e001", 4, True, ["a", "b"], NASTY),
    (None, None, None, [], "x y"),
    ("02edd240-3b92-5d58-9d51-d1d8bc0d5770", 16384, False, ["c"], ""),
)


class Things(ListCommand):
    """List some things."""

    COLUMNS = ("uuid", "amount", "sure", "causes", "name")

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the rows and their short form."""
        columns = (Column("name", "NAME", Kind.NAME), Column("amount", "AMOUNT", Kind.NUMBER))
        people = Grid(columns=columns, rows=((NASTY, "4"), ("x y", "-"), ("", "16384")))
        return Listing(self.COLUMNS, ROWS, people, ("3 things",)), 3


class App:
    """The part of the application that a command uses."""

    def __init__(self) -> None:
        self.stdout = io.StringIO()
        self.options = argparse.Namespace()


def printed(*arguments: str) -> str:
    app = App()
    command = Things(app, None)
    assert command.run(command.get_parser("things").parse_args(arguments)) == 3
    return app.stdout.getvalue()


def test_json_and_yaml_show_an_unknown_value_as_null():
    """With `-f json` and `-f yaml` a value that the agent does not know is null, and not an empty text."""
    keys = [dict(zip(Things.COLUMNS, row, strict=True)) for row in ROWS]
    assert json.loads(printed("-f", "json")) == keys
    text = printed("-f", "yaml")
    assert yaml.safe_load(text) == keys
    assert "\x1b" not in text + printed("-f", "json")


def test_csv_and_plain_output_leave_an_unknown_value_empty():
    """With `-f csv` and `-f value` a value that the agent does not know is an empty field."""
    assert list(csv.reader(io.StringIO(printed("-f", "csv")), escapechar="\\"))[1:] == [
        [ROWS[0][0], "4", "True", "a b", "evil\\u001b[2J\\u000aname\\u202e"],
        ["", "", "", "", "x y"],
        [ROWS[2][0], "16384", "False", "c", ""],
    ]
    assert printed("-f", "value", "-c", "uuid", "-c", "amount").splitlines() == [
        f"{ROWS[0][0]} 4",
        " ",
        f"{ROWS[2][0]} 16384",
    ]


def test_a_table_shows_a_dash_for_an_unknown_value():
    """In a table with columns chosen by `-c`, a value that the agent does not know is a dash."""
    assert printed("-c", "uuid", "-c", "Amount", "-c", "sure").splitlines() == [
        "UUID                                  AMOUNT  SURE",
        "95a20332-20e6-52bf-aeae-06fd5924e001       4  yes",
        "-                                          -  -",
        "02edd240-3b92-5d58-9d51-d1d8bc0d5770   16384  no",
        "3 things",
    ]


def test_the_default_table_has_only_the_main_columns():
    """Without `-c` a table has the most important columns, and a summary line below."""
    assert printed().splitlines() == [
        "NAME                           AMOUNT",
        "evil\\u001b[2J\\u000aname\\u202e       4",
        "x y                                 -",
        "                                16384",
        "3 things",
    ]
    assert max(map(len, printed("--max-width", "20").splitlines())) <= 20


@pytest.mark.parametrize("form", ["table", "json", "csv", "value", "yaml"])
@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        (("--sort-column", "amount"), ["4", "16384", "-"]),
        (("--sort-column", "AMOUNT", "--sort-descending"), ["-", "16384", "4"]),
        (("--sort-column", "name"), ["16384", "4", "-"]),
    ],
)
def test_a_list_is_sorted_by_the_chosen_column(form, arguments, order):
    """`--sort-column` sorts a list in all output formats; `--sort-descending` turns the whole order round."""
    text = printed("-f", form, *arguments).replace('"sure": null', "").replace("sure: null", "")
    marks = (
        {"4": "evil", "16384": "02edd240", "-": "x y"}
        if form != "table"
        else {"4": "evil", "16384": "16384", "-": "x y"}
    )
    places = [text.index(marks[each]) for each in order]
    assert places == sorted(places)


@pytest.mark.parametrize("arguments", [("-c", "nonsense"), ("--sort-column", "nonsense")])
def test_an_unknown_column_is_refused_with_the_list_of_columns(arguments):
    with pytest.raises(UsageError, match="unknown column nonsense; the columns are uuid, amount, sure, causes, name"):
        printed(*arguments)
