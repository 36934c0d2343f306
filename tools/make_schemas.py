#!/usr/bin/env python3
"""Write the JSON Schema files of the documents that Stocktake prints: tools/make_schemas.py.

The shapes come from schema_shapes.py and schema_changes.py, the meaning of each key from docs/reference/json.md. The
files are in etc/schemas; a test fails if they are not what this program writes.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tools.schema_changes import DOCUMENTS, PARTS  # noqa: E402 - the path above comes first
from tools.schema_words import Schema  # noqa: E402

FOLDER = ROOT / "etc/schemas"
REFERENCE = ROOT / "docs/reference/json.md"
Meanings = dict[str, dict[str, str]]


def meanings() -> Meanings:
    """Return the meaning of each key, by the heading of its table and the path of the key."""
    pieces = re.split(r"^## (.*)$", REFERENCE.read_text(), flags=re.MULTILINE)
    tables: Meanings = {}
    for heading, text in zip(pieces[1::2], pieces[2::2], strict=True):
        found = tables.setdefault(heading.strip("`"), {})
        for cell, meaning in re.findall(r"^\| (`.*?) \| (.*) \|$", text, re.MULTILINE):
            found.update(dict.fromkeys(_paths(cell), _plain(meaning)))
        if "schema_version" in found:
            found["schema_version"] = "the version of the form; a new version may add keys"
    return tables


def _paths(cell: str) -> Iterator[str]:
    left, colon, right = cell.partition("`: `")
    for name in re.findall(r"[\w.]+", right if colon else left):
        yield from (f"{place}.{name}" for place in re.findall(r"[\w.]+", left)) if colon else (name,)


def _plain(text: str) -> str:
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text).replace("`", "").replace("\\|", "|")


def schema(name: str, tables: Meanings) -> Schema:
    """Return the whole schema of one document."""
    printed_by, shape = DOCUMENTS[name]
    body = described(shape, tables)
    parts: dict[str, Schema] = {}
    waiting = _references(body)
    while waiting:
        part = waiting.pop()
        if part not in parts:
            parts[part] = described(PARTS[part], tables)
            waiting |= _references(parts[part])
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:stocktake:{name}:1",
        "title": f"Stocktake: {printed_by}",
        **body,
    }
    return {**whole, "$defs": dict(sorted(parts.items()))} if parts else whole


def described(shape: Schema, tables: Meanings) -> Schema:
    """Return a copy of the shape in which each key has its meaning."""
    result = copy.deepcopy(shape)
    for inner in _objects(result):
        table, place = inner.pop("table")
        for key, value in inner["properties"].items():
            meaning = tables.get(table, {}).get(f"{place}.{key}" if place else key)
            meaning = meaning or (tables["audit"].get(key) if table == "status" and not place else None)
            if meaning and "description" not in value:
                inner["properties"][key] = {**value, "description": meaning}
    return result


def _objects(value: object) -> Iterator[Schema]:
    """Yield every object of the shape that names its table, the innermost ones first."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _objects(inner)
        if "table" in value and isinstance(value["table"], tuple):
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def _references(value: object) -> set[str]:
    return set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(value)))


def files() -> dict[str, str]:
    """Return the text of each file by its name."""
    tables = meanings()
    return {f"{name}.schema.json": json.dumps(schema(name, tables), indent=1) + "\n" for name in DOCUMENTS}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
