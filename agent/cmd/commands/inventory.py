"""``stocktake inventory``: the inventory that the agent wants; --diff adds the inventory that Placement records."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from agent.cmd.commands.base import ListCommand, Listing, argument

if TYPE_CHECKING:
    from agent.render.documents import Document

_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
_WANTED = ("provider", "provider_uuid", "resource_class", *_FIELDS, "used", "free")
_BESIDE = (*_WANTED, *(f"recorded_{field}" for field in _FIELDS), "differs")


class Inventory(ListCommand):
    """The inventory that the agent wants in Placement, with used and free amounts; free may be negative."""

    COLUMNS = _WANTED
    ARGUMENTS = (
        argument(
            "--diff",
            action="store_true",
            help="also show Placement's inventory (columns recorded_*); the column differs lists the differing fields,"
            " or says absent (not in Placement), unwanted (only in Placement) or unknown (Placement was not read)",
        ),
    )

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """Return the columns of the list; --diff adds the recorded_* columns and the column ``differs``."""
        return _BESIDE if parsed_args.diff else _WANTED

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return rows of the wanted inventory; with --diff also of the inventory that Placement records."""
        from agent.cmd.audited import audited
        from agent.exit_codes import CLEAN, FINDINGS, answer_code, first_of
        from agent.render.documents import inventory_rows
        from agent.render.explain import unread

        report = audited(self.app.options, "inventory")
        found = [{**row, "differs": _differs(row)} for row in inventory_rows(report.inventory)]
        code = answer_code(report, unread(report))
        if not parsed_args.diff:
            return _wanted(found), code
        return _diff(found), first_of(code, FINDINGS if any(row["differs"] for row in found) else CLEAN)


def _wanted(found: list[Document]) -> Listing:
    rows = [row for row in found if row["total"] is not None]
    people = ("provider", "class", "total", "reserved", "max_unit", "step_size", "ratio", "used", "free")
    foot = () if rows else ("no inventory is known",)
    return Listing(_WANTED, _picked(rows, _WANTED), people, tuple(_people(row) for row in rows), foot)


def _diff(found: list[Document]) -> Listing:
    people = ("provider", "class", "total", "reserved", "min_unit", "max_unit", "step_size", "ratio", "differs")
    rows = tuple((row["provider"], row["resource_class"], *_changes(row), row["differs"] or "-") for row in found)
    same = not any(row["differs"] for row in found)
    foot = ("nothing differs",) if same else ("a change is written as: recorded value -> wanted value",)
    return Listing(_BESIDE, _picked(found, _BESIDE), people, rows, foot)


def _picked(rows: list[Document], columns: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row[name] for name in columns) for row in rows)


def _people(row: Document) -> tuple[str, ...]:
    from agent.text.amounts import number_text
    from agent.text.wording import cell

    name = row["resource_class"]
    total, reserved, used, free = (cell(name, row[field]) for field in ("total", "reserved", "used", "free"))
    units = (number_text(row[field]) for field in ("max_unit", "step_size", "allocation_ratio"))
    return (row["provider"], name, total, reserved, *units, used, free)


def _changes(row: Document) -> list[str]:
    # If Placement could not be read, no change is known: show only the wanted values.
    known = row["differs"] != "unknown"
    return [_change(row[f"recorded_{field}"] if known else row[field], row[field]) for field in _FIELDS]


def _change(recorded: float | None, wanted: float | None) -> str:
    from agent.text.amounts import number_text

    there, here = ("none" if value is None else number_text(value) for value in (recorded, wanted))
    return here if there == here else f"{there} -> {here}"


def _differs(row: Document) -> str:
    if row["used"] is None:
        return "unknown"
    if row["total"] is None:
        return "unwanted"
    if row["recorded_total"] is None:
        return "absent"
    return ",".join(field for field in _FIELDS if row[field] != row[f"recorded_{field}"])
