"""Check a document against its published JSON Schema, and against the stricter rule that the schema names every key."""

from __future__ import annotations

import functools
import json
from typing import Any

from jsonschema import Draft202012Validator

from tests.rigs.source_tree import ROOT

FOLDER = ROOT / "etc/schemas"


def complaints(name: str, document: object) -> list[str]:
    """Return what is wrong with the document: values of another type, missing keys, and keys that no schema names."""
    found = _validator(name).iter_errors(json.loads(json.dumps(document)))
    return [f"{error.json_path}: {error.message:.300}" for error in found]


@functools.cache
def _validator(name: str) -> Draft202012Validator:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    return Draft202012Validator(_closed(schema))


def _closed(schema: Any) -> Any:
    """Return the schema in which an object with named keys may have no other key."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if "required" in closed and isinstance(closed.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed
