"""Read docs/contributor/scenarios.md, and find the tests of a scenario: ``_s63_`` in a test's name is scenario 63."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass

from tests.rigs.source_tree import ROOT

DOCUMENT = ROOT / "docs/contributor/scenarios.md"
_ROW = re.compile(
    r"^\| (?P<number>\d+[a-z]?) \| (?P<given>[^|]+) \| (?P<nova>[^|]+) \| (?P<tests>[^|]*)\|$", re.MULTILINE
)
_TEST = re.compile(r"^\s*def (test_\w+)\(", re.MULTILINE)
_NUMBERS = re.compile(r"_s(\d+[a-z]?)(?=_)")
_CITED = re.compile(r"\bscenarios? ((?:\d+[a-z]?(?:, | and | to |,\s*)?)+)")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. ``tests`` are ``path::function``, in the order of their paths."""

    number: str
    given: str
    nova: str
    tests: tuple[str, ...]


def rows(text: str) -> tuple[Row, ...]:
    """Return the rows of the document in order."""
    return tuple(
        Row(m["number"], m["given"], m["nova"], tuple(re.findall(r"`([^`]+)`", m["tests"])))
        for m in _ROW.finditer(text)
    )


def numbered_tests() -> dict[str, tuple[str, ...]]:
    """Return the tests by scenario number."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in _TEST.findall(path.read_text()):
            for number in _NUMBERS.findall(name):
                found.setdefault(number, []).append(f"{path.relative_to(ROOT)}::{name}")
    return {number: tuple(dict.fromkeys(names)) for number, names in found.items()}


def cited_numbers(path: pathlib.Path) -> set[str]:
    """Return the numbers of scenarios that a file's text cites; both ends of a range."""
    return {number for cited in _CITED.findall(path.read_text()) for number in re.findall(r"\d+[a-z]?", cited)}


def rewritten(text: str) -> str:
    """Return the document with its column of tests brought up to date."""
    tests = numbered_tests()

    def row(match: re.Match[str]) -> str:
        cells = ", ".join(f"`{name}`" for name in tests.get(match["number"], ()))
        return f"| {match['number']} | {match['given']} | {match['nova']} | {cells} |"

    return _ROW.sub(row, text)
