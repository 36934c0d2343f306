"""How the shapes of JSON documents are written down: short names for the parts of a JSON Schema.

``obj`` remembers the table of docs/reference/json.md that describes the object's keys; make_schemas.py adds that text.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
YES_NO: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "pattern": r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00))?$"}
ANY: Schema = {}
VERSION: Schema = {"const": 1}


def maybe(shape: Schema) -> Schema:
    """Return the shape, or null."""
    if isinstance(shape.get("type"), str) and "enum" not in shape:
        return {**shape, "type": [shape["type"], "null"]}
    return {"anyOf": [shape, {"type": "null"}]}


def told(words: str, shape: Schema) -> Schema:
    """Return the shape with a meaning that the reference does not have."""
    return {**shape, "description": words}


def each(shape: Schema) -> Schema:
    """Return a list of values of this shape."""
    return {"type": "array", "items": shape}


def one_of(*values: str) -> Schema:
    """Return a text that is one of the values."""
    return {"enum": list(values)}


def ref(name: str) -> Schema:
    """Return a reference to one of ``PARTS``."""
    return {"$ref": f"#/$defs/{name}"}


def obj(table: str, place: str = "", /, optional: tuple[str, ...] = (), **keys: Schema) -> Schema:
    """Return an object with these keys, which the rows of this table of the reference describe at this place."""
    required = [key for key in keys if key not in optional]
    return {"type": "object", "table": (table, place), "properties": keys, "required": required}
